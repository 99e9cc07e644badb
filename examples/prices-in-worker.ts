/**
 * A Cloudflare Worker that shows prices and payments: `worker/prices-worker.ts` is all of it. Here its `fetch` is called in this
 * process; `npm run test:package` runs the same file in workerd.
 */
import { CrossBorderClient } from "cross-border-payments";
import { startPracticeService } from "./support/practice-service.js";
import worker, { type Env } from "./worker/prices-worker.js";

await using practice = await startPracticeService();
const { clientOptions } = practice.server;
const env: Env = {
  CROSS_BORDER_BASE_URL: clientOptions.baseUrl,
  CROSS_BORDER_AUTH_URL: clientOptions.auth.authUrl,
  CROSS_BORDER_REALM: clientOptions.auth.realm,
  CROSS_BORDER_CLIENT_ID: clientOptions.auth.clientId,
  CROSS_BORDER_USERNAME: clientOptions.auth.username,
  CROSS_BORDER_PASSWORD: clientOptions.auth.password,
};
const transfer = {
  senderGatewayId: "alpha-bank",
  senderAccount: "DE-0001",
  senderCurrency: "EUR",
  receiverGatewayId: "beta-mobile",
  receiverAccount: "KE-7002",
  receiverCurrency: "KES",
  receiverAmount: "15000.00",
  memo: "",
};

console.log(await ask("/prices", transfer));
console.log(await ask("/prices", { ...transfer, receiverAmount: 15000 }));
await payElsewhere();
console.log(await ask("/payments"));

async function ask(path: string, body?: object): Promise<string> {
  const init = body === undefined ? undefined : { method: "POST", body: JSON.stringify(body) };
  const response = await worker.fetch(new Request(`https://prices.example${path}`, init), env);
  return `${response.status} ${await response.text()}`;
}

/** What signs and pays is the gateway's back end, with its durable flow. */
async function payElsewhere(): Promise<void> {
  await using backEnd = new CrossBorderClient(practice.options);
  await backEnd.pay(transfer, () => ({ senderGatewayTransactionId: crypto.randomUUID() }));
}

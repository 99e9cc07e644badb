/**
 * How a gateway's back end builds its one client: from the environment, with hooks for its log, and closed at the end.
 * As it is, it talks to a sandbox; with the variables set, it talks to the service.
 */
import { readFile } from "node:fs/promises";
import { type ClientOptions, CrossBorderClient } from "cross-border-payments";
import { startPracticeService } from "./support/practice-service.js";

async function optionsFromEnvironment(env: NodeJS.ProcessEnv): Promise<ClientOptions | undefined> {
  const { CBP_BASE_URL, CBP_AUTH_URL, CBP_REALM, CBP_CLIENT_ID, CBP_USERNAME, CBP_PASSWORD, CBP_KEY_FILE } = env;
  if (CBP_BASE_URL === undefined) return undefined;
  return {
    baseUrl: CBP_BASE_URL,
    auth: {
      authUrl: CBP_AUTH_URL ?? "",
      realm: CBP_REALM ?? "",
      clientId: CBP_CLIENT_ID ?? "",
      username: CBP_USERNAME ?? "",
      password: CBP_PASSWORD ?? "",
    },
    ...(CBP_KEY_FILE === undefined ? undefined : { signingKey: await readFile(CBP_KEY_FILE, "utf8") }),
  };
}

await using practice = process.env.CBP_BASE_URL === undefined ? await startPracticeService() : undefined;
const options = (await optionsFromEnvironment(process.env)) ?? practice?.options;
if (options === undefined) throw new Error("there are no options to build a client from");

const log = (event: string, facts: object) => console.log(JSON.stringify({ event, ...facts }));

// A wrong option throws here, at start-up, and not in the middle of the first payment.
await using client = new CrossBorderClient({
  ...options,
  timeoutMs: 10_000,
  on: {
    token: (event) => log("token", event),
    retry: (event) => log("retry", event),
    mismatch: (event) => log("mismatch", event),
  },
});

const { items } = await client.paymentGateways.list({ size: 5 });
log("ready", { gateways: items.map(({ institutionId }) => institutionId) });

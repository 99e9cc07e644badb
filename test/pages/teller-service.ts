import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { CrossBorderClient, generateSigningKeyPair, paymentFromIntent } from "cross-border-payments";
import { createSandbox, type Sandbox } from "cross-border-payments/sandbox";
import { originOf } from "../support/origin-of.js";
import { sandboxToken } from "../support/sandbox-token.js";

/** What a page and the service of a gateway are served by. */
export interface TellerService extends AsyncDisposable {
  readonly baseUrl: string;
  readonly sandbox: Sandbox;
  /** Whether the identity provider calls a token good. */
  isGood: (token: string) => Promise<boolean>;
}

const base = { baseUrl: "https://service.test", authUrl: "https://login.test" };

export const quote = {
  senderGatewayId: "alpha-bank",
  senderAccount: "DE-0001",
  senderCurrency: "EUR",
  receiverGatewayId: "beta-mobile",
  receiverCurrency: "EUR",
};

/** The sandbox, behind the access tokens of somebody else's identity provider. One payment has been made. */
export async function startTellerService(): Promise<TellerService> {
  const { privateKey, publicKeyBase64: rsaPublicKeyBase64 } = await generateSigningKeyPair();
  const sandbox = createSandbox({ fee: "0.28" });
  sandbox.accounts.add({ gatewayId: "alpha-bank", account: "DE-0001", name: "Ada Sender" });
  sandbox.accounts.add({ gatewayId: "beta-mobile", account: "KE-7002", name: "Baraka Receiver" });
  const options = { ...sandbox.clientOptions(base), fetch: sandbox.fetch, signingKey: privateKey };
  const backEnd = new CrossBorderClient(options);
  for (const institutionId of ["alpha-bank", "beta-mobile"]) {
    await backEnd.paymentGateways.create({ institutionId, currency: "EUR", rsaPublicKeyBase64 });
  }
  const intent = await backEnd.paymentIntents.create({
    ...quote,
    receiverAccount: "KE-7002",
    receiverAmount: "15.00",
    memo: "",
  });
  await backEnd.payments.create(paymentFromIntent(intent, "TX-1"));

  const service: { isGood: TellerService["isGood"] } = { isGood: async () => false };
  const forward = async (incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> => {
    const { method = "GET", url = "/", headers } = incoming;
    const chunks: Uint8Array[] = [];
    for await (const chunk of incoming) chunks.push(chunk);
    const cors = {
      "access-control-allow-origin": headers.origin ?? "*",
      "access-control-allow-headers": headers["access-control-request-headers"] ?? "*",
      "access-control-allow-methods": "GET, POST, PUT",
    };
    if (method === "OPTIONS") return void outgoing.writeHead(204, cors).end();
    const isGood = await service.isGood((headers.authorization ?? "").replace("Bearer ", ""));
    const response = await sandbox.fetch(`${base.baseUrl}${url}`, {
      method,
      headers: {
        "content-type": headers["content-type"] ?? "application/json",
        authorization: isGood ? `Bearer ${await sandboxToken(sandbox)}` : "Bearer none",
      },
      ...(method === "GET" ? {} : { body: Buffer.concat(chunks).toString() }),
    });
    outgoing.writeHead(response.status, { ...cors, "content-type": "application/json" }).end(await response.text());
  };
  const server = createServer((incoming, outgoing) => {
    forward(incoming, outgoing).catch(() => outgoing.destroy());
  });
  return Object.assign(service, {
    baseUrl: await originOf(server),
    sandbox,
    async [Symbol.asyncDispose]() {
      await backEnd.close();
      server.closeAllConnections();
      server.close();
    },
  });
}

/** A page may run its own scripts, and no code made of strings. */
export const careful = { "content-security-policy": "default-src 'self'; connect-src *", "cache-control": "no-store" };

import { nodeCrypto } from "./crypto.mjs";
import { intentRequest, token } from "./record.mjs";

/** Published SDKs, pointed at the server by their own options, each paging in its own way. */
export const sdkContenders = {
  stripe: async (origin) => {
    const { default: Stripe } = await import("stripe");
    const { hostname, port } = new URL(origin);
    const stripe = new Stripe("sk_test_bench", { host: hostname, port, protocol: "http", telemetry: false });
    return {
      get: () => stripe.customers.retrieve(token(1)),
      create: () => stripe.customers.create({ metadata: intentRequest }),
      records: (limit, take) => eachOf(stripe.customers.list({ limit }), take),
    };
  },

  openai: async (origin) => {
    const { default: OpenAI } = await import("openai");
    const client = new OpenAI({ apiKey: "bench", baseURL: `${origin}/openai` });
    return {
      get: () => client.batches.retrieve(token(1)),
      create: () => client.batches.create(intentRequest),
      records: (limit, take) => eachOf(client.batches.list({ limit }), take),
    };
  },

  // Without its response validation, which would only make it slower: the record is not one of its own.
  "open-payments": async (origin) => {
    const { createAuthenticatedClient } = await import("@interledger/open-payments");
    const url = `${origin}/open-payments`;
    const client = await createAuthenticatedClient({
      walletAddressUrl: url,
      privateKey: nodeCrypto().generateKeyPairSync("ed25519").privateKey,
      keyId: "bench",
      useHttp: true,
      validateResponses: false,
    });
    const access = { url, accessToken: "bench-token" };
    const get = { url: `${url}/incoming-payments/${token(1)}`, accessToken: "bench-token" };
    return {
      get: () => client.incomingPayment.get(get),
      create: () => client.incomingPayment.create(access, { walletAddress: url, metadata: intentRequest }),
      records: async (first, take) => {
        for (let cursor; ; ) {
          const paging = cursor === undefined ? { first } : { first, cursor };
          const { result, pagination } = await client.incomingPayment.list({ ...access, walletAddress: url }, paging);
          for (const record of result ?? []) if (!take(record)) return;
          cursor = pagination.endCursor;
        }
      },
    };
  },
};

async function eachOf(list, take) {
  for await (const record of list) if (!take(record)) return;
}

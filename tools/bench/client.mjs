import { makeSigningKey } from "./crypto.mjs";
import { importClient, importReleaseBefore } from "./packages.mjs";
import { intentRequest, paymentRequest, token } from "./record.mjs";

/** The library as a user has it, with everything on that it has: validation, tokens, deadline, retries, hooks. */
export async function openClient(origin, options = {}, load = importClient) {
  const { CrossBorderClient } = await load();
  return new CrossBorderClient({
    baseUrl: origin,
    auth: { authUrl: new URL(origin).origin, realm: "bench", clientId: "bench", username: "bench", password: "bench" },
    on: { response() {}, failure() {}, retry() {}, mismatch() {}, token() {} },
    ...options,
  });
}

/** The release before, which does the same. */
export const releaseBeforeContender = (origin) => clientContender(origin, {}, importReleaseBefore);

/** @param options of its clients, in place of those that `openClient` chooses. */
export async function clientContender(origin, options = {}, load = importClient) {
  const client = await openClient(origin, options, load);
  let signing;
  return {
    get: () => client.paymentIntents.get(token(1)),
    create: () => client.paymentIntents.create(intentRequest),
    async sign() {
      signing ??= await openClient(origin, { ...options, signingKey: makeSigningKey() }, load);
      return signing.payments.create(paymentRequest);
    },
    async records(size, take) {
      for await (const record of client.payments.list({ size })) if (!take(record)) break;
    },
    async pages(size, take) {
      for await (const page of client.payments.list({ size }).pages()) {
        for (const record of page.items) if (!take(record)) return;
      }
    },
  };
}

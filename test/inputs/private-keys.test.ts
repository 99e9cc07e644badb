import { inspect } from "node:util";
import { type CrossBorderClient, InvalidArgumentError, publicKeyToBase64 } from "cross-border-payments";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { base64, pkcs8, spki } from "../signing/test-keys.js";
import { keyPairOf, signingKeysOf } from "../support/key-pairs.js";
import { type Harness, harnesses } from "../support/sandbox-harness.js";

const { privateKey, publicKey } = keyPairOf("gateway");
const pem = pkcs8(privateKey);
const der = privateKey.export({ type: "pkcs8", format: "der" });
const encrypted = String(
  privateKey.export({ type: "pkcs8", format: "pem", cipher: "aes-256-cbc", passphrase: "correct horse" }),
);
const jwk = privateKey.export({ format: "jwk" });

/** Private keys, in the forms that people have them in. */
const forms: readonly (readonly [string, string])[] = [
  ["PKCS#8 PEM", pem],
  ["encrypted PEM", encrypted],
  ["Base64 of PKCS#8 PEM", base64(pem)],
  ["Base64 of DER", base64(der)],
  ["JWK", JSON.stringify(jwk)],
];

const gateways = (client: CrossBorderClient) => client.paymentGateways;

/** Where the description has a public key, and where one could be looked for. */
const places: readonly (readonly [string, (client: CrossBorderClient, key: string) => PromiseLike<unknown>])[] = [
  ["create", (client, key) => gateways(client).create({ institutionId: "a", rsaPublicKeyBase64: key })],
  ["update", (client, key) => gateways(client).update("1", { rsaPublicKeyBase64: key })],
  ["filter", (client, key) => gateways(client).list({ filter: { rsaPublicKeyBase64: key } })],
  [
    "filter of deposits",
    (client, key) => client.liquidityProviders.deposits("1").list({ filter: { paymentGatewayPublicKeyBase64: key } }),
  ],
  ["filter of payments", (client, key) => client.payments.list({ filter: { creationRequestPublicKeyBase64: key } })],
];

const [sockets] = harnesses;
let harness: Harness;
let client: CrossBorderClient;
beforeAll(async () => {
  if (sockets === undefined) throw new Error("there is no harness");
  harness = await sockets.open();
  client = harness.client({ signingKey: signingKeysOf("gateway").privateKey });
});
afterAll(() => harness[Symbol.asyncDispose]());

/** The call is refused, says nothing of the key, and nothing is sent: not even a token is asked for. */
async function expectRefusal(call: () => unknown, secret: string, message: RegExp): Promise<void> {
  const before = harness.sandbox.requests.length;
  const [{ reason: error }] = (await Promise.allSettled([(async () => call())()])) as [PromiseRejectedResult];
  expect(error).toBeInstanceOf(InvalidArgumentError);
  expect((error as Error).message).toMatch(message);
  const shown = [(error as Error).stack, inspect(error, { showHidden: true, depth: 9 }), JSON.stringify(error)].join();
  for (const piece of secret.replace(/-----[A-Z ]+-----/g, "").match(/\S{20}/g) ?? [])
    expect(shown).not.toContain(piece);
  expect(harness.sandbox.requests.length).toBe(before);
}

describe.each(places)("in the place of a public key (%s)", (_, call) => {
  it.each(forms)("refuses a private key: %s", async (_, key) => {
    await expectRefusal(() => call(client, key), key, /PublicKeyBase64 must be Base64 of the PEM public key/i);
  });

  it.each([
    ["SubjectPublicKeyInfo", spki(publicKey)],
    ["a private KeyObject", privateKey],
    ["an object", jwk],
  ])("refuses %s, and names the function that makes a text of a key", async (_, key) => {
    await expectRefusal(() => call(client, key as never), pem, /publicKeyToBase64/);
  });

  it.each([
    ["Base64 of its PEM", publicKeyToBase64(publicKey)],
    ["Base64 of its DER", base64(publicKey.export({ type: "spki", format: "der" }))],
    ["no text", ""],
  ])("sends a public key as it is given: %s", async (_, key) => {
    const before = harness.sandbox.requests.length;
    await Promise.allSettled([call(client, key)]);
    expect(harness.sandbox.requests.length).toBeGreaterThan(before);
  });
});

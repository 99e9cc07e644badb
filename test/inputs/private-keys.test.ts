import { inspect } from "node:util";
import { type CrossBorderClient, InvalidArgumentError, publicKeyToBase64 } from "cross-border-payments";
import { describe, expect, it } from "vitest";
import { base64, pkcs8, spki } from "../signing/test-keys.js";
import { keyPairOf } from "../support/key-pairs.js";
import { harnesses } from "../support/sandbox-harness.js";

const { privateKey, publicKey } = keyPairOf("gateway");
const pem = pkcs8(privateKey);
const encryption = { cipher: "aes-256-cbc", passphrase: "correct horse" };

/** What people have in place of Base64 of a public key. */
const wrong: readonly (readonly [what: string, key: unknown])[] = [
  ["a private key in PEM", pem],
  ["a private key in encrypted PEM", privateKey.export({ type: "pkcs8", format: "pem", ...encryption })],
  ["a private key in Base64 of PEM", base64(pem)],
  ["a private key in Base64 of DER", base64(privateKey.export({ type: "pkcs8", format: "der" }))],
  ["a private key in JWK", JSON.stringify(privateKey.export({ format: "jwk" }))],
  ["a private KeyObject", privateKey],
  ["a public key in PEM", spki(publicKey)],
];

/** The fields of public keys in bodies, filters, and queries. */
const places: readonly (readonly [string, (client: CrossBorderClient, key: string) => PromiseLike<unknown>])[] = [
  ["create", (client, key) => client.paymentGateways.create({ institutionId: "a", rsaPublicKeyBase64: key })],
  ["update", (client, key) => client.paymentGateways.update("1", { rsaPublicKeyBase64: key })],
  ["filter", (client, key) => client.paymentGateways.list({ filter: { rsaPublicKeyBase64: key } })],
  ["query", (client, key) => client.paymentGateways.get("1", { query: { rsaPublicKeyBase64: key } })],
  ["payments", (client, key) => client.payments.list({ filter: { creationRequestPublicKeyBase64: key } })],
];

async function played(call: (client: CrossBorderClient) => PromiseLike<unknown>) {
  const [sockets] = harnesses;
  if (sockets === undefined) throw new Error("there is no harness");
  await using harness = await sockets.open();
  const [outcome] = await Promise.allSettled([(async () => call(harness.client()))()]);
  return { outcome, requests: harness.sandbox.requests.length };
}

describe.each(places)("in the place of a public key (%s)", (_, call) => {
  it.each(wrong)("refuses %s, says nothing of it, and sends nothing", async (_, key) => {
    const { outcome, requests } = await played((client) => call(client, key as string));
    const error: unknown = Reflect.get(Object(outcome), "reason");
    expect(error).toBeInstanceOf(InvalidArgumentError);
    expect(error).toHaveProperty("message", expect.stringMatching(/PublicKeyBase64 must be .* as publicKeyToBase64/i));
    const shown = [inspect(error, { showHidden: true, depth: 9 }), JSON.stringify(error)].join();
    for (const piece of `${key}`.replace(/-----[A-Z ]+-----/g, "").match(/\S{20}/g) ?? []) {
      expect(shown).not.toContain(piece);
    }
    expect(requests).toBe(0);
  });

  it.each([
    ["Base64 of its PEM", publicKeyToBase64(publicKey)],
    ["Base64 of its DER", base64(publicKey.export({ type: "spki", format: "der" }))],
    ["no text", ""],
  ])("sends a public key as it is given: %s", async (_, key) => {
    expect((await played((client) => call(client, key))).requests).toBeGreaterThan(0);
  });
});

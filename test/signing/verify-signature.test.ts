import { sign } from "node:crypto";
import { describe, expect, it } from "vitest";
import { InvalidArgumentError } from "../../src/core/errors.js";
import { publicKeyToBase64 } from "../../src/signing/keys.js";
import type { SignatureToVerify } from "../../src/signing/signer.js";
import { keyPairOf } from "../support/key-pairs.js";
import { platforms, signingOn } from "./signing-on.js";
import { base64, pkcs8, rejectionOf, spki } from "./test-keys.js";
import known from "./vectors.json" with { type: "json" };

const pair = keyPairOf("gateway");
const signature = base64(sign("sha256", Buffer.from("/payments{}"), pair.privateKey));
const request = { publicKey: pair.publicKey, path: "/payments", body: "{}", signature };

const vectors = known.vectors.map(({ name, publicKey, path, body, signature }) => {
  return { name, path, body, signature, publicKey: known.publicKeys[publicKey as "2048" | "3072"] };
});

describe.for(platforms)("on the platform %s", async (platform) => {
  const { verifySignature } = await signingOn(platform);

  describe("signatures that OpenSSL made", () => {
    it.each(vectors)("fit: $name", async ({ publicKey, path, body, signature }) => {
      expect(await verifySignature({ publicKey, path, body, signature })).toBe(true);
      expect(await verifySignature({ publicKey, path, body: Buffer.from(body), signature })).toBe(true);
    });

    it.each(vectors)("fit no other text: $name", async ({ publicKey, path, body, signature }) => {
      expect(await verifySignature({ publicKey, path, body: `${body} `, signature })).toBe(false);
      expect(await verifySignature({ publicKey, path: `${path}/`, body, signature })).toBe(false);
    });
  });

  describe("verifySignature", () => {
    it.each([
      ["PEM", spki(pair.publicKey)],
      ["the registered Base64", publicKeyToBase64(pair.publicKey)],
      ["a KeyObject", pair.publicKey],
    ])("takes the public key as %s", async (_name, publicKey) => {
      expect(await verifySignature({ ...request, publicKey })).toBe(true);
    });

    it.each([
      ["empty", ""],
      ["no Base64", "not a signature!"],
      ["wrapped into lines", signature.replace(/(.{64})/g, "$1\n")],
      ["followed by a line break", `${signature}\n`],
      ["without padding", signature.replace(/=+$/, "")],
      ["Base64 of the URL kind", signature.replaceAll("+", "-").replaceAll("/", "_").replace(/A/, "-")],
      ["the same bytes in another spelling", `${signature.slice(0, -3)}${otherSpelling(signature.at(-3))}==`],
      ["of too few bytes", base64(Buffer.from(signature, "base64").subarray(1))],
      ["of too many bytes", base64(Buffer.concat([Buffer.from(signature, "base64"), Buffer.alloc(1)]))],
      ["all zeros", base64(Buffer.alloc(256))],
    ])("is false for a signature that is %s", async (_name, signature) => {
      expect(await verifySignature({ ...request, signature })).toBe(false);
    });

    it("is false for the other RSA padding and for other hashes", async () => {
      const text = Buffer.from("/payments{}");
      const pss = sign("sha256", text, { key: pair.privateKey, padding: 6 });
      const sha1 = sign("sha1", text, pair.privateKey);
      expect(await verifySignature({ ...request, signature: base64(pss) })).toBe(false);
      expect(await verifySignature({ ...request, signature: base64(sha1) })).toBe(false);
    });

    it.each([
      ["in a string; got undefined", { signature: undefined }],
      ["in a string; got a Uint8Array", { signature: Buffer.from(signature, "base64") }],
      ["got a number", { path: 1 }],
      ["got a full URL", { path: "https://service.example/payments" }],
      ["got an object", { body: {} }],
      ["publicKey is undefined. ", { publicKey: undefined }],
      ["publicKey is a private key. ", { publicKey: pkcs8(pair.privateKey) }],
    ])("refuses arguments: %s", async (sentence, change) => {
      const error = await rejectionOf(verifySignature({ ...request, ...change } as SignatureToVerify));
      expect(error).toBeInstanceOf(InvalidArgumentError);
      expect(error).toMatchObject({ message: expect.stringContaining(sentence), effect: "none" });
    });
  });
});

/** The last letter before the padding has four bits that stand for nothing. */
function otherSpelling(letter: string | undefined): string {
  const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  return letters[letters.indexOf(letter ?? "") + 1] ?? "";
}

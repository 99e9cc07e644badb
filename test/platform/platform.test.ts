import { createHash, createPrivateKey, createPublicKey, sign, verify } from "node:crypto";
import fc from "fast-check";
import { afterEach, describe, expect, it, vi } from "vitest";
import * as node from "../../src/platform/node.js";
import type { Platform } from "../../src/platform/platform.js";
import * as web from "../../src/platform/web.js";
import * as workerd from "../../src/platform/workerd.js";
import { rsaKeyPair } from "../signing/test-keys.js";
import { keyPairOf } from "../support/key-pairs.js";

const pair = keyPairOf("gateway");
const spki = pair.publicKey.export({ type: "spki", format: "der" });
const pem = {
  pkcs8: String(pair.privateKey.export({ type: "pkcs8", format: "pem" })),
  pkcs1: String(pair.privateKey.export({ type: "pkcs1", format: "pem" })),
  spki: String(pair.publicKey.export({ type: "spki", format: "pem" })),
  publicPkcs1: String(pair.publicKey.export({ type: "pkcs1", format: "pem" })),
};

const platforms: [name: string, platform: Platform][] = [
  ["node", node],
  ["web", web],
];

afterEach(() => vi.unstubAllGlobals());

it("exports the same names for Node, for the web and for Workers", () => {
  expect(Object.keys(web).sort()).toEqual(Object.keys(node).sort());
  expect(Object.keys(workerd).sort()).toEqual(Object.keys(node).sort());
});

it("lets work continue if a runtime has nothing to keep a request open with", async () => {
  const work = Promise.resolve("done");
  workerd.waitUntil?.(work);
  await vi.dynamicImportSettled();
  expect(await work).toBe("done");
});

describe.each(platforms)("%s", (_name, platform) => {
  const text = Buffer.from("/payments{}");

  it.each([
    ["PKCS#8", platform.parsePrivatePem(pem.pkcs8)],
    ["PKCS#1", platform.parsePrivatePem(pem.pkcs1)],
    ["a KeyObject", pair.privateKey],
  ])("signs with a private key from %s", async (_name, source) => {
    expect(source.asymmetricKeyDetails?.modulusLength).toBe(2048);
    const key = platform.importPrivateKey(source);
    expect(verify("sha256", text, pair.publicKey, await key.sign(text))).toBe(true);
    expect(Buffer.from(key.spki())).toEqual(spki);
  });

  it.each([
    ["SubjectPublicKeyInfo", platform.parsePublicPem(pem.spki)],
    ["PKCS#1", platform.parsePublicPem(pem.publicPkcs1)],
    ["a KeyObject", pair.publicKey],
  ])("verifies with a public key from %s", async (_name, source) => {
    const key = platform.importPublicKey(source);
    expect(await key.verify(text, sign("sha256", text, pair.privateKey))).toBe(true);
    expect(await key.verify(text, sign("sha512", text, pair.privateKey))).toBe(false);
    expect(Buffer.from(key.spki())).toEqual(spki);
  });

  it("reads the size of a key", () => {
    const { privateKey, publicKey } = rsaKeyPair(2050);
    const keys = [
      platform.parsePrivatePem(String(privateKey.export({ type: "pkcs8", format: "pem" }))),
      platform.parsePrivatePem(String(privateKey.export({ type: "pkcs1", format: "pem" }))),
      platform.parsePublicPem(String(publicKey.export({ type: "spki", format: "pem" }))),
    ];
    expect(keys.map((key) => key.asymmetricKeyDetails?.modulusLength)).toEqual([2050, 2050, 2050]);
  });

  it("knows a KeyObject from everything else", () => {
    expect(platform.isKeyObject(pair.privateKey)).toBe(true);
    for (const other of [undefined, null, "", {}, { type: "private", export: () => spki }, globalThis.crypto]) {
      expect(platform.isKeyObject(other)).toBe(false);
    }
  });

  it("hashes with SHA-256", async () => {
    const hash = await platform.sha256(Buffer.from("abc"));
    expect(Buffer.from(hash)).toEqual(createHash("sha256").update("abc").digest());
  });

  it("generates a key pair", async () => {
    const { pkcs8, spki } = await platform.generateKeyPair(2048);
    const privateKey = createPrivateKey({ key: Buffer.from(pkcs8), format: "der", type: "pkcs8" });
    expect(privateKey.asymmetricKeyDetails).toEqual({ modulusLength: 2048, publicExponent: 65537n });
    const publicKey = createPublicKey({ key: Buffer.from(spki), format: "der", type: "spki" });
    expect(createPublicKey(privateKey).equals(publicKey)).toBe(true);
  });
});

it("signs and verifies the same on both platforms, whatever was done to the signature", async () => {
  const [onNode, onWeb] = [node, web].map((platform) => platform.importPublicKey(pair.publicKey));
  const bytes = fc.uint8Array({ maxLength: 300 });
  const change = fc.record({
    at: fc.nat(255),
    flip: fc.constantFrom(0, 1, 128),
    length: fc.integer({ min: 254, max: 256 }),
  });
  await fc.assert(
    fc.asyncProperty(bytes, change, async (text, { at, flip, length }) => {
      const made = Buffer.from(await web.importPrivateKey(pair.privateKey).sign(text));
      expect(made).toEqual(sign("sha256", text, pair.privateKey));
      made[at] = (made[at] ?? 0) ^ flip;
      const fits = flip === 0 && length === 256;
      for (const key of [onNode, onWeb]) expect(await key?.verify(text, made.subarray(0, length))).toBe(fits);
    }),
  );
});

describe("web", () => {
  it("says that a page without https has no WebCrypto", () => {
    vi.stubGlobal("crypto", {});
    expect(() => web.importPrivateKey(web.parsePrivatePem(pem.pkcs8))).toThrow(/loaded over https/);
  });
});

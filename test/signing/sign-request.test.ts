import { sign } from "node:crypto";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { InvalidArgumentError } from "../../src/core/errors.js";
import type { SigningKey } from "../../src/signing/keys.js";
import { keyPairOf } from "../support/key-pairs.js";
import { platforms, signingOn } from "./signing-on.js";
import { expectToTellNothingOf, pkcs8, rejectionOf, rsaKeyPair, spki } from "./test-keys.js";

const pair = keyPairOf("gateway");
const other = keyPairOf("stranger");
const key = pair.privateKey;
const publicKey = pair.publicKey;

const path = fc.webPath().map((text) => `/${text}`);
const body = fc.oneof(fc.string({ unit: "grapheme" }), fc.json());

describe.for(platforms)("on the platform %s", async (platform) => {
  const { signRequest, verifySignature } = await signingOn(platform);

  it("makes one line of Base64 that its public key verifies, for any path and body", async () => {
    await fc.assert(
      fc.asyncProperty(path, body, async (path, body) => {
        const signature = await signRequest({ key, path, body });
        expect(signature).toMatch(/^[A-Za-z0-9+/]{342}==$/);
        expect(await verifySignature({ publicKey, path, body, signature })).toBe(true);
      }),
    );
  });

  it("fits nothing else: one byte of path, body or signature changed, and it is false", async () => {
    const part = fc.constantFrom("path" as const, "body" as const, "signature" as const);
    const bytes = fc.uint8Array({ minLength: 1, maxLength: 200 });
    await fc.assert(
      fc.asyncProperty(path, bytes, part, fc.nat(), fc.integer({ min: 1, max: 127 }), async (...example) => {
        const [path, body, part, at, flip] = example;
        const signature = await signRequest({ key, path, body });
        const request = { publicKey, path, body, signature };
        const changed = { ...request, [part]: flipped(request[part], at, flip) };
        fc.pre(changed.path.startsWith("/"));
        expect(await verifySignature(changed)).toBe(false);
      }),
    );
  });

  it("fits no other key", async () => {
    const request = { path: "/payments", body: "{}" };
    const signature = await signRequest({ key, ...request });
    expect(await verifySignature({ publicKey: other.publicKey, ...request, signature })).toBe(false);
  });

  it("gives the same signature every time, whatever form the key and the body come in", async () => {
    const request = { path: "/payments", body: '{"memo":"ž"}' };
    const passphrase = "open sesame";
    const encrypted = String(key.export({ type: "pkcs8", format: "pem", cipher: "aes-128-cbc", passphrase }));
    const keys: SigningKey[] = [key, key, pkcs8(key), String(key.export({ type: "pkcs1", format: "pem" }))];
    if (platform === "node") keys.push({ key: encrypted, passphrase });
    const signatures = new Set([await signRequest({ ...request, key, body: Buffer.from(request.body) })]);
    for (const key of keys) signatures.add(await signRequest({ ...request, key }));
    expect(signatures.size).toBe(1);
  });

  it("signs bytes that are no text, and a path that has an address in it", async () => {
    const request = { path: "/payments?next=https://service.example/", body: Uint8Array.of(0, 128, 255) };
    const text = Buffer.concat([Buffer.from(request.path), request.body]);
    expect(await signRequest({ key, ...request })).toBe(sign("sha256", text, key).toString("base64"));
  });

  it("signs the bytes as they were when it was called", async () => {
    const changing = Buffer.from("{}");
    const signature = signRequest({ key, path: "/payments", body: changing });
    changing.fill(0);
    expect(await signature).toBe(await signRequest({ key, path: "/payments", body: "{}" }));
  });

  it.each([
    ["a full URL", "https://service.example/payments"],
    ["a full URL", "HTTP://service.example/payments"],
    ["a path without it", "payments"],
    ["a path without it", "payments?next=https://service.example/"],
    ["a path without it", ""],
    ["undefined", undefined],
    ["a URL", new URL("https://service.example/payments")],
  ])("refuses %s in place of a path", async (found, path) => {
    const error = await rejectionOf(signRequest({ key, path: path as string, body: "" }));
    expect(error).toBeInstanceOf(InvalidArgumentError);
    expect(error).toMatchObject({
      message: `path must be the request path without host, base path included, such as "/payments", and begin with a slash; got ${found}`,
    });
  });

  it.each([
    ["an object", { memo: "not serialised yet" }],
    ["undefined", undefined],
    ["null", null],
  ])("refuses a body that is %s", async (found, body) => {
    const signature = signRequest({ key, path: "/payments", body: body as unknown as string });
    await expect(signature).rejects.toThrow(
      `body must be the raw body as it is sent, a string or a Uint8Array; got ${found}`,
    );
  });

  it("refuses a key that cannot sign, without a word of it", async () => {
    const weak = pkcs8(rsaKeyPair(1024).privateKey);
    const error = await rejectionOf(signRequest({ key: weak, path: "/payments", body: "" }));
    expect(error).toBeInstanceOf(InvalidArgumentError);
    expect(error).toMatchObject({ message: expect.stringMatching(/^key is an RSA key of 1024 bits\. Pass /) });
    expectToTellNothingOf(weak, error);
    const withPublicKey = signRequest({ key: spki(publicKey), path: "/payments", body: "" });
    await expect(withPublicKey).rejects.toThrow("key is a public key. ");
  });
});

function flipped<T extends string | Uint8Array>(value: T, at: number, flip: number): string | Uint8Array {
  const bytes = typeof value === "string" ? Buffer.from(value) : Buffer.from(value);
  const index = at % bytes.length;
  bytes[index] = (bytes[index] ?? 0) ^ flip;
  return typeof value === "string" ? bytes.toString() : bytes;
}

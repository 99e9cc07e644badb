import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { InvalidArgumentError } from "../../src/errors/errors.js";
import { signRequest } from "../../src/signing/sign-request.js";
import { verifySignature } from "../../src/signing/verify.js";
import { expectToTellNothingOf, pkcs8, rsaKeyPair, spki, thrownBy } from "./test-keys.js";

const pair = rsaKeyPair();
const other = rsaKeyPair();
const key = pair.privateKey;
const publicKey = pair.publicKey;

const path = fc.webPath().map((text) => `/${text}`);
const body = fc.oneof(fc.string({ unit: "grapheme" }), fc.json());

describe("signRequest", () => {
  it("makes one line of Base64 that its public key verifies, for any path and body", () => {
    fc.assert(
      fc.property(path, body, (path, body) => {
        const signature = signRequest({ key, path, body });
        expect(signature).toMatch(/^[A-Za-z0-9+/]{342}==$/);
        expect(verifySignature({ publicKey, path, body, signature })).toBe(true);
      }),
    );
  });

  it("fits nothing else: one byte of path, body or signature changed, and it is false", () => {
    const part = fc.constantFrom("path", "body", "signature");
    const bytes = fc.uint8Array({ minLength: 1, maxLength: 200 });
    fc.assert(
      fc.property(path, bytes, part, fc.nat(), fc.integer({ min: 1, max: 127 }), (path, body, part, at, flip) => {
        const signature = signRequest({ key, path, body });
        const request = { publicKey, path, body, signature };
        const changed = { ...request, [part]: flipped(request[part as "path" | "body" | "signature"], at, flip) };
        fc.pre(changed.path.startsWith("/"));
        expect(verifySignature(changed)).toBe(false);
      }),
      { numRuns: 500 },
    );
  });

  it("fits no other key", () => {
    const request = { path: "/payments", body: "{}" };
    const signature = signRequest({ key, ...request });
    expect(verifySignature({ publicKey: other.publicKey, ...request, signature })).toBe(false);
  });

  it("gives the same signature every time, whatever form the key and the body come in", () => {
    const request = { path: "/payments", body: '{"memo":"ž"}' };
    const passphrase = "open sesame";
    const encrypted = String(key.export({ type: "pkcs8", format: "pem", cipher: "aes-128-cbc", passphrase }));
    const signatures = new Set([
      signRequest({ key, ...request }),
      signRequest({ key, ...request }),
      signRequest({ key: pkcs8(key), ...request }),
      signRequest({ key: String(key.export({ type: "pkcs1", format: "pem" })), ...request }),
      signRequest({ key: { key: encrypted, passphrase }, ...request }),
      signRequest({ key, path: request.path, body: new TextEncoder().encode(request.body) }),
    ]);
    expect(signatures.size).toBe(1);
  });

  it.each([
    ["path is a full URL", "https://service.example/payments"],
    ["path is a full URL", "HTTP://service.example/payments"],
    ['path does not start with "/"', "payments"],
    ['path does not start with "/"', ""],
    ["path is undefined", undefined],
    ["path is an object", new URL("https://service.example/payments")],
  ])("refuses a path where %s", (found, path) => {
    const error = thrownBy(() => signRequest({ key, path: path as string, body: "" }));
    expect(error).toBeInstanceOf(InvalidArgumentError);
    expect(error).toMatchObject({
      message: `${found}; wanted: the request path without host, base path included, such as "/payments"`,
    });
  });

  it.each([
    ["an object", { memo: "not serialised yet" }],
    ["undefined", undefined],
    ["null", null],
  ])("refuses a body that is %s", (found, body) => {
    const attempt = () => signRequest({ key, path: "/payments", body: body as unknown as string });
    expect(attempt).toThrow(`body is ${found}; wanted: the raw body as it is sent, a string or a Uint8Array`);
  });

  it("refuses a key that cannot sign, without a word of it", () => {
    const weak = pkcs8(rsaKeyPair(1024).privateKey);
    const error = thrownBy(() => signRequest({ key: weak, path: "/payments", body: "" }));
    expect(error).toBeInstanceOf(InvalidArgumentError);
    expect(error).toMatchObject({ message: expect.stringMatching(/^key is an RSA key of 1024 bits; wanted: /) });
    expectToTellNothingOf(weak, error);
    expect(() => signRequest({ key: spki(publicKey), path: "/payments", body: "" })).toThrow("key is a public key; ");
  });
});

function flipped(value: string | Uint8Array, at: number, flip: number): string | Uint8Array {
  const bytes = Buffer.from(value as string);
  const index = at % bytes.length;
  bytes[index] = (bytes[index] ?? 0) ^ flip;
  return typeof value === "string" ? bytes.toString() : bytes;
}

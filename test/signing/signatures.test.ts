import { type SpawnSyncReturns, spawnSync } from "node:child_process";
import { sign } from "node:crypto";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { InvalidArgumentError } from "../../src/core/errors.js";
import type { SigningKey } from "../../src/signing/keys.js";
import type { RequestToSign, SignatureToVerify } from "../../src/signing/signer.js";
import { errorOf } from "../support/error-of.js";
import { keyPairOf } from "../support/key-pairs.js";
import { temporaryFolder } from "../support/temporary-folder.js";
import { platforms, signingOn } from "./signing-on.js";
import { base64, expectToTellNothingOf, pkcs8, rsaKeyPair, spki } from "./test-keys.js";
import known from "./vectors.json" with { type: "json" };

const { privateKey: key, publicKey } = keyPairOf("gateway");
const request = { path: "/payments", body: '{"memo":"ž"}' };
const bytes = sign("sha256", Buffer.from(request.path + request.body), key);
const signature = base64(bytes);

const vectors = known.vectors.map(({ publicKey, ...vector }) => {
  return { ...vector, publicKey: known.publicKeys[publicKey as "2048" | "3072"] };
});

const isAbsent = spawnSync("openssl", ["version"]).status !== 0;
const folder = temporaryFolder();

describe.for(platforms)("on the platform %s", async (platform) => {
  const { createSigner, signRequest, verifySignature } = await signingOn(platform);

  it.each(vectors)("verifies the signature that OpenSSL made: $name", async ({ publicKey, path, body, signature }) => {
    expect(await verifySignature({ publicKey, path, body, signature })).toBe(true);
    expect(await verifySignature({ publicKey, path, body: Buffer.from(body), signature })).toBe(true);
    expect(await verifySignature({ publicKey, path, body: `${body} `, signature })).toBe(false);
    expect(await verifySignature({ publicKey, path: `${path}/`, body, signature })).toBe(false);
  });

  it.for([
    { path: "/payments", body: '{"senderAmount":"1250.50","memo":"Žofie 🎉"}' },
    { path: "/gateway/v1/payments?x=1&y=%2F", body: "{}" },
    { path: "/payments", body: "" },
  ])("OpenSSL verifies every signature: $path $body", async (request, { skip }) => {
    skip(isAbsent, "there is no openssl command here");
    const text = request.path + request.body;
    const bySigner = createSigner(key).sign(request.path, Buffer.from(request.body));
    for (const signature of [await signRequest({ key: pkcs8(key), ...request }), await bySigner]) {
      expect(opensslVerify(text, signature).stdout.toString()).toBe("Verified OK\n");
      expect(opensslVerify(`${text} `, signature).status).not.toBe(0);
    }
  });

  it("signs any path and body, and a signature fits nothing else", async () => {
    const path = fc.webPath().map((text) => `/${text}`);
    const body = fc.uint8Array({ minLength: 1, maxLength: 200 });
    const part = fc.constantFrom("path" as const, "body" as const, "signature" as const);
    await fc.assert(
      fc.asyncProperty(path, body, part, fc.nat(), fc.integer({ min: 1, max: 127 }), async (...example) => {
        const [path, body, part, at, flip] = example;
        const made = { publicKey, path, body, signature: await signRequest({ key, path, body }) };
        expect(await verifySignature(made)).toBe(true);
        const changed = { ...made, [part]: flipped(made[part], at, flip) };
        fc.pre(changed.path.startsWith("/"));
        expect(await verifySignature(changed)).toBe(false);
      }),
    );
  });

  it("gives the same signature every time, whatever form the key and the body come in", async () => {
    const passphrase = "open sesame";
    const encrypted = String(key.export({ type: "pkcs8", format: "pem", cipher: "aes-128-cbc", passphrase }));
    const keys: SigningKey[] = [key, key, pkcs8(key), String(key.export({ type: "pkcs1", format: "pem" }))];
    if (platform === "node") keys.push({ key: encrypted, passphrase });
    for (const key of keys) expect(await signRequest({ ...request, key })).toBe(signature);
    const changing = Buffer.from(request.body);
    const made = signRequest({ ...request, key, body: changing });
    changing.fill(0);
    expect(await made).toBe(signature);
  });

  it("signs bytes that are no text, and a path that has an address in it", async () => {
    const path = "/payments?next=https://service.example/";
    const body = Uint8Array.of(0, 128, 255);
    const text = Buffer.concat([Buffer.from(path), body]);
    expect(await signRequest({ key, path, body })).toBe(base64(sign("sha256", text, key)));
  });

  const pss = { key, padding: 6 };
  const signedWith = (hash: string, by: Parameters<typeof sign>[2]) =>
    base64(sign(hash, Buffer.from(request.path + request.body), by));
  it.each([
    ["empty", ""],
    ["not Base64", "not a signature!"],
    ["wrapped into lines", signature.replace(/(.{64})/g, "$1\n")],
    ["without padding", signature.replace(/=+$/, "")],
    ["Base64 of the URL kind", signature.replaceAll("+", "-").replaceAll("/", "_").replace(/A/, "-")],
    ["the same bytes in another spelling", `${signature.slice(0, -3)}${otherSpelling(signature.at(-3))}==`],
    ["of too few bytes", base64(bytes.subarray(1))],
    ["of too many bytes", base64(Buffer.concat([bytes, Buffer.alloc(1)]))],
    ["all zeros", base64(Buffer.alloc(256))],
    ["of another key", signedWith("sha256", keyPairOf("stranger").privateKey)],
    ["in the padding PSS", signedWith("sha256", pss)],
    ["of another hash", signedWith("sha1", key)],
  ])("is false for a signature that is %s", async (_, signature) => {
    expect(await verifySignature({ ...request, publicKey, signature })).toBe(false);
  });

  const path =
    'path must be the request path without host, base path included, such as "/payments", and begin with a slash';
  const body = "body must be the raw body as it is sent, a string or a Uint8Array";
  const weak = pkcs8(rsaKeyPair(1024).privateKey);
  it.each<[message: string, changes: object]>([
    [`${path}; got a full URL`, { path: "HTTP://service.example/payments" }],
    [`${path}; got a path without it`, { path: "payments?next=https://service.example/" }],
    [`${path}; got a URL`, { path: new URL("https://service.example/payments") }],
    [`${body}; got an object`, { body: { memo: "not serialized yet" } }],
    ["publicKey is a private key. ", { publicKey: pkcs8(key) }],
    ["in a string; got undefined", { signature: undefined }],
    ["in a string; got a Uint8Array", { signature: bytes }],
    [platform === "web" ? "private key can't be read. Pass " : "key is an RSA key of 1024 bits. Pass ", { key: weak }],
    ["key is a public key. ", { key: spki(publicKey) }],
  ])("refuses what isn't a request: %s", async (message, changes) => {
    const given = { ...request, key, publicKey, signature, ...changes };
    const attempts = [
      ...("publicKey" in changes || "signature" in changes ? [] : [signRequest(given as RequestToSign)]),
      ...("key" in changes ? [] : [verifySignature(given as SignatureToVerify)]),
    ];
    for (const attempt of attempts) {
      const error = await errorOf(attempt);
      expect(error).toBeInstanceOf(InvalidArgumentError);
      expect(error).toMatchObject({ message: expect.stringContaining(message), effect: "none" });
      expectToTellNothingOf(weak, error);
    }
  });
});

function opensslVerify(text: string, signature: string): SpawnSyncReturns<Buffer> {
  const [publicFile = "", signatureFile = "", textFile = ""] = Object.entries({
    "public.pem": spki(publicKey),
    signature: Buffer.from(signature, "base64"),
    text,
  }).map(([name, content]) => {
    writeFileSync(join(folder, name), content);
    return join(folder, name);
  });
  return spawnSync("openssl", ["dgst", "-sha256", "-verify", publicFile, "-signature", signatureFile, textFile]);
}

function flipped(value: string | Uint8Array, at: number, flip: number): string | Uint8Array {
  const bytes = Buffer.from(value as string);
  const index = at % bytes.length;
  bytes[index] = (bytes[index] ?? 0) ^ flip;
  return typeof value === "string" ? bytes.toString() : bytes;
}

/** The last letter before the padding has four bits that stand for nothing. */
function otherSpelling(letter: string | undefined): string {
  const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  return letters[letters.indexOf(letter ?? "") + 1] ?? "";
}

import * as crypto from "node:crypto";
import { inspect } from "node:util";
import { afterEach, describe, expect, it, vi } from "vitest";
import { Deadline } from "../../src/core/deadline.js";
import { ConfigError, InvalidArgumentError, SigningError } from "../../src/core/errors.js";
import { publicKeyToBase64 } from "../../src/signing/keys.js";
import { createSigner, type RequestSigner, type SigningContext, verifySignature } from "../../src/signing/signer.js";
import { keyPairOf } from "../support/key-pairs.js";
import { platforms, signingOn } from "./signing-on.js";
import { base64, expectToTellNothingOf, pkcs8, rejectionOf, rsaKeyPair, spki } from "./test-keys.js";

const pair = keyPairOf("gateway");
const other = keyPairOf("stranger");
const path = "/gateway/payments";
const body = Buffer.from('{"memo":"ž"}');
const expected = base64(crypto.sign("sha256", Buffer.concat([Buffer.from(path), body]), pair.privateKey));

/** A key service that does what it should, but for `sign`. */
function keyService(
  sign: RequestSigner["sign"],
  publicKey: RequestSigner["publicKey"] = pair.publicKey,
): RequestSigner {
  return { publicKey, sign };
}

const properly = async (text: Uint8Array) => crypto.sign("sha256", text, pair.privateKey);

describe.for(platforms)("on the platform %s", async (platform) => {
  const { createSigner } = await signingOn(platform);

  describe("a local key", () => {
    it.each([
      ["PEM", pkcs8(pair.privateKey)],
      ["a KeyObject", pair.privateKey],
    ])("signs path and body, from %s", async (_name, key) => {
      expect(await createSigner(key).sign(path, body)).toBe(expected);
    });

    it.runIf(platform === "node")("signs path and body, from a key with its passphrase", async () => {
      const key = { key: encryptedPem("open sesame"), passphrase: "open sesame" };
      expect(await createSigner(key).sign(path, body)).toBe(expected);
    });

    it("makes many signatures at once, each its own", async () => {
      const signer = createSigner(pair.privateKey);
      const bodies = Array.from({ length: 50 }, (_, index) => Buffer.from(String(index)));
      const signatures = await Promise.all(bodies.map((body) => signer.sign(path, body)));
      expect(new Set(signatures).size).toBe(50);
      for (const [index, signature] of signatures.entries()) {
        const text = Buffer.from(`${path}${index}`);
        expect(crypto.verify("sha256", text, pair.publicKey, Buffer.from(signature, "base64"))).toBe(true);
      }
    });

    it("signs the bytes as they were when it was asked", async () => {
      const changing = Buffer.from(body);
      const signature = createSigner(pair.privateKey).sign(path, changing);
      changing.fill(0);
      expect(await signature).toBe(expected);
    });

    it("refuses a key that is not fit when it is made, not when it signs", () => {
      expect(() => createSigner(spki(pair.publicKey))).toThrow(ConfigError);
      for (const absent of [undefined, null]) {
        expect(() => createSigner(absent as unknown as string)).toThrow(ConfigError);
        expect(() => createSigner(absent as unknown as string)).toThrow(`signingKey is ${absent}`);
      }
    });

    it("refuses a path that the service would not see", async () => {
      await expect(createSigner(pair.privateKey).sign("https://h/payments", body)).rejects.toThrow(
        InvalidArgumentError,
      );
    });

    it("shows nothing of its key when it is printed", () => {
      const pem = pkcs8(pair.privateKey);
      const signer = createSigner(pem);
      expectToTellNothingOf(pem, {
        shown: inspect(signer, { showHidden: true, depth: 9 }),
        json: JSON.stringify(signer),
      });
    });
  });

  describe("a key service", () => {
    it("is given the whole text and the call's signal", async () => {
      const { signal } = new AbortController();
      const seen: [string, SigningContext][] = [];
      const signer = keyService((text, context) => {
        seen.push([Buffer.from(text).toString(), context]);
        return properly(text);
      });
      await createSigner(signer).sign(path, body, { signal });
      expect(seen).toEqual([[`${path}${body}`, { signal }]]);
      expect(seen[0]?.[1].signal).toBe(signal);
    });

    it("is given nothing of the call but its signal", async () => {
      const deadline = new Deadline({ timeoutMs: 60_000 });
      const seen: SigningContext[] = [];
      const signer = keyService((text, context) => {
        seen.push(context);
        return properly(text);
      });
      await createSigner(signer).sign(path, body, deadline);
      const [context] = seen;
      expect(Reflect.ownKeys(context ?? {})).toEqual(["signal"]);
      expect(Object.getPrototypeOf(context)).toBe(Object.prototype);
      deadline.finish();
    });

    it.each([
      ["bytes", (bytes: Buffer) => new Uint8Array(bytes)],
      ["Base64", (bytes: Buffer) => base64(bytes)],
      ["Base64 in lines of 76", (bytes: Buffer) => base64(bytes).replace(/(.{76})/g, "$1\n")],
      ["Base64 in lines of 64 with Windows line ends", (bytes: Buffer) => base64(bytes).replace(/(.{64})/g, "$1\r\n")],
      ["Base64 with a line break at its end", (bytes: Buffer) => `${base64(bytes)}\n`],
    ])("may respond in %s; the header is one line", async (_name, encode) => {
      const signer = createSigner(keyService(async (text) => encode(await properly(text))));
      expect(await signer.sign(path, body)).toBe(expected);
    });

    it.each([
      ["PEM", spki(pair.publicKey)],
      ["Base64 of the PEM", publicKeyToBase64(pair.publicKey)],
    ])("may name its public key as %s", async (_name, publicKey) => {
      expect(await createSigner(keyService(properly, publicKey)).sign(path, body)).toBe(expected);
    });

    it("keeps its methods' this", async () => {
      class Service implements RequestSigner {
        readonly #key = pair.privateKey;
        readonly publicKey = pair.publicKey;
        async sign(text: Uint8Array): Promise<Uint8Array> {
          return crypto.sign("sha256", text, this.#key);
        }
      }
      expect(await createSigner(new Service()).sign(path, body)).toBe(expected);
    });

    it.each([
      ["of another key", async (text: Uint8Array) => crypto.sign("sha256", text, other.privateKey)],
      ["of another text", () => properly(Buffer.from("another text"))],
      ["of the text's hash", (text: Uint8Array) => properly(crypto.createHash("sha256").update(text).digest())],
      [
        "with the PSS padding",
        async (text: Uint8Array) => crypto.sign("sha256", text, { key: pair.privateKey, padding: 6 }),
      ],
      ["with SHA-512", async (text: Uint8Array) => crypto.sign("sha512", text, pair.privateKey)],
      ["of no bytes", async () => new Uint8Array()],
    ])("may not return a signature %s", async (_name, sign) => {
      const error = await rejectionOf(createSigner(keyService(sign)).sign(path, body));
      expect(error).toBeInstanceOf(SigningError);
      expect(error).toMatchObject({
        code: "signing_failed",
        effect: "none",
        message: expect.stringMatching(/^the signer's signature does not fit its public key, so nothing was sent: /),
      });
    });

    it("may use the memory of its signature again", async () => {
      const signer = keyService(async (text) => {
        const signature = await properly(text);
        setImmediate(() => signature.fill(0));
        return signature;
      });
      expect(await createSigner(signer).sign(path, body)).toBe(expected);
    });

    it("cannot change the text that its signature is checked against", async () => {
      const signer = keyService((text) => {
        text.fill(0);
        return properly(text);
      });
      await expect(createSigner(signer).sign(path, body)).rejects.toThrow("does not fit");
    });

    it.each([
      ["the signer must return the signature's bytes or their Base64 text; got undefined", undefined],
      ["the signer must return the signature's bytes or their Base64 text; got an object", { signature: "c2ln" }],
      ["the signer returned text that is not Base64", "a signature?"],
      ["the signer returned text that is not Base64", ""],
    ])("is told what is wrong: %s", async (message, response) => {
      const error = await rejectionOf(createSigner(keyService(async () => response as string)).sign(path, body));
      expect(error).toBeInstanceOf(SigningError);
      expect(error).toMatchObject({ message, effect: "none" });
    });

    it.each([
      ["rejects", () => Promise.reject(leakyError())],
      [
        "throws",
        () => {
          throw leakyError();
        },
      ],
    ])("that %s becomes a SigningError whose cause tells no secret", async (_name, sign) => {
      const error = await rejectionOf(createSigner(keyService(sign)).sign(path, body));
      expect(error).toBeInstanceOf(SigningError);
      expect(error).toMatchObject({ message: "the signer failed, so nothing was sent", effect: "none" });
      expect(error).toHaveProperty("cause.message", "throttled, Bearer [token]");
      expect(error).toHaveProperty("cause.code", "ThrottlingException");
      expectToTellNothingOf("kms-credential kms-token-1234", error);
    });

    it.each([
      ["signingKey.publicKey is a private key. ", { publicKey: pkcs8(pair.privateKey), sign: properly }],
      ["signingKey.publicKey is an RSA key of 1024 bits. ", { publicKey: rsaKeyPair(1024).publicKey, sign: properly }],
      ["signingKey.publicKey is undefined. ", { sign: properly }],
      ["signingKey.sign must be a function; got a string", { publicKey: pair.publicKey, sign: "RS256" }],
    ])("is refused when %s", (sentence, signer) => {
      const attempt = () => createSigner(signer as unknown as RequestSigner);
      expect(attempt).toThrow(ConfigError);
      expect(attempt).toThrow(sentence);
    });
  });

  it.each([
    ["a local key", pair.privateKey],
    ["a key service", keyService(properly)],
  ])("describes what %s signs", async (_name, key) => {
    const spki = pair.publicKey.export({ type: "spki", format: "der" });
    const sha256 = (bytes: Uint8Array) => crypto.createHash("sha256").update(bytes).digest("hex");
    const described = await createSigner(key).describe(path, body);
    expect(described).toEqual({ path, bodySha256: sha256(body), publicKeySha256: sha256(spki) });
  });
});

function encryptedPem(passphrase: string): string {
  return String(pair.privateKey.export({ type: "pkcs8", format: "pem", cipher: "aes-256-cbc", passphrase }));
}

function leakyError(): Error {
  const request = { headers: { authorization: "kms-credential" } };
  return Object.assign(new Error("throttled, Bearer kms-token-1234"), { code: "ThrottlingException", request });
}

const { privateKey, publicKey } = keyPairOf("gateway");
afterEach(() => vi.restoreAllMocks());

it("signs many requests at once", async () => {
  const signer = createSigner(privateKey);
  const paths = Array.from({ length: 100 }, (_, index) => `/payments/${index}`);
  const signatures = await Promise.all(paths.map((path) => signer.sign(path, new Uint8Array())));
  for (const [index, signature] of signatures.entries()) {
    expect(await verifySignature({ publicKey, path: paths[index] ?? "", body: "", signature })).toBe(true);
  }
});

it("turns a failure of the crypto library into a SigningError, and signs the next request", async () => {
  const signer = createSigner(privateKey);
  const failing = (...given: unknown[]) => {
    const done = given.at(-1) as (error: Error) => void;
    done(Object.assign(new Error("out of memory"), { code: "ERR_OSSL_MALLOC_FAILURE" }));
  };
  vi.spyOn(process.getBuiltinModule("node:crypto"), "sign").mockImplementationOnce(failing as never);
  const error = await rejectionOf(signer.sign("/payments", new Uint8Array()));
  expect(error).toBeInstanceOf(SigningError);
  expect(error).toMatchObject({ effect: "none", cause: { code: "ERR_OSSL_MALLOC_FAILURE" } });
  expect(await signer.sign("/payments", new Uint8Array())).toMatch(/^[A-Za-z0-9+/]{342}==$/);
});

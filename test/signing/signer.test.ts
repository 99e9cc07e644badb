import * as crypto from "node:crypto";
import { inspect } from "node:util";
import { describe, expect, it, vi } from "vitest";
import { Deadline } from "../../src/core/deadline.js";
import { ConfigError, SigningError } from "../../src/core/errors.js";
import { publicKeyToBase64, type SigningKey } from "../../src/signing/keys.js";
import { createSigner, type RequestSigner, type SigningContext } from "../../src/signing/signer.js";
import { errorOf } from "../support/error-of.js";
import { keyPairOf } from "../support/key-pairs.js";
import { platforms, signingOn } from "./signing-on.js";
import { base64, expectToTellNothingOf, pkcs8, spki } from "./test-keys.js";

const { privateKey, publicKey } = keyPairOf("gateway");
const other = keyPairOf("stranger");
const path = "/gateway/payments";
const body = Buffer.from('{"memo":"ž"}');
const properly = async (text: Uint8Array) => crypto.sign("sha256", text, privateKey);
const expected = base64(crypto.sign("sha256", Buffer.concat([Buffer.from(path), body]), privateKey));

/** A key service that does what it should, but for `sign`. */
const keyService = (sign: RequestSigner["sign"]): RequestSigner => ({ publicKey, sign });

describe.for(platforms)("on the platform %s", async (platform) => {
  const { createSigner } = await signingOn(platform);

  class Service implements RequestSigner {
    readonly #key = privateKey;
    readonly publicKey = publicKey;
    async sign(text: Uint8Array): Promise<Uint8Array> {
      return crypto.sign("sha256", text, this.#key);
    }
  }
  const answering = (encode: (bytes: Buffer) => Uint8Array | string) =>
    keyService(async (text) => encode(await properly(text)));
  it.each<[what: string, key: SigningKey | RequestSigner]>([
    ["PEM", pkcs8(privateKey)],
    ["a key service with methods", new Service()],
    ["one that names its key as Base64", { publicKey: publicKeyToBase64(publicKey), sign: properly }],
    ["one that returns Base64", answering(base64)],
    ["one that returns lines", answering((bytes) => `${base64(bytes).replace(/(.{64})/g, "$1\r\n")}\n`)],
    [
      "one that uses its memory again",
      answering((bytes) => {
        setImmediate(() => bytes.fill(0));
        return bytes;
      }),
    ],
  ])("signs path and body with %s, and describes what it signed", async (_, key) => {
    const signer = createSigner(key);
    expect(await signer.sign(path, body)).toBe(expected);
    const sha256 = (bytes: Uint8Array) => crypto.createHash("sha256").update(bytes).digest("hex");
    const publicKeySha256 = sha256(publicKey.export({ type: "spki", format: "der" }));
    expect(await signer.describe(path, body)).toEqual({ path, bodySha256: sha256(body), publicKeySha256 });
  });

  it.each([
    ["signingKey is a public key. ", spki(publicKey)],
    ["signingKey.publicKey is a private key. ", { publicKey: pkcs8(privateKey), sign: properly }],
    ["signingKey.publicKey is undefined. ", { sign: properly }],
    ["signingKey.sign must be a function; got a string", { publicKey, sign: "RS256" }],
  ])("is refused when it is made, not when it signs: %s", (sentence, key) => {
    const attempt = () => createSigner(key as RequestSigner);
    expect(attempt).toThrow(ConfigError);
    expect(attempt).toThrow(sentence);
  });

  it("shows nothing of its key when it is printed", () => {
    const pem = pkcs8(privateKey);
    const signer = createSigner(pem);
    const shown = inspect(signer, { showHidden: true, depth: 9 });
    expectToTellNothingOf(pem, { shown, json: JSON.stringify(signer) });
  });

  it("gives a key service the whole text, and nothing of the call but its signal", async () => {
    const deadline = new Deadline({ timeoutMs: 60_000 });
    const seen: [string, SigningContext][] = [];
    const signer = keyService((text, context) => {
      seen.push([Buffer.from(text).toString(), context]);
      return properly(text);
    });
    await createSigner(signer).sign(path, body, deadline);
    const [[text, context] = []] = seen;
    expect([text, Reflect.ownKeys(context ?? {}), Object.getPrototypeOf(context)]).toEqual([
      `${path}${body}`,
      ["signal"],
      Object.prototype,
    ]);
    expect(context?.signal).toBe(deadline.signal);
    deadline.finish();
  });

  const wrongSignature = /^the signer's signature does not fit its public key, so nothing was sent: /;
  const wrongType = "the signer must return the signature's bytes or their Base64 text; got";
  it.each<[what: string, message: string | RegExp, sign: (text: Uint8Array) => unknown]>([
    ["of another key", wrongSignature, (text) => crypto.sign("sha256", text, other.privateKey)],
    ["of another text", wrongSignature, () => properly(Buffer.from("another text"))],
    ["of a text that it changed", wrongSignature, (text) => properly(text.fill(0))],
    ["in PSS", wrongSignature, (text) => crypto.sign("sha256", text, { key: privateKey, padding: 6 })],
    ["with SHA-512", wrongSignature, (text) => crypto.sign("sha512", text, privateKey)],
    ["of no bytes", wrongSignature, () => new Uint8Array()],
    ["that is undefined", `${wrongType} undefined`, () => undefined],
    ["that is an object", `${wrongType} an object`, () => ({ signature: "c2ln" })],
    ["that is a text", "the signer returned text that is not Base64", () => "a signature?"],
  ])("sends no signature %s", async (_, message, sign) => {
    const signer = createSigner(keyService(async (text) => (await sign(text)) as string));
    const error = await errorOf(signer.sign(path, body));
    expect(error).toBeInstanceOf(SigningError);
    expect(error).toMatchObject({ code: "signing_failed", effect: "none" });
    expect(error).toHaveProperty("message", typeof message === "string" ? message : expect.stringMatching(message));
  });

  it.each([
    ["rejects", () => Promise.reject(leakyError())],
    [
      "throws",
      () => {
        throw leakyError();
      },
    ],
  ])("of a key service that %s throws an error whose cause tells no secret", async (_, sign) => {
    const error = await errorOf(createSigner(keyService(sign)).sign(path, body));
    expect(error).toBeInstanceOf(SigningError);
    expect(error).toMatchObject({
      ...{ message: "the signer failed, so nothing was sent", effect: "none" },
      cause: { message: "throttled, Bearer [token]", code: "ThrottlingException" },
    });
    expectToTellNothingOf("kms-credential kms-token-1234", error);
  });
});

function leakyError(): Error {
  const request = { headers: { authorization: "kms-credential" } };
  return Object.assign(new Error("throttled, Bearer kms-token-1234"), { code: "ThrottlingException", request });
}

it("turns a failure of the crypto library into a SigningError, and signs the next request", async () => {
  const signer = createSigner(privateKey);
  const failing = () => {
    throw Object.assign(new Error("out of memory"), { code: "ERR_OSSL_MALLOC_FAILURE" });
  };
  vi.spyOn(process.getBuiltinModule("node:crypto"), "sign").mockImplementationOnce(failing as never);
  const error = await errorOf(signer.sign(path, body));
  expect(error).toBeInstanceOf(SigningError);
  expect(error).toMatchObject({ effect: "none", cause: { code: "ERR_OSSL_MALLOC_FAILURE" } });
  expect(await signer.sign(path, body)).toBe(expected);
  vi.restoreAllMocks();
});

import { sha256 } from "#platform";
import { describeThrown, describeValue } from "../core/describe.js";
import { ConfigError, InvalidArgumentError, type SignedText, SigningError } from "../core/errors.js";
import { decodeBase64, encodeBase64, encodeHex, encodeUtf8 } from "../platform/encodings.js";
import type { KeyObjectLike, PrivateKey, PublicKey } from "../platform/platform.js";
import {
  expectedPublicKey,
  expectedSigningKey,
  keyRefusal,
  parsePublicKey,
  parseSigningKey,
  readPublicKey,
  readSigningKey,
  type SigningKey,
} from "./keys.js";

/**
 * The bytes that are signed. The path without host, immediately followed by the raw body (Interface description 0.0.1,
 * "Digital signatures"). Nothing stands between the two.
 */
export function signedText(path: string, body: string | Uint8Array): Uint8Array {
  assertPath(path);
  if (typeof body !== "string" && !(body instanceof Uint8Array)) {
    throw new InvalidArgumentError(
      `body must be the raw body as it is sent, a string or a Uint8Array; got ${describeValue(body)}`,
    );
  }
  if (typeof body === "string") return encodeUtf8(path + body);
  const pathBytes = encodeUtf8(path);
  const text = new Uint8Array(pathBytes.length + body.length);
  text.set(pathBytes);
  text.set(body, pathBytes.length);
  return text;
}

function assertPath(path: unknown): void {
  if (typeof path === "string" && path.startsWith("/")) return;
  const isUrl = typeof path === "string" && /^[a-z][a-z\d+.-]*:\/\//i.test(path);
  const got = isUrl ? "a full URL" : typeof path === "string" ? "a path without it" : describeValue(path);
  throw new InvalidArgumentError(
    `path must be the request path without host, base path included, such as "/payments", and begin with a slash; got ${got}`,
  );
}

/** Signs with a private key in a KMS or an HSM. The client verifies the signature with `publicKey` before it sends anything. */
export interface RequestSigner {
  /** The public key that was given at onboarding: PEM, Base64 of the PEM, or `KeyObject`. RSA, 2048 bits or more. */
  readonly publicKey: string | Uint8Array | KeyObjectLike;
  /**
   * Signs `text` with RSA, SHA-256 and PKCS#1 v1.5 (`RSASSA_PKCS1_V1_5_SHA_256` in most key services). `text` is the whole
   * text, not its hash. It is called once per signed request, never for a repetition of one.
   *
   * @returns the signature's bytes, or their Base64 text, wrapped into lines or not.
   */
  sign(text: Uint8Array, context: SigningContext): Promise<Uint8Array | string>;
}

export interface SigningContext {
  /** Aborts when the call ends. Pass it to the client of the key service. */
  readonly signal?: AbortSignal | undefined;
}

/** Makes the value of `X-SERVICE-SIGNATURE-BASE64`. */
export interface Signer {
  /**
   * The signature of path and body, Base64 on one line.
   *
   * @throws {SigningError} if no signature was made, or the one that a `RequestSigner` made does not fit its public key.
   */
  sign(path: string, body: string | Uint8Array, context?: SigningContext): Promise<string>;
  /** What `sign` signs and with which key, for errors. */
  describe(path: string, body: Uint8Array): Promise<SignedText>;
}

/**
 * @throws {ConfigError} if the key isn't a private RSA key of at least 2048 bits, or the signer has no such public key.
 */
export function createSigner(input: SigningKey | RequestSigner): Signer {
  const isForeign = typeof input === "object" && input !== null && "sign" in input;
  return isForeign ? foreignSigner(input) : localSigner(parseSigningKey(input));
}

function localSigner(key: PrivateKey): Signer {
  return {
    describe: (path, body) => describeText(path, body, key),
    async sign(path, body) {
      const text = signedText(path, body);
      try {
        return encodeBase64(await key.sign(text));
      } catch (cause) {
        throw new SigningError("the signing key made no signature, so nothing was sent", { cause });
      }
    },
  };
}

function foreignSigner(signer: RequestSigner): Signer {
  if (typeof signer.sign !== "function") {
    throw new ConfigError(`signingKey.sign must be a function; got ${describeValue(signer.sign)}`);
  }
  const publicKey = readPublicKey(signer.publicKey);
  if (typeof publicKey === "string") {
    throw new ConfigError(keyRefusal("signingKey.publicKey", publicKey, expectedPublicKey));
  }
  return {
    describe: (path, body) => describeText(path, body, publicKey),
    async sign(path, body, context = {}) {
      const text = signedText(path, body);
      const signature = toBytes(await askForSignature(signer, text, context));
      if (await publicKey.verify(text, signature)) return encodeBase64(signature);
      throw new SigningError(
        "the signer's signature does not fit its public key, so nothing was sent: check that the public key belongs to the key that signs, and that it signs the whole text with RSA, SHA-256 and PKCS#1 v1.5",
      );
    },
  };
}

async function askForSignature(signer: RequestSigner, text: Uint8Array, context: SigningContext): Promise<unknown> {
  try {
    // A copy, since the signature is verified with the text.
    return await signer.sign(Uint8Array.from(text), toContext(context));
  } catch (error) {
    throw new SigningError("the signer failed, so nothing was sent", { cause: describeThrown(error) });
  }
}

/** The signal and nothing else, since a call passes its deadline. The deadline makes its signal on first use. */
function toContext(context: SigningContext): SigningContext {
  return {
    get signal() {
      return context.signal;
    },
  };
}

function toBytes(signature: unknown): Uint8Array {
  if (signature instanceof Uint8Array) return Uint8Array.from(signature);
  if (typeof signature !== "string") {
    throw new SigningError(
      `the signer must return the signature's bytes or their Base64 text; got ${describeValue(signature)}`,
    );
  }
  const bytes = decodeBase64(signature);
  if (bytes === undefined || bytes.length === 0) throw new SigningError("the signer returned text that is not Base64");
  return bytes;
}

async function describeText(path: string, body: Uint8Array, key: PrivateKey | PublicKey): Promise<SignedText> {
  const [bodySha256, publicKeySha256] = await Promise.all([hexOfHash(body), hexOfHash(key.spki())]);
  return { path, bodySha256, publicKeySha256 };
}

async function hexOfHash(bytes: Uint8Array): Promise<string> {
  return encodeHex(await sha256(bytes));
}

/** A request to be signed. */
export interface RequestToSign {
  /** The signing key. Given as a `KeyObject` it is not parsed on every call. */
  readonly key: SigningKey;
  /** Request path without host, base path included, exactly as it will be on the wire. */
  readonly path: string;
  /** The raw body, exactly as it will be sent. Serialize it once, sign that, and send that. */
  readonly body: string | Uint8Array;
}

/**
 * Signs a request. Returns the value of `X-SERVICE-SIGNATURE-BASE64`, RSA with SHA-256 and PKCS#1 v1.5 over path and body, Base64
 * on one line (Interface description 0.0.1, "Digital signatures"). The client does this automatically. Use it for other requests.
 *
 * The same key, path and body always give the same signature.
 *
 * @throws {InvalidArgumentError} if `path` is a full URL or doesn't start with `/`, `body` is neither text nor bytes,
 * or `key` is not a private RSA key of at least 2048 bits.
 */
export async function signRequest({ key, path, body }: RequestToSign): Promise<string> {
  const privateKey = readSigningKey(key);
  if (typeof privateKey === "string") throw new InvalidArgumentError(keyRefusal("key", privateKey, expectedSigningKey));
  return encodeBase64(await privateKey.sign(signedText(path, body)));
}

/** A signed request as it was received or stored. */
export interface SignatureToVerify {
  /** Public RSA key: PEM, Base64 of the PEM (as in `rsaPublicKeyBase64`), or a `KeyObject`, which saves parsing it each time. */
  readonly publicKey: string | Uint8Array | KeyObjectLike;
  /** Request path without host, base path included, as it was on the wire. */
  readonly path: string;
  /** The raw body, byte for byte. */
  readonly body: string | Uint8Array;
  /** The `X-SERVICE-SIGNATURE-BASE64` header, padded Base64 on one line. */
  readonly signature: string;
}

/**
 * Tells whether the private key of `publicKey` made `signature` for exactly this path and body, with RSA, SHA-256, and PKCS#1 v1.5.
 * Await it, since a promise is always true in a condition.
 *
 * Nothing separates path and body, so `"/a"` with `"bc"` and `"/ab"` with `"c"` have the same signature. Take the path from the
 * request, never from the signer.
 *
 * @throws {InvalidArgumentError} if an argument has the wrong type, `path` does not start with `/`, or `publicKey` is not a
 * public RSA key of at least 2048 bits.
 */
export async function verifySignature({ publicKey, path, body, signature }: SignatureToVerify): Promise<boolean> {
  if (typeof signature !== "string") {
    throw new InvalidArgumentError(
      `signature must be Base64 on one line, in a string; got ${describeValue(signature)}`,
    );
  }
  const bytes = decodeSignature(signature);
  const key = parsePublicKey(publicKey);
  const text = signedText(path, body);
  return bytes !== undefined && key.verify(text, bytes);
}

/** The bytes of a signature. Undefined if the text isn't the one padded Base64 on one line that stands for them. */
export function decodeSignature(text: string): Uint8Array | undefined {
  const bytes = decodeBase64(text);
  return bytes !== undefined && encodeBase64(bytes) === text ? bytes : undefined;
}

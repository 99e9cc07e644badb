import { encodeBase64, sha256 } from "#platform";
import { describeThrown, describeValue } from "../core/describe.js";
import { ConfigError, type SignedText, SigningError } from "../core/errors.js";
import { decodeBase64, encodeHex } from "../platform/encodings.js";
import type { KeyObjectLike, PrivateKey, PublicKey } from "../platform/platform.js";
import { expectedPublicKey, parseSigningKey, type SigningKey } from "./keys.js";
import { keyRefusal, readPublicKey } from "./read-key.js";
import { signedText } from "./signed-text.js";

/**
 * A signer whose private key stays elsewhere, in a KMS or an HSM. What it returns is verified with `publicKey` before
 * anything is sent.
 */
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
  /** Aborts when the call that needs the signature ends: hand it to the key service's client. */
  readonly signal?: AbortSignal | undefined;
}

/** Makes the value of `X-SERVICE-SIGNATURE-BASE64`. */
export interface Signer {
  /**
   * The signature of path and body, Base64 on one line.
   *
   * @throws {SigningError} when no signature was made, or the one that a `RequestSigner` made does not fit its public key.
   */
  sign(path: string, body: string | Uint8Array, context?: SigningContext): Promise<string>;
  /** What `sign` signs and with which key, for errors. */
  describe(path: string, body: Uint8Array): Promise<SignedText>;
}

/**
 * @throws {ConfigError} when the key is not a private RSA key of at least 2048 bits, or the signer has no such public key.
 */
export function createSigner(input: SigningKey | RequestSigner): Signer {
  return isRequestSigner(input) ? foreignSigner(input) : localSigner(parseSigningKey(input));
}

function isRequestSigner(input: SigningKey | RequestSigner): input is RequestSigner {
  return typeof input === "object" && input !== null && "sign" in input;
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
    // A copy: what the signer does to it must not reach the text that its signature is verified with.
    return await signer.sign(Uint8Array.from(text), toContext(context));
  } catch (error) {
    throw new SigningError("the signer failed, so nothing was sent", { cause: describeThrown(error) });
  }
}

/** The signal and nothing else: what has it may be the deadline of a call. It is made when it is looked at. */
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

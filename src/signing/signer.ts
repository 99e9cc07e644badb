import type { KeyObject } from "node:crypto";
import { describeValue } from "../errors/describe-value.js";
import { ConfigError, SigningError } from "../errors/errors.js";
import { nodeCrypto } from "../platform/node-crypto.js";
import { parseSigningKey, readPublicKey, type SigningKey, wantedPublicKey } from "./keys.js";
import { limitConcurrency } from "./limit-concurrency.js";
import { signNow } from "./sign-now.js";
import { signedText } from "./signed-text.js";
import { decodeBase64, verifyText } from "./verify.js";

/**
 * A signer whose private key stays elsewhere, in a KMS or an HSM. What it returns is verified with `publicKey` before
 * anything is sent.
 */
export interface RequestSigner {
  /** The public key that was given at onboarding: PEM, Base64 of the PEM, or `KeyObject`. RSA, 2048 bits or more. */
  readonly publicKey: string | KeyObject;
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
   * @throws {SigningError} when there is none, or a foreign one does not fit.
   */
  sign(path: string, body: Uint8Array, context?: SigningContext): Promise<string>;
  /** SHA-256, in hex, of the public key's DER form (SubjectPublicKeyInfo). */
  readonly publicKeySha256: string;
}

/** Enough to keep the thread pool busy, and few enough for the loop that deals with those that are done. Measured: `bench/`. */
const mostAtOnce = 12;

/** A signature of such a key takes a quarter of a millisecond, which the loop can spare once in a turn; 4096 bits take six times that. */
const quickBits = 2048;

/**
 * @throws {ConfigError} when the key is no private RSA key of at least 2048 bits, or the signer has no such public key.
 */
export function createSigner(input: SigningKey | RequestSigner): Signer {
  return isRequestSigner(input) ? foreignSigner(input) : localSigner(parseSigningKey(input));
}

function isRequestSigner(input: SigningKey | RequestSigner): input is RequestSigner {
  return typeof input === "object" && input !== null && "sign" in input;
}

function localSigner(key: KeyObject): Signer {
  const limited = limitConcurrency(mostAtOnce);
  const isQuick = (key.asymmetricKeyDetails?.modulusLength ?? Number.POSITIVE_INFINITY) <= quickBits;
  let busy = 0;
  return {
    publicKeySha256: sha256OfPublicKey(nodeCrypto().createPublicKey(key)),
    async sign(path, body) {
      const text = signedText(path, body);
      // Alone it is made at once: the way to the pool and back costs a tenth more. In company, or in the same turn, the pool has it.
      const isAlone = isQuick && busy === 0;
      busy += 1;
      try {
        const signature = isAlone ? signNow(key, text) : await limited(() => signInThreadPool(key, text));
        return signature.toString("base64");
      } catch (cause) {
        throw new SigningError("the signing key made no signature, so nothing was sent", { cause });
      } finally {
        if (isAlone) setImmediate(() => void busy--);
        else busy -= 1;
      }
    },
  };
}

function signInThreadPool(key: KeyObject, text: Uint8Array): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    nodeCrypto().sign("sha256", text, key, (error, signature) => {
      if (error) reject(error);
      else resolve(signature);
    });
  });
}

function foreignSigner(signer: RequestSigner): Signer {
  if (typeof signer.sign !== "function") {
    throw new ConfigError(`signingKey.sign is ${describeValue(signer.sign)}; wanted: a function that signs`);
  }
  const publicKey = readPublicKey(signer.publicKey);
  if (typeof publicKey === "string") {
    throw new ConfigError(`signingKey.publicKey is ${publicKey}; ${wantedPublicKey}`);
  }
  return {
    publicKeySha256: sha256OfPublicKey(publicKey),
    async sign(path, body, context = {}) {
      const text = signedText(path, body);
      const signature = toBytes(await askForSignature(signer, text, context));
      if (!verifyText(publicKey, text, signature)) {
        throw new SigningError(
          "the signer's signature does not fit its public key, so nothing was sent: check that the public key belongs to the key that signs, and that it signs the whole text with RSA, SHA-256 and PKCS#1 v1.5",
        );
      }
      return signature.toString("base64");
    },
  };
}

async function askForSignature(signer: RequestSigner, text: Uint8Array, context: SigningContext): Promise<unknown> {
  try {
    // A copy: what the signer does to it must not reach the text that its signature is verified with.
    return await signer.sign(Uint8Array.from(text), context);
  } catch (cause) {
    throw new SigningError("the signer failed, so nothing was sent", { cause });
  }
}

function toBytes(signature: unknown): Buffer {
  if (signature instanceof Uint8Array) return Buffer.from(signature);
  if (typeof signature !== "string") {
    throw new SigningError(
      `the signer returned ${describeValue(signature)}; wanted: the signature's bytes or their Base64 text`,
    );
  }
  const bytes = decodeBase64(signature.replace(/\s+/g, ""));
  if (bytes === undefined) throw new SigningError("the signer returned a text that is no Base64");
  return bytes;
}

function sha256OfPublicKey(key: KeyObject): string {
  return nodeCrypto()
    .createHash("sha256")
    .update(key.export({ type: "spki", format: "der" }))
    .digest("hex");
}

import { encodeBase64, generateKeyPair } from "#platform";
import { ConfigError, InvalidArgumentError } from "../core/errors.js";
import { isPem, writePem } from "../platform/encodings.js";
import type { KeyObjectLike, PrivateKey, PublicKey } from "../platform/platform.js";
import { keyRefusal, keyText, minBits, privateKeyFound, readPublicKey, readSigningKey } from "./read-key.js";

/**
 * The private RSA key (2048 bits or more) whose public key was given at onboarding (Interface description 0.0.1, "Digital
 * signatures"): PEM (PKCS#8 or PKCS#1) as text or as the bytes of a file, a `KeyObject` of `node:crypto`, or any of them with the
 * passphrase that an encrypted PEM needs. Only Node can decrypt a PEM. Lost or escaped line breaks don't matter.
 */
export type SigningKey =
  | string
  | Uint8Array
  | KeyObjectLike
  | { readonly key: string | Uint8Array | KeyObjectLike; readonly passphrase: string };

export { writePem } from "../platform/encodings.js";

/** A new key pair for signing, as PEM text, with the public key in the form that the service takes. */
export interface SigningKeyPair {
  /** PKCS#8 PEM, not encrypted. Secret: it is never sent anywhere. */
  readonly privateKey: string;
  /** SubjectPublicKeyInfo PEM. */
  readonly publicKey: string;
  /** Base64 of `publicKey`'s PEM text: the gateway's `rsaPublicKeyBase64`. */
  readonly publicKeyBase64: string;
}

/**
 * Reads the key once, so that no call has to.
 *
 * @throws {ConfigError} when it is anything but a private RSA key of at least 2048 bits that can be opened. The message says
 * what was found, never the key itself.
 */
export function parseSigningKey(input: SigningKey): PrivateKey {
  const key = readSigningKey(input);
  if (typeof key !== "string") return key;
  throw new ConfigError(keyRefusal("signingKey", key, expectedSigningKey));
}

/**
 * Reads a public key: PEM as text or bytes, Base64 of the PEM text (as in `rsaPublicKeyBase64`), Base64 of its DER form, or a `KeyObject`.
 *
 * @throws {InvalidArgumentError} when it is anything but a public RSA key of at least 2048 bits. A private key is refused too.
 */
export function parsePublicKey(input: string | Uint8Array | KeyObjectLike): PublicKey {
  const key = readPublicKey(input);
  if (typeof key !== "string") return key;
  throw new InvalidArgumentError(keyRefusal("publicKey", key, expectedPublicKey));
}

/** The end of a message that refuses a signing key. */
export const expectedSigningKey = `a private RSA key of at least ${minBits} bits, as PEM, KeyObject, or { key, passphrase }`;

/** The end of a message that refuses a public key. */
export const expectedPublicKey = `a public RSA key of at least ${minBits} bits, as PEM, Base64 of the PEM text, or KeyObject`;

/**
 * The gateway's `rsaPublicKeyBase64`: Base64, on one line, of the public key's PEM text (Interface description 0.0.1,
 * "Digital signatures"). PEM text that is in order is kept byte for byte, line ends included; anything else is written as
 * SubjectPublicKeyInfo PEM.
 *
 * @throws {InvalidArgumentError} when it is anything but a public RSA key of at least 2048 bits. A private key is refused:
 * it must never be sent.
 */
export function publicKeyToBase64(publicKey: string | Uint8Array | KeyObjectLike): string {
  const text = keyText(publicKey);
  const key = text === undefined || isPem(text) ? readPublicKey(publicKey) : "text that is not PEM";
  if (typeof key === "string") {
    const found = key === privateKeyFound ? `${key}, which must never be sent` : key;
    throw new InvalidArgumentError(
      keyRefusal("the public key", found, `a public RSA key of at least ${minBits} bits, as PEM or KeyObject`),
    );
  }
  return encodeText(text !== undefined && isInOrder(text) ? text : writePem("PUBLIC KEY", key.spki()));
}

/** Whether every reader of PEM can read the text of this public key. */
function isInOrder(text: string): boolean {
  const block = /^-----BEGIN ((RSA )?PUBLIC KEY)-----\r?\n(?:[\w+/=]{1,77}\r?\n)+-----END \1-----\r?$/m.exec(text);
  // Only SubjectPublicKeyInfo begins with the name of its algorithm.
  const isSpki = text.includes("ANBgkqhkiG9w0BAQEF");
  return block !== null && isSpki === (block[2] === undefined) && !/^[ \t]|\\/m.test(text);
}

/** Makes a new RSA key pair of 2048 bits. Store the private key where only the signer can read it. */
export async function generateSigningKeyPair(): Promise<SigningKeyPair> {
  const { pkcs8, spki } = await generateKeyPair(minBits);
  const publicKey = writePem("PUBLIC KEY", spki);
  return { privateKey: writePem("PRIVATE KEY", pkcs8), publicKey, publicKeyBase64: encodeText(publicKey) };
}

function encodeText(text: string): string {
  return encodeBase64(new TextEncoder().encode(text));
}

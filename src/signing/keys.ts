import {
  generateKeyPair,
  importPrivateKey,
  importPublicKey,
  isKeyObject,
  opensEncryptedKeys,
  parsePrivatePem,
  parsePublicPem,
} from "#platform";
import { describeValue } from "../core/describe.js";
import { ConfigError, InvalidArgumentError } from "../core/errors.js";
import { decodeBase64, encodeBase64, isPem, type PemBlock, readPemBlocks, writePem } from "../platform/encodings.js";
import type { KeyObjectLike, PrivateKey, PublicKey } from "../platform/platform.js";

/** The smallest RSA key that is taken. */
const minBits = 2048;

/** Names a private key in the place of a public one. */
const privateKeyFound = "a private key";

/**
 * The private RSA key, 2,048 bits or more, of the public key that you gave at onboarding (Interface description 0.0.1, "Digital
 * signatures"). PEM (PKCS#8 or PKCS#1) as text or bytes, a `KeyObject` of `node:crypto`, or any of them with the passphrase of an
 * encrypted PEM. Only Node can decrypt a PEM. Lost or escaped line breaks don't matter.
 */
export type SigningKey =
  | string
  | Uint8Array
  | KeyObjectLike
  | { readonly key: string | Uint8Array | KeyObjectLike; readonly passphrase: string };

export { writePem } from "../platform/encodings.js";

/** A new key pair for signing, as PEM text, with the public key in the form that the service takes. */
export interface SigningKeyPair {
  /** PKCS#8 PEM, not encrypted. A secret that is never sent anywhere. */
  readonly privateKey: string;
  /** SubjectPublicKeyInfo PEM. */
  readonly publicKey: string;
  /** Base64 of `publicKey`'s PEM text, for the gateway's `rsaPublicKeyBase64`. */
  readonly publicKeyBase64: string;
}

/**
 * Reads the key once, so that no call has to.
 *
 * @throws {ConfigError} if it is anything but a private RSA key of at least 2048 bits that can be opened. The message says
 * what was found, never the key itself.
 */
export function parseSigningKey(input: SigningKey): PrivateKey {
  const key = readSigningKey(input);
  if (typeof key !== "string") return key;
  throw new ConfigError(keyRefusal("signingKey", key, expectedSigningKey));
}

/**
 * Reads a public key. PEM as text or bytes, Base64 of the PEM text (as in `rsaPublicKeyBase64`), Base64 of its DER form, or a `KeyObject`.
 *
 * @throws {InvalidArgumentError} if it is anything but a public RSA key of at least 2048 bits. A private key is refused too.
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
 * "Digital signatures"). PEM text that is in order is kept byte for byte, line ends included. Anything else is written as
 * SubjectPublicKeyInfo PEM.
 *
 * @throws {InvalidArgumentError} if it is anything but a public RSA key of at least 2048 bits. A private key is
 * refused, since it must never be sent.
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

/** Makes a new RSA key pair of 2048 bits. Only the signer should be able to read the private key. */
export async function generateSigningKeyPair(): Promise<SigningKeyPair> {
  const { pkcs8, spki } = await generateKeyPair(minBits);
  const publicKey = writePem("PUBLIC KEY", spki);
  return { privateKey: writePem("PRIVATE KEY", pkcs8), publicKey, publicKeyBase64: encodeText(publicKey) };
}

function encodeText(text: string): string {
  return encodeBase64(new TextEncoder().encode(text));
}

/** Reads a signing key. Returns the key, or what was found in its place and, after a full stop, what to do. */
export function readSigningKey(input: unknown): PrivateKey | string {
  if (!Object.hasOwn(Object(input), "key") || isKeyObject(input)) return readPrivateKey(input);
  const { key, passphrase } = input as { readonly key: unknown; readonly passphrase?: unknown };
  if (passphrase === undefined) return "a key whose passphrase is undefined. Is the environment variable set?";
  return typeof passphrase === "string" ? readPrivateKey(key, passphrase) : "a key whose passphrase is not a string";
}

/** Reads a public key. Returns the key, or what was found in its place and, after a full stop, what to do. */
export function readPublicKey(input: unknown): PublicKey | string {
  if (isKeyObject(input)) return refusalOf(input, "public") ?? importPublicKey(input);
  const text = keyText(input);
  if (text === undefined) return describeInput(input);
  if (isPem(text)) return readPublicPem(text);
  const bytes = decodeBase64(text);
  if (bytes === undefined) return describeText(text);
  const decoded = new TextDecoder().decode(bytes);
  return isPem(decoded) ? readPublicPem(decoded) : readPublicDer(bytes);
}

/** Why a text can't be sent as a public key. Undefined if it can. A service may store none, which is an empty text. */
export function publicKeyFault(text: string): string | undefined {
  const key = text === "" ? undefined : readPublicKey(text);
  if (key === privateKeyFound) return `${key}, which must never be sent`;
  if (isPem(text)) return "PEM text: give it to publicKeyToBase64 first";
  return typeof key === "string" ? key : undefined;
}

/** The text of a key, from a string or from a file's bytes. Undefined if there is none. */
function keyText(input: unknown): string | undefined {
  const text: unknown = input instanceof Uint8Array ? new TextDecoder().decode(input) : input;
  return typeof text === "string" && text.trim() !== "" ? text : undefined;
}

/** The sentence that refuses a key. */
export function keyRefusal(name: string, found: string, expected: string): string {
  return `${name} is ${found}${/[.?]$/.test(found) ? "" : `. Pass ${expected}.`}`;
}

function readPrivateKey(input: unknown, passphrase?: string): PrivateKey | string {
  if (isKeyObject(input)) return refusalOf(input, "private") ?? importPrivateKey(input);
  const text = keyText(input);
  if (text === undefined) return describeInput(input);
  if (!isPem(text)) return input instanceof Uint8Array ? "bytes of something that is not PEM" : describeText(text);
  const [block, ...others] = readPemBlocks(text).filter(({ label }) => label.endsWith("PRIVATE KEY"));
  // Nothing tells which of them is the registered one.
  if (others.length > 0) return "a PEM text of several private keys";
  if (block === undefined) return unreadablePem(text);
  const isEncrypted = block.pem.includes("ENCRYPTED");
  if (isEncrypted && !opensEncryptedKeys) {
    return "an encrypted key, which only Node can decrypt. Decrypt it first, for example with openssl pkcs8 -topk8 -nocrypt.";
  }
  if (isEncrypted && passphrase === undefined) return "an encrypted key. Pass { key, passphrase }.";
  const key = firstOf([block.pem, ...otherLabels(block)], (pem) => parsePrivatePem(pem, passphrase));
  if (key !== undefined) return refusalOf(key, "private") ?? importPrivateKey(key);
  return isEncrypted ? "an encrypted key that the passphrase doesn't open" : unreadablePem(text);
}

function readPublicPem(text: string): PublicKey | string {
  // A public key could be made of a private one or of a certificate, and the mistake would go unseen.
  if (text.includes("PRIVATE KEY-----")) return privateKeyFound;
  if (text.split("-----BEGIN").length > 2) return "a text of several PEM blocks";
  if (!text.includes("PUBLIC KEY-----")) return unreadablePem(text);
  const [block] = readPemBlocks(text);
  const key = block && firstOf([block.pem, ...otherLabels(block)], parsePublicPem);
  if (key === undefined) return "a PEM text whose public key can't be read";
  return refusalOf(key, "public") ?? importPublicKey(key);
}

function readPublicDer(bytes: Uint8Array): PublicKey | string {
  const key = firstOf([writePem("PUBLIC KEY", bytes), writePem("RSA PUBLIC KEY", bytes)], parsePublicPem);
  if (key !== undefined) return refusalOf(key, "public") ?? importPublicKey(key);
  const isPrivate = firstOf([writePem("PRIVATE KEY", bytes), writePem("RSA PRIVATE KEY", bytes)], parsePrivatePem);
  return isPrivate ? privateKeyFound : "Base64 of something that is not a public key";
}

/** Programs write PKCS#8 under the label of PKCS#1 and the other way around. */
function otherLabels({ label, pem }: PemBlock): string[] {
  const other = label.startsWith("RSA ") ? label.slice(4) : `RSA ${label}`;
  return /^(?:RSA )?(?:PRIVATE|PUBLIC) KEY$/.test(label) ? [pem.replaceAll(label, other)] : [];
}

/** The key of the first text that can be read. */
function firstOf(pems: readonly string[], parse: (pem: string) => KeyObjectLike): KeyObjectLike | undefined {
  for (const pem of pems) {
    try {
      return parse(pem);
    } catch {
      // The next text may be readable.
    }
  }
  return undefined;
}

/** Why a `KeyObject` does not fit. */
function refusalOf(key: KeyObjectLike, expected: "private" | "public"): string | undefined {
  if (key.type === "secret") return "a symmetric key";
  if (key.type !== expected) return `a ${key.type} key`;
  if (key.asymmetricKeyType !== "rsa") return nameOfType(key.asymmetricKeyType ?? "unnamed");
  const bits = key.asymmetricKeyDetails?.modulusLength ?? 0;
  return bits < minBits ? `an RSA key of ${bits} bits` : undefined;
}

/** Such as an EC key, and an RSA-PSS key, which can't make PKCS#1 v1.5 signatures. */
function nameOfType(keyType: string): string {
  return `${/^[aefhilmnorsx]/.test(keyType) ? "an" : "a"} ${keyType.toUpperCase()} key`;
}

/** Why a PEM text could not be read, for the mistakes that people make. */
function unreadablePem(text: string): string {
  const [, label = ""] = /-----BEGIN ([^-]+)-----/.exec(text) ?? [];
  if (label === "OPENSSH PRIVATE KEY") return "a private key in OpenSSH's own format";
  if (label.endsWith("PRIVATE KEY")) return "a PEM text whose private key can't be read";
  if (label === "CERTIFICATE") return "a certificate";
  return label.endsWith("PUBLIC KEY") ? "a public key" : "a PEM text without a key";
}

/** What is neither a text nor a key. */
function describeInput(input: unknown): string {
  const isUnset = input === undefined || typeof input === "string";
  const found = typeof input === "string" ? "an empty string" : describeValue(input);
  return isUnset ? `${found}. Is the environment variable set?` : found;
}

function describeText(text: string): string {
  if (looksLikePath(text)) return `a file path. Pass what the file contains: await readFile(path, "utf8").`;
  const bytes = decodeBase64(text);
  if (bytes === undefined) return "text that is not PEM";
  return isPem(new TextDecoder().decode(bytes)) ? "Base64 of a PEM text. Decode it first." : "text that is not PEM";
}

/** No key is so short. */
function looksLikePath(text: string): boolean {
  return text.length < 256 && /^[^\n]*(?:[\\/]|\.\w{1,4}$)/.test(text.trim());
}

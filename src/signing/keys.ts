import type { KeyObject } from "node:crypto";
import { promisify, types } from "node:util";
import { describeValue } from "../errors/describe-value.js";
import { ConfigError, InvalidArgumentError } from "../errors/errors.js";
import { nodeCrypto } from "../platform/node-crypto.js";

/**
 * The private RSA key (2048 bits or more) whose public key was given at onboarding (description: "Digital signatures", 4):
 * PEM text (PKCS#8 or PKCS#1), a `KeyObject`, or either with the passphrase that an encrypted PEM needs.
 */
export type SigningKey = string | KeyObject | { readonly key: string | KeyObject; readonly passphrase: string };

/** A new key pair for signing, as PEM text, with the public key in the form that the service wants it. */
export interface SigningKeyPair {
  /** PKCS#8 PEM, not encrypted. Secret: it is never sent anywhere. */
  readonly privateKey: string;
  /** SubjectPublicKeyInfo PEM. */
  readonly publicKey: string;
  /** Base64 of `publicKey`'s PEM text: the gateway's `rsaPublicKeyBase64`. */
  readonly publicKeyBase64: string;
}

const leastBits = 2048;

/**
 * Reads the key once, so that no call has to.
 *
 * @throws {ConfigError} when it is anything but a private RSA key of at least 2048 bits that can be opened. The sentence
 * says what was found, never the key itself.
 */
export function parseSigningKey(input: SigningKey): KeyObject {
  const key = readSigningKey(input);
  if (typeof key !== "string") return key;
  throw new ConfigError(`signingKey is ${key}; ${wantedSigningKey}`);
}

/**
 * Reads a public key: PEM text, Base64 of the PEM text (as in `rsaPublicKeyBase64`), Base64 of its DER form, or a `KeyObject`.
 *
 * @throws {InvalidArgumentError} when it is anything but a public RSA key of at least 2048 bits. A private key is refused too.
 */
export function parsePublicKey(input: string | KeyObject): KeyObject {
  const key = readPublicKey(input);
  if (typeof key !== "string") return key;
  throw new InvalidArgumentError(`publicKey is ${key}; ${wantedPublicKey}`);
}

/** The end of a sentence that refuses a signing key. */
export const wantedSigningKey = `wanted: a private RSA key of at least ${leastBits} bits, as PEM text, KeyObject or { key, passphrase }`;

/** The end of a sentence that refuses a public key. */
export const wantedPublicKey = `wanted: a public RSA key of at least ${leastBits} bits, as PEM text, Base64 of the PEM text or KeyObject`;

/**
 * The gateway's `rsaPublicKeyBase64`: Base64, on one line, of the public key's PEM text (description: "Digital signatures", 4).
 * PEM text is kept byte for byte, line ends included; a `KeyObject` is written as SubjectPublicKeyInfo PEM.
 *
 * @throws {InvalidArgumentError} when it is anything but a public RSA key of at least 2048 bits. A private key is refused:
 * it must never be sent.
 */
export function publicKeyToBase64(pem: string | KeyObject): string {
  const key = typeof pem === "string" && !isPem(pem) ? "text that is no PEM" : readPublicKey(pem);
  if (typeof key === "string") {
    const warning = key === privateKeyFound ? ", which must never be sent" : "";
    throw new InvalidArgumentError(
      `the public key is ${key}${warning}; wanted: a public RSA key of at least ${leastBits} bits, as PEM text or KeyObject`,
    );
  }
  return Buffer.from(typeof pem === "string" ? pem : key.export({ type: "spki", format: "pem" })).toString("base64");
}

/** Makes a new RSA key pair of 2048 bits. Store the private key where only the signer can read it. */
export async function generateSigningKeyPair(): Promise<SigningKeyPair> {
  const { privateKey, publicKey } = await promisify(nodeCrypto().generateKeyPair)("rsa", {
    modulusLength: leastBits,
    publicKeyEncoding: { type: "spki", format: "pem" },
    privateKeyEncoding: { type: "pkcs8", format: "pem" },
  });
  return { privateKey, publicKey, publicKeyBase64: publicKeyToBase64(publicKey) };
}

/** The key, or what was found in its place. */
export function readSigningKey(input: unknown): KeyObject | string {
  if (typeof input !== "object" || input === null || types.isKeyObject(input)) return readPrivateKey(input);
  if (!("key" in input)) return describeValue(input);
  if (!("passphrase" in input) || typeof input.passphrase !== "string") return "a key whose passphrase is no string";
  return readPrivateKey(input.key, input.passphrase);
}

/** The key, or what was found in its place. */
export function readPublicKey(input: unknown): KeyObject | string {
  if (types.isKeyObject(input)) return fitting(input, "public");
  if (typeof input !== "string" || input === "") return describeValue(input);
  if (isPem(input)) return readPublicPem(input);
  const base64 = input.replace(/\s+/g, "");
  if (!/^[A-Za-z\d+/]+={0,2}$/.test(base64)) return "text that is neither PEM nor Base64";
  const bytes = Buffer.from(base64, "base64");
  const text = bytes.toString("latin1");
  return isPem(text) ? readPublicPem(text) : readPublicDer(bytes);
}

const privateKeyFound = "a private key";

function readPublicPem(text: string): KeyObject | string {
  // Node would derive a public key from a private one or from a certificate, and nobody would see the mistake.
  if (text.includes("PRIVATE KEY-----")) return privateKeyFound;
  if (text.split("-----BEGIN").length > 2) return "a text of several PEM blocks";
  if (!text.includes("PUBLIC KEY-----")) return unreadablePem(text);
  try {
    return fitting(nodeCrypto().createPublicKey({ key: text, format: "pem" }), "public");
  } catch {
    return hasEscapedBreaks(text) ? escapedBreaksFound : "a PEM text whose public key cannot be read";
  }
}

function readPublicDer(bytes: Buffer): KeyObject | string {
  if (isPrivateDer(bytes)) return privateKeyFound;
  for (const type of ["spki", "pkcs1"] as const) {
    try {
      return fitting(nodeCrypto().createPublicKey({ key: bytes, format: "der", type }), "public");
    } catch {
      // It is of the other type, or of none.
    }
  }
  return "Base64 of something that is no public key";
}

function isPrivateDer(bytes: Buffer): boolean {
  return (["pkcs8", "pkcs1"] as const).some((type) => {
    try {
      return nodeCrypto().createPrivateKey({ key: bytes, format: "der", type }).type === "private";
    } catch {
      return false;
    }
  });
}

function readPrivateKey(input: unknown, passphrase?: string): KeyObject | string {
  if (types.isKeyObject(input)) return fitting(input, "private");
  if (typeof input !== "string" || input === "") return describeValue(input);
  if (!isPem(input)) return "text that is no PEM";
  try {
    const secret = passphrase === undefined ? {} : { passphrase };
    return fitting(nodeCrypto().createPrivateKey({ key: input, format: "pem", ...secret }), "private");
  } catch {
    if (!/BEGIN ENCRYPTED PRIVATE KEY|Proc-Type: 4,ENCRYPTED/.test(input)) return unreadablePem(input);
    return passphrase === undefined
      ? "an encrypted key without passphrase"
      : "an encrypted key that its passphrase does not open";
  }
}

function isPem(text: string): boolean {
  return text.includes("-----BEGIN ");
}

/** What becomes of a PEM text in many an environment variable or JSON file. */
function hasEscapedBreaks(text: string): boolean {
  return text.includes("\\n");
}

const escapedBreaksFound = "a PEM text whose line breaks are the two characters \\ and n";

/** Why a PEM text could not be read, for the mistakes that people make. */
function unreadablePem(text: string): string {
  if (hasEscapedBreaks(text)) return escapedBreaksFound;
  const label = /-----BEGIN ([A-Z\d ]+)-----/.exec(text)?.[1] ?? "";
  if (label === "OPENSSH PRIVATE KEY") return "a private key in OpenSSH's own format";
  if (label.endsWith("PRIVATE KEY")) return "a PEM text whose private key cannot be read";
  if (label === "CERTIFICATE") return "a certificate";
  return label.endsWith("PUBLIC KEY") ? "a public key" : "a PEM text that holds no key";
}

/** RSA-PSS keys are left out on purpose: they cannot make PKCS#1 v1.5 signatures. */
function fitting(key: KeyObject, wanted: "private" | "public"): KeyObject | string {
  if (key.type === "secret") return "a symmetric key";
  if (key.type !== wanted) return `a ${key.type} key`;
  const type = key.asymmetricKeyType ?? "unknown";
  if (type !== "rsa") return keyTypeNames.get(type) ?? `a key of the type ${type}`;
  const bits = key.asymmetricKeyDetails?.modulusLength ?? 0;
  return bits < leastBits ? `an RSA key of ${bits} bits` : key;
}

const keyTypeNames: ReadonlyMap<string, string> = new Map([
  ["rsa-pss", "an RSA-PSS key"],
  ["ec", "an EC key"],
  ["ed25519", "an Ed25519 key"],
  ["ed448", "an Ed448 key"],
  ["dsa", "a DSA key"],
]);

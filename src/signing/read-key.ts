import { decryptPem, importPrivateKey, importPublicKey, isKeyObject } from "#platform";
import { describeValue } from "../errors/describe-value.js";
import { decodeBase64 } from "../platform/base64.js";
import { readSequence } from "../platform/der.js";
import type { KeyObjectLike } from "../platform/key-object.js";
import type { PrivateKey, PublicKey } from "../platform/platform.js";
import {
  type OtherKeyDer,
  type RsaPrivateKeyDer,
  type RsaPublicKeyDer,
  readPkcs8,
  readRsaPrivateKey,
  readRsaPublicKey,
  readSpki,
} from "../platform/rsa-der.js";
import { isPem, type PemBlock, readPemBlocks } from "./pem.js";

/** The smallest RSA key that is taken. */
export const leastBits = 2048;

/** What a private key in the place of a public one is called. */
export const privateKeyFound = "a private key";

/** Reads a signing key: the key, or what was found in its place. */
export function readSigningKey(input: unknown): PrivateKey | string {
  if (typeof input !== "object" || input === null || isKeyObject(input)) return readPrivateKey(input);
  if (!("key" in input)) return describeValue(input);
  if (!("passphrase" in input) || typeof input.passphrase !== "string") return "a key whose passphrase is not a string";
  return readPrivateKey(input.key, input.passphrase);
}

/** Reads a public key: the key, or what was found in its place. */
export function readPublicKey(input: unknown): PublicKey | string {
  if (isKeyObject(input)) return refusalOf(input, "public") ?? importPublicKey(input);
  if (typeof input !== "string" || input === "") return describeValue(input);
  if (isPem(input)) return readPublicPem(input);
  const bytes = decodeBase64(input);
  if (bytes === undefined) return "text that is neither PEM nor Base64";
  const text = new TextDecoder().decode(bytes);
  return isPem(text) ? readPublicPem(text) : readPublicDer(bytes);
}

function readPrivateKey(input: unknown, passphrase?: string): PrivateKey | string {
  if (isKeyObject(input)) return refusalOf(input, "private") ?? importPrivateKey(input);
  if (typeof input !== "string" || input === "") return describeValue(input);
  if (!isPem(input)) return "text that is not PEM";
  const [block, ...others] = readPemBlocks(input).filter(({ label }) => label.endsWith("PRIVATE KEY"));
  // Nothing tells which of them is the registered one.
  if (others.length > 0) return "a PEM text of several private keys";
  if (block?.isEncrypted) return readEncryptedPem(input, passphrase);
  const key = readPrivateBlock(block);
  return importKey(key, importPrivateKey) ?? unreadablePem(input);
}

function readEncryptedPem(pem: string, passphrase: string | undefined): PrivateKey | string {
  if (decryptPem === undefined) {
    return "an encrypted key, which only Node can decrypt: decrypt it first, for instance with openssl pkcs8 -topk8 -nocrypt";
  }
  if (passphrase === undefined) return "an encrypted key without a passphrase";
  const key = decryptPem(pem, passphrase);
  if (key === "unsupported") {
    return "a key that is encrypted in a way that OpenSSL no longer opens: encrypt it anew, as openssl pkcs8 -topk8 does";
  }
  return key === undefined ? "an encrypted key that its passphrase does not open" : readPrivateKey(key);
}

function readPublicPem(text: string): PublicKey | string {
  // A public key could be made of a private one or of a certificate, and nobody would see the mistake.
  if (text.includes("PRIVATE KEY-----")) return privateKeyFound;
  if (text.split("-----BEGIN").length > 2) return "a text of several PEM blocks";
  if (!text.includes("PUBLIC KEY-----")) return unreadablePem(text);
  const [block] = readPemBlocks(text);
  const key = importKey(readPublicBlock(block), importPublicKey);
  return key ?? mistakeOf(text) ?? "a PEM text whose public key cannot be read";
}

function readPublicDer(bytes: Uint8Array): PublicKey | string {
  if ((readPkcs8(bytes) ?? readRsaPrivateKey(bytes)) !== undefined) return privateKeyFound;
  const key = readSpki(bytes) ?? readRsaPublicKey(bytes);
  return importKey(key, importPublicKey) ?? "Base64 of something that is not a public key";
}

function readPrivateBlock({ label, bytes }: Partial<PemBlock> = {}): RsaPrivateKeyDer | OtherKeyDer | undefined {
  if (bytes === undefined) return undefined;
  if (label === "PRIVATE KEY") return readPkcs8(bytes);
  if (label === "RSA PRIVATE KEY") return readRsaPrivateKey(bytes);
  if (label === "EC PRIVATE KEY" && readSequence(bytes)) return { keyType: "ec" };
  if (label === "DSA PRIVATE KEY" && readSequence(bytes)) return { keyType: "dsa" };
  return undefined;
}

function readPublicBlock({ label, bytes }: Partial<PemBlock> = {}): RsaPublicKeyDer | OtherKeyDer | undefined {
  if (bytes === undefined) return undefined;
  if (label === "PUBLIC KEY") return readSpki(bytes);
  return label === "RSA PUBLIC KEY" ? readRsaPublicKey(bytes) : undefined;
}

/** The key, why it does not fit, or undefined where it cannot be read. */
function importKey<Der extends RsaPublicKeyDer, Key>(
  der: Der | OtherKeyDer | undefined,
  importDer: (der: Der) => Key,
): Key | string | undefined {
  if (der === undefined) return undefined;
  if ("keyType" in der) return nameOfType(der.keyType);
  if (der.bits < leastBits) return nameOfSize(der.bits);
  try {
    return importDer(der);
  } catch {
    return undefined;
  }
}

/** Why a `KeyObject` does not fit. */
function refusalOf(key: KeyObjectLike, wanted: "private" | "public"): string | undefined {
  if (key.type === "secret") return "a symmetric key";
  if (key.type !== wanted) return `a ${key.type} key`;
  if (key.asymmetricKeyType !== "rsa") return nameOfType(key.asymmetricKeyType ?? "unknown");
  const bits = key.asymmetricKeyDetails?.modulusLength ?? 0;
  return bits < leastBits ? nameOfSize(bits) : undefined;
}

function nameOfType(keyType: string): string {
  return keyTypeNames.get(keyType) ?? `a key of the type ${keyType}`;
}

function nameOfSize(bits: number): string {
  return `an RSA key of ${bits} bits`;
}

/** RSA-PSS keys are left out on purpose: they cannot make PKCS#1 v1.5 signatures. */
const keyTypeNames: ReadonlyMap<string, string> = new Map([
  ["rsa-pss", "an RSA-PSS key"],
  ["rsa-multi-prime", "an RSA key of more than two primes"],
  ["ec", "an EC key"],
  ["ed25519", "an Ed25519 key"],
  ["ed448", "an Ed448 key"],
  ["dsa", "a DSA key"],
]);

/** What happens to PEM text on its way through editors, environment variables and templates, and OpenSSL can't read either. */
function mistakeOf(text: string): string | undefined {
  if (text.includes("\\n")) return "a PEM text whose line breaks are the two characters \\ and n";
  if (text.startsWith("\ufeff")) return "a PEM text with a byte order mark in front of it";
  return /^[ \t]+-----/m.test(text) ? "a PEM text whose lines are indented" : undefined;
}

/** Why a PEM text could not be read, for the mistakes that people make. */
function unreadablePem(text: string): string {
  const mistake = mistakeOf(text);
  if (mistake !== undefined) return mistake;
  const [, label = ""] = /-----BEGIN ([^-]+)-----/.exec(text) ?? [];
  if (label === "OPENSSH PRIVATE KEY") return "a private key in OpenSSH's own format";
  if (label.endsWith("PRIVATE KEY")) return "a PEM text whose private key cannot be read";
  if (label === "CERTIFICATE") return "a certificate";
  return label.endsWith("PUBLIC KEY") ? "a public key" : "a PEM text without a key";
}

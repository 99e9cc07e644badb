import {
  type DerElement,
  derTags,
  readElements,
  readOid,
  readPositiveInteger,
  readSequence,
  writeElement,
} from "./der.js";
import { encodeHex } from "./hex.js";

export interface RsaPublicKeyDer {
  /** Size of the modulus. */
  readonly bits: number;
  /** SubjectPublicKeyInfo, encoded anew, so that one key always has the same bytes. */
  readonly spki: Uint8Array;
}

export interface RsaPrivateKeyDer extends RsaPublicKeyDer {
  readonly pkcs8: Uint8Array;
}

/** A key that is not an RSA key of two primes. */
export interface OtherKeyDer {
  /** As `node:crypto` names it in `asymmetricKeyType`, or the object identifier of the algorithm. */
  readonly keyType: string;
}

/** Reads PKCS#8 (`PRIVATE KEY` in PEM); undefined where the bytes are something else. */
export function readPkcs8(der: Uint8Array): RsaPrivateKeyDer | OtherKeyDer | undefined {
  const [version, algorithm, key, ...rest] = readSequence(der) ?? [];
  const isKnownVersion = readVersion(version) === 0 || readVersion(version) === 1;
  if (!isKnownVersion || key?.tag !== derTags.octetString) return undefined;
  if (rest.some(({ tag }) => tag !== attributesTag && tag !== publicKeyTag)) return undefined;
  return readByAlgorithm(algorithm, () => readRsaPrivateKey(key.content));
}

/** Reads PKCS#1 (`RSA PRIVATE KEY` in PEM); undefined where the bytes are something else. */
export function readRsaPrivateKey(der: Uint8Array): RsaPrivateKeyDer | OtherKeyDer | undefined {
  const [version, ...numbers] = readSequence(der) ?? [];
  if (readVersion(version) === 1 && numbers.length === 9) return { keyType: "rsa-multi-prime" };
  if (readVersion(version) !== 0 || numbers.length !== 8) return undefined;
  if (numbers.some((number) => readPositiveInteger(number) === undefined)) return undefined;
  // Node signs with a key that was damaged here, and no signature of it fits.
  const [modulus, , , prime = 0n, otherPrime = 0n] = numbers.map(({ content }) => BigInt(`0x${encodeHex(content)}`));
  if (prime * otherPrime !== modulus) return undefined;
  const publicKey = toPublicKey(numbers.slice(0, 2));
  if (publicKey === undefined) return undefined;
  return {
    ...publicKey,
    pkcs8: writeElement(derTags.sequence, versionZero, rsaAlgorithm, writeElement(derTags.octetString, der)),
  };
}

/** Reads SubjectPublicKeyInfo (`PUBLIC KEY` in PEM); undefined where the bytes are something else. */
export function readSpki(der: Uint8Array): RsaPublicKeyDer | OtherKeyDer | undefined {
  const [algorithm, key, ...rest] = readSequence(der) ?? [];
  // A key is a whole number of bytes: the first byte counts the bits that are left over in the last one.
  if (key?.tag !== derTags.bitString || key.content[0] !== 0 || rest.length > 0) return undefined;
  return readByAlgorithm(algorithm, () => readRsaPublicKey(key.content.subarray(1)));
}

/** Reads PKCS#1 (`RSA PUBLIC KEY` in PEM); undefined where the bytes are something else. */
export function readRsaPublicKey(der: Uint8Array): RsaPublicKeyDer | undefined {
  return toPublicKey(readSequence(der) ?? []);
}

const attributesTag = 0xa0;
const publicKeyTag = 0x81;

const keyTypes: ReadonlyMap<string, string> = new Map([
  ["1.2.840.113549.1.1.1", "rsa"],
  ["1.2.840.113549.1.1.10", "rsa-pss"],
  ["1.2.840.10040.4.1", "dsa"],
  ["1.2.840.10045.2.1", "ec"],
  ["1.3.101.110", "x25519"],
  ["1.3.101.111", "x448"],
  ["1.3.101.112", "ed25519"],
  ["1.3.101.113", "ed448"],
]);

const versionZero = writeElement(derTags.integer, Uint8Array.of(0));

/** `rsaEncryption`, 1.2.840.113549.1.1.1, with its parameters, NULL. */
const rsaAlgorithm = writeElement(
  derTags.sequence,
  writeElement(derTags.oid, Uint8Array.of(0x2a, 0x86, 0x48, 0x86, 0xf7, 0x0d, 0x01, 0x01, 0x01)),
  writeElement(derTags.null),
);

function readByAlgorithm<T>(algorithm: DerElement | undefined, readRsa: () => T): T | OtherKeyDer | undefined {
  const [oid, parameters] = (algorithm?.tag === derTags.sequence && readElements(algorithm.content)) || [];
  const dotted = oid === undefined ? undefined : readOid(oid);
  if (dotted === undefined) return undefined;
  const keyType = keyTypes.get(dotted) ?? dotted;
  if (keyType !== "rsa") return { keyType };
  return parameters === undefined || parameters.tag === derTags.null ? readRsa() : undefined;
}

function readVersion(element: DerElement | undefined): number | undefined {
  return element?.tag === derTags.integer && element.content.length === 1 ? element.content[0] : undefined;
}

function toPublicKey(numbers: readonly DerElement[]): RsaPublicKeyDer | undefined {
  const [modulus, exponent] = numbers.map(readPositiveInteger);
  if (numbers.length !== 2 || modulus === undefined || exponent === undefined) return undefined;
  const key = writeElement(derTags.sequence, ...numbers.map(({ tag, content }) => writeElement(tag, content)));
  return {
    bits: modulus.length * 8 - Math.clz32((modulus[0] ?? 0) << 24),
    spki: writeElement(derTags.sequence, rsaAlgorithm, writeElement(derTags.bitString, Uint8Array.of(0), key)),
  };
}

import { constants, createHash, createPublicKey, type KeyObject, publicDecrypt } from "node:crypto";

/** What an RSA signature holds: how it was made, and a way to ask of what. */
export interface OpenedSignature {
  readonly scheme: SignatureScheme;
  /** Whether it was made of the text. */
  fits(text: Uint8Array): boolean;
  /** The hash that it holds, in hex; absent for PSS, which mixes it with a salt. */
  readonly digest?: string;
}

export interface SignatureScheme {
  readonly padding: "PKCS#1 v1.5" | "PSS" | "PKCS#1 v1.5 without the name of its hash";
  /** As OpenSSL names it: `sha256`. */
  readonly hash: string;
}

/** The hashes that libraries offer, as they are named inside of a PKCS#1 v1.5 signature (RFC 8017, 9.2). */
const hashes = [
  { name: "sha256", prefix: "3031300d060960864801650304020105000420" },
  { name: "sha1", prefix: "3021300906052b0e03021a05000414" },
  { name: "sha512", prefix: "3051300d060960864801650304020305000440" },
  { name: "sha384", prefix: "3041300d060960864801650304020205000430" },
  { name: "sha224", prefix: "302d300d06096086480165030402040500041c" },
  { name: "md5", prefix: "3020300c06082a864886f70d020505000410" },
];

/**
 * Undoes a signature with the public key that may have made it. Nothing where this key did not make it, or the bytes are no
 * signature at all; several where it can be one of several hashes, the likeliest first.
 *
 * @param spki SubjectPublicKeyInfo in DER.
 */
export function openSignature(spki: Uint8Array, signature: Uint8Array): readonly OpenedSignature[] {
  const key = createPublicKey({ key: Buffer.from(spki), format: "der", type: "spki" });
  const bits = key.asymmetricKeyDetails?.modulusLength ?? 0;
  const encoded = signature.length === Math.ceil(bits / 8) ? undo(key, signature) : undefined;
  if (encoded === undefined) return [];
  const pkcs1 = readPkcs1(encoded);
  return pkcs1 === undefined ? readPss(encoded, bits) : [pkcs1];
}

function undo(key: KeyObject, signature: Uint8Array): Buffer | undefined {
  try {
    return publicDecrypt({ key, padding: constants.RSA_NO_PADDING }, signature);
  } catch {
    // A number that is not below the modulus.
    return undefined;
  }
}

/** RFC 8017, 9.2: 00 01 FF … FF 00, and then the hash with its name in front. */
function readPkcs1(encoded: Buffer): OpenedSignature | undefined {
  const end = encoded.indexOf(0, 2);
  const isPadded = encoded[0] === 0 && encoded[1] === 1 && encoded.subarray(2, end).every((byte) => byte === 0xff);
  if (!isPadded) return undefined;
  const content = encoded.subarray(end + 1).toString("hex");
  for (const { name, prefix } of hashes) {
    const digest = content.slice(prefix.length);
    if (content.startsWith(prefix) && digest.length === 2 * digestBytes(name)) {
      return opened({ padding: "PKCS#1 v1.5", hash: name }, digest);
    }
  }
  const bare = hashes.find(({ name }) => 2 * digestBytes(name) === content.length);
  return bare && opened({ padding: "PKCS#1 v1.5 without the name of its hash", hash: bare.name }, content);
}

function opened(scheme: SignatureScheme, digest: string): OpenedSignature {
  return { scheme, digest, fits: (text) => createHash(scheme.hash).update(text).digest("hex") === digest };
}

/** RFC 8017, 9.1.2, with the mask made by the hash itself, as every library does where it is not told otherwise. */
function readPss(encoded: Buffer, bits: number): readonly OpenedSignature[] {
  if (encoded.at(-1) !== 0xbc) return [];
  // Of another hash the block is random: by chance it reads as one whose salt is as long as can be, with no zeros in front.
  const found = hashes.flatMap(({ name }) => readPssBy(name, encoded, bits) ?? []);
  return found.sort((one, other) => other.zeros - one.zeros);
}

interface OpenedPss extends OpenedSignature {
  /** In front of the salt; two or less, which can be chance, count as none. */
  readonly zeros: number;
}

function readPssBy(hash: string, encoded: Buffer, bits: number): OpenedPss | undefined {
  const length = digestBytes(hash);
  const masked = encoded.subarray(0, -length - 1);
  const mixed = encoded.subarray(-length - 1, -1);
  const mask = mgf1(hash, mixed, masked.length);
  const block = Buffer.from(masked.map((byte, index) => byte ^ (mask[index] ?? 0)));
  // The number is one bit shorter than the modulus.
  block[0] = (block[0] ?? 0) & (0xff >> (8 * encoded.length - bits + 1));
  const saltAt = block.findIndex((byte) => byte !== 0);
  if (block[saltAt] !== 1) return undefined;
  const salt = block.subarray(saltAt + 1);
  const fits = (text: Uint8Array) => {
    const digest = createHash(hash).update(text).digest();
    return createHash(hash).update(Buffer.alloc(8)).update(digest).update(salt).digest().equals(mixed);
  };
  return { scheme: { padding: "PSS", hash }, fits, zeros: saltAt > 2 ? saltAt : 0 };
}

function mgf1(hash: string, seed: Buffer, length: number): Buffer {
  const parts: Buffer[] = [];
  for (let counter = 0; counter * digestBytes(hash) < length; counter += 1) {
    const count = Buffer.alloc(4);
    count.writeUInt32BE(counter);
    parts.push(createHash(hash).update(seed).update(count).digest());
  }
  return Buffer.concat(parts).subarray(0, length);
}

function digestBytes(hash: string): number {
  return createHash(hash).digest().length;
}

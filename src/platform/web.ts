import { ConfigError } from "../core/errors.js";
import { decodeBase64, encodeHex } from "./encodings.js";
import type { KeyObjectLike, KeyPairDer, Platform, PrivateKey, PublicKey } from "./platform.js";

/** Some runtimes of the web, such as Cloudflare Workers, also have `node:crypto`. */
export function isKeyObject(value: unknown): value is KeyObjectLike {
  return Object.prototype.toString.call(value) === "[object KeyObject]";
}

export function parsePrivatePem(pem: string): KeyObjectLike {
  return parseKeyPem("private", pem);
}

export function parsePublicPem(pem: string): KeyObjectLike {
  return parseKeyPem("public", pem);
}

export const opensEncryptedKeys: Platform["opensEncryptedKeys"] = false;

export function importPrivateKey(key: KeyObjectLike): PrivateKey {
  const imported = importKey("pkcs8", key, "sign");
  return {
    sign: async (text) => new Uint8Array(await subtle().sign(algorithm, await imported, new Uint8Array(text))),
    spki: () => readRsaKey(encodeHex(key.export({ type: "pkcs8", format: "der" }))).spki,
  };
}

export function importPublicKey(key: KeyObjectLike): PublicKey {
  const imported = importKey("spki", key, "verify");
  return {
    verify: async (text, signature) =>
      subtle().verify(algorithm, await imported, new Uint8Array(signature), new Uint8Array(text)),
    spki: () => key.export({ type: "spki", format: "der" }),
  };
}

/** The platform's `fetch` opens its own connections. */
export const openAgent: Platform["openAgent"] = undefined;

/** Browsers show the response to the second request: `test/matrix` has Chromium make two payments of one. */
export const isBrowser: Platform["isBrowser"] = true;

export const mayCompile: Platform["mayCompile"] = false;

/** `fetch` takes no certificates. */
export const readTlsMaterial: Platform["readTlsMaterial"] = undefined;

/** `fetch` decodes responses. */
export const decompress: Platform["decompress"] = undefined;

/** Nothing can subscribe. */
export const openChannel: Platform["openChannel"] = undefined;

/** In a browser, pending work stops when the page closes. */
export const waitUntil: Platform["waitUntil"] = undefined;

export async function sha256(bytes: Uint8Array): Promise<Uint8Array> {
  return new Uint8Array(await subtle().digest("SHA-256", new Uint8Array(bytes)));
}

export async function generateKeyPair(bits: number): Promise<KeyPairDer> {
  const parameters = { ...algorithm, modulusLength: bits, publicExponent: Uint8Array.of(1, 0, 1) };
  const { privateKey, publicKey } = await subtle().generateKey(parameters, true, ["sign", "verify"]);
  const [pkcs8, spki] = await Promise.all([
    subtle().exportKey("pkcs8", privateKey),
    subtle().exportKey("spki", publicKey),
  ]);
  return { pkcs8: new Uint8Array(pkcs8), spki: new Uint8Array(spki) };
}

const algorithm = { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" } as const;

function subtle(): typeof globalThis.crypto.subtle {
  const subtle: typeof globalThis.crypto.subtle | undefined = globalThis.crypto?.subtle;
  if (subtle !== undefined) return subtle;
  throw new ConfigError("there is no WebCrypto (crypto.subtle) here; a page has it only when it was loaded over https");
}

function importKey(type: "pkcs8" | "spki", key: KeyObjectLike, usage: "sign" | "verify") {
  const der = new Uint8Array(key.export({ type, format: "der" }));
  const imported = subtle().importKey(type, der, algorithm, false, [usage]);
  // The first use of the key fails instead.
  imported.catch(() => {});
  return imported;
}

/** `rsaEncryption` (1.2.840.113549.1.1.1) with its parameters, NULL, in DER. */
const rsaAlgorithm = "300d06092a864886f70d0101010500";

/** The algorithms of other keys, in DER, named as `node:crypto` names them. */
const otherAlgorithms: readonly (readonly [oid: string, keyType: string])[] = [
  ["06072a8648ce3d0201", "ec"],
  ["06092a864886f70d01010a", "rsa-pss"],
  ["06032b6570", "ed25519"],
];

/**
 * Reads a key for WebCrypto, which takes PKCS#8 and SubjectPublicKeyInfo only, and doesn't tell the size of a key at once. Both have
 * a PKCS#1 key behind the name of its algorithm.
 *
 * @param pem one block with any label.
 * @throws if it isn't a key of that type.
 */
function parseKeyPem(type: "private" | "public", pem: string): KeyObjectLike {
  const [, label = "", content = ""] =
    /-----BEGIN ((?:RSA |EC )?(?:PRIVATE|PUBLIC) KEY)-----([^-]*)-----END/.exec(pem) ?? [];
  const der = decodeBase64(content) ?? new Uint8Array();
  const hex = encodeHex(der);
  const [, length = "", version] = /^30(82.{4}|81..|[0-7].)(0201)?/.exec(hex) ?? [];
  const bytes = Number.parseInt(length.slice(length.length > 2 ? 2 : 0), 16);
  const isPrivate = version !== undefined;
  const isWhole = hex.length === 2 + length.length + 2 * bytes;
  if (!isWhole || isPrivate !== (type === "private")) throw new Error("no such key");
  const other = label.startsWith("EC ") ? "ec" : otherAlgorithms.find(([oid]) => hex.slice(0, 72).includes(oid))?.[1];
  if (other !== undefined) return { type, asymmetricKeyType: other, export: () => der };
  const { isPkcs1, modulus, spki } = readRsaKey(hex);
  const pkcs8 = isPkcs1 ? toBytes(element("30", `020100${rsaAlgorithm}${element("04", hex)}`)) : der;
  return {
    type,
    asymmetricKeyType: "rsa",
    asymmetricKeyDetails: { modulusLength: BigInt(`0x${modulus}`).toString(2).length },
    export: () => (isPrivate ? pkcs8 : spki),
  };
}

/** Finds the PKCS#1 key in DER, in hex. It's a sequence of a version if it's private, the modulus, the exponent, and more. */
function readRsaKey(hex: string) {
  const found = /^((?:..)*?)30(?:82.{4}|81..)(?:020100)?(02(?:82(.{4})|81(..)))/.exec(hex);
  if (found === null) throw new Error("no RSA key");
  const [all, before, header = "", long, short = ""] = found;
  const modulusEnd = all.length + 2 * Number.parseInt(long ?? short, 16);
  const exponentEnd = modulusEnd + 4 + 2 * Number.parseInt(hex.slice(modulusEnd + 2, modulusEnd + 4), 16);
  const publicKey = element("30", hex.slice(all.length - header.length, exponentEnd));
  return {
    isPkcs1: before === "",
    modulus: hex.slice(all.length, modulusEnd),
    spki: toBytes(element("30", rsaAlgorithm + element("03", `00${publicKey}`))),
  };
}

/** Writes an element of DER, in hex. */
function element(tag: string, content: string): string {
  const length = (content.length / 2).toString(16);
  const bytes = length.padStart(length.length + (length.length % 2), "0");
  return tag + (content.length < 256 ? bytes : (0x80 + bytes.length / 2).toString(16) + bytes) + content;
}

function toBytes(hex: string): Uint8Array {
  return Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}

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

export const opensEncryptedKeys: boolean = false;

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
export const isBrowser: boolean = true;

export const mayCompile: boolean = false;

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
  const pkcs8 = await subtle().exportKey("pkcs8", privateKey);
  const spki = await subtle().exportKey("spki", publicKey);
  return { pkcs8: new Uint8Array(pkcs8), spki: new Uint8Array(spki) };
}

const algorithm = { name: "RSASSA-PKCS1-v1_5", hash: "SHA-256" } as const;

function subtle(): typeof globalThis.crypto.subtle {
  if (globalThis.crypto?.subtle !== undefined) return crypto.subtle;
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

/**
 * An RSA key in DER, in hex, alone (PKCS#1) or behind its algorithm. It's a sequence of a version if it's private, the modulus, the
 * exponent, and more. Each length takes two bytes, as in all keys of 2,048 bits and more.
 */
const rsaKey = new RegExp(
  `^3082(.{4})((?:020100)?${rsaAlgorithm}(?:0482.{4}|0382.{4}00)3082.{4})?(020100)?(0282(.{4}))`,
);

/**
 * Reads a key for WebCrypto, which takes PKCS#8 and SubjectPublicKeyInfo only, and doesn't tell the size of a key at once.
 *
 * @param pem one block.
 * @throws if it isn't an RSA key of that type.
 */
function parseKeyPem(type: "private" | "public", pem: string): KeyObjectLike {
  const [, content = ""] = /-----BEGIN (?:RSA )?(?:PRIVATE|PUBLIC) KEY-----([^-]*)-----END/.exec(pem) ?? [];
  const hex = encodeHex(decodeBase64(content) ?? new Uint8Array());
  const { isPrivate, isPkcs1, modulus, spki } = readRsaKey(hex);
  if (isPrivate !== (type === "private")) throw new Error("no such key");
  const pkcs8 = isPkcs1 ? element("30", `020100${rsaAlgorithm}${element("04", hex)}`) : hex;
  return {
    type,
    asymmetricKeyType: "rsa",
    asymmetricKeyDetails: { modulusLength: BigInt(`0x${modulus}`).toString(2).length },
    export: () => (isPrivate ? toBytes(pkcs8) : spki),
  };
}

function readRsaKey(hex: string) {
  const [all = "", length = "", wrapper, version, header = "", modulusLength = ""] = rsaKey.exec(hex) ?? [];
  if (hex.length !== 8 + 2 * Number.parseInt(length, 16)) throw new Error("no RSA key");
  const modulusEnd = all.length + 2 * Number.parseInt(modulusLength, 16);
  const exponentEnd = modulusEnd + 4 + 2 * Number.parseInt(hex.slice(modulusEnd + 2, modulusEnd + 4), 16);
  const publicKey = element("30", hex.slice(all.length - header.length, exponentEnd));
  return {
    isPrivate: version !== undefined,
    isPkcs1: wrapper === undefined,
    modulus: hex.slice(all.length, modulusEnd),
    spki: toBytes(element("30", rsaAlgorithm + element("03", `00${publicKey}`))),
  };
}

/** Writes a long element of DER, in hex. */
function element(tag: string, content: string): string {
  return `${tag}82${(content.length / 2).toString(16).padStart(4, "0")}${content}`;
}

function toBytes(hex: string): Uint8Array {
  return Uint8Array.from(hex.match(/../g) ?? [], (pair) => Number.parseInt(pair, 16));
}

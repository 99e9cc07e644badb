import { ConfigError, InvalidArgumentError } from "../core/errors.js";
import { decodeBase64, encodeHex, writePem } from "./encodings.js";
import type { KeyObjectLike, KeyPairDer, Platform, PrivateKey, PublicKey } from "./platform.js";

export { encodeBase64 } from "./encodings.js";

export function encodeUtf8(text: string): Uint8Array {
  return utf8.encode(text);
}

const utf8 = new TextEncoder();

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
  const pkcs8 = key.export({ type: "pkcs8", format: "der" });
  const imported = once(() => importKey("pkcs8", pkcs8, "sign"));
  return {
    sign: async (text) => new Uint8Array(await subtle().sign(algorithm, await imported(), text)),
    spki: () => parseKeyPem("private", writePem("PRIVATE KEY", pkcs8)).export({ type: "spki", format: "der" }),
  };
}

export function importPublicKey(key: KeyObjectLike): PublicKey {
  const spki = key.export({ type: "spki", format: "der" });
  const imported = once(() => importKey("spki", spki, "verify"));
  return {
    verify: async (text, signature) => subtle().verify(algorithm, await imported(), signature, text),
    spki: () => spki,
  };
}

/** The platform's `fetch` opens its own connections. */
export const openAgent: Platform["openAgent"] = undefined;

/** Browsers do, and show the second response: `test/matrix` has Chromium make two payments of one. */
export const mayResendPosts: Platform["mayResendPosts"] = true;

export const sendsUserAgent: Platform["sendsUserAgent"] = false;

export const mayCompile: Platform["mayCompile"] = false;

/** `fetch` takes no certificates. */
export const readTlsMaterial: Platform["readTlsMaterial"] = undefined;

/** `fetch` decodes responses. */
export const decompression: Platform["decompression"] = undefined;

/** There are no subscribers. */
export const openChannel: Platform["openChannel"] = undefined;

/** In a browser, pending work stops when the page closes. */
export const waitUntil: Platform["waitUntil"] = undefined;

export async function sha256(bytes: Uint8Array): Promise<Uint8Array> {
  return new Uint8Array(await subtle().digest("SHA-256", bytes));
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

async function importKey(format: "pkcs8" | "spki", der: Uint8Array, usage: "sign" | "verify") {
  try {
    return await subtle().importKey(format, der, algorithm, false, [usage]);
  } catch (cause) {
    if (cause instanceof ConfigError) throw cause;
    throw new InvalidArgumentError("WebCrypto does not take this RSA key", { cause });
  }
}

/** Importing is asynchronous here, so it happens with the first use. */
function once<T>(work: () => Promise<T>): () => Promise<T> {
  let result: Promise<T> | undefined;
  return () => {
    result ??= work();
    return result;
  };
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
 * Reads a key for WebCrypto, which imports keys asynchronously and knows PKCS#8 and SubjectPublicKeyInfo only. Both have a PKCS#1 key
 * behind the name of its algorithm.
 *
 * @param pem one block, whose label doesn't matter.
 * @throws if it isn't a key of that type.
 */
function parseKeyPem(type: "private" | "public", pem: string): KeyObjectLike {
  const [, label = "", content = ""] =
    /-----BEGIN ((?:RSA |EC )?(?:PRIVATE|PUBLIC) KEY)-----([^-]*)-----END/.exec(pem) ?? [];
  const hex = encodeHex(decodeBase64(content) ?? new Uint8Array());
  const [body, after] = read("30", hex);
  // A private key begins with its version.
  if (after !== "" || body.startsWith("0201") !== (type === "private")) throw new Error("no such key");
  const other = label.startsWith("EC ") ? "ec" : otherAlgorithms.find(([oid]) => body.slice(0, 64).includes(oid))?.[1];
  if (other !== undefined) return { type, asymmetricKeyType: other, export: () => toBytes(hex) };
  const start = body.slice(0, 36).indexOf(rsaAlgorithm);
  const pkcs1 = start < 0 ? hex : read(type === "private" ? "04" : "03", body.slice(start + 30))[0].replace(/^00/, "");
  const [modulus, afterModulus] = read("02", read("30", pkcs1)[0].replace(/^020100/, ""));
  const publicKey = element("30", element("02", modulus) + element("02", read("02", afterModulus)[0]));
  const forms = {
    spki: element("30", rsaAlgorithm + element("03", `00${publicKey}`)),
    pkcs8: start < 0 ? element("30", `020100${rsaAlgorithm}${element("04", pkcs1)}`) : hex,
  };
  return {
    type,
    asymmetricKeyType: "rsa",
    asymmetricKeyDetails: { modulusLength: BigInt(`0x${modulus}`).toString(2).length },
    export: (options) => toBytes(forms[options.type]),
  };
}

/** Takes an element of DER, in hex, from the beginning of others. */
function read(tag: string, hex: string): [content: string, rest: string] {
  const [header = "", length = ""] = new RegExp(`^${tag}(82.{4}|81..|[0-7].)`).exec(hex) ?? [];
  const end = header.length + 2 * Number.parseInt(length.slice(length.length > 2 ? 2 : 0), 16);
  if (!(end <= hex.length)) throw new Error("no such element");
  return [hex.slice(header.length, end), hex.slice(end)];
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

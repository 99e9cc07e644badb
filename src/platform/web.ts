import { ConfigError, InvalidArgumentError } from "../core/errors.js";
import { writePem } from "./encodings.js";
import type { KeyObjectLike, KeyPairDer, Platform, PrivateKey, PublicKey } from "./platform.js";
import { parseKeyPem } from "./rsa-key.js";

export { encodeBase64 } from "./encodings.js";

export function encodeUtf8(text: string): Uint8Array {
  return utf8.encode(text);
}

const utf8 = new TextEncoder();

/** Some runtimes of the web, such as Cloudflare Workers, also have `node:crypto`. */
export function isKeyObject(value: unknown): value is KeyObjectLike {
  return Object.prototype.toString.call(value) === "[object KeyObject]";
}

export function parsePrivateKey(pem: string): KeyObjectLike {
  return parseKeyPem("private", pem);
}

export function parsePublicKey(pem: string): KeyObjectLike {
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
export const sendsTwice: Platform["sendsTwice"] = true;

export const sendsUserAgent: Platform["sendsUserAgent"] = false;

export const mayCompile: Platform["mayCompile"] = false;

/** `fetch` takes no certificates. */
export const readTlsMaterial: Platform["readTlsMaterial"] = undefined;

/** `fetch` decodes by itself. */
export const decompression: Platform["decompression"] = undefined;

/** There is nobody to subscribe. */
export const openChannel: Platform["openChannel"] = undefined;

/** A page's work ends with the page. */
export const outliveRequest: Platform["outliveRequest"] = undefined;

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

import { ConfigError, InvalidArgumentError } from "../core/errors.js";
import type { KeyObjectLike, KeyPairDer, Platform, PrivateKey, PublicKey } from "./platform.js";
import { type OtherKeyDer, type RsaPrivateKeyDer, type RsaPublicKeyDer, readPkcs8, readSpki } from "./rsa-der.js";

export { encodeBase64 } from "./base64.js";

export function encodeUtf8(text: string): Uint8Array {
  return utf8.encode(text);
}

const utf8 = new TextEncoder();

/** Some runtimes of the web, such as Cloudflare Workers, also have `node:crypto`. */
export function isKeyObject(value: unknown): value is KeyObjectLike {
  return Object.prototype.toString.call(value) === "[object KeyObject]";
}

export function importPrivateKey(source: RsaPrivateKeyDer | KeyObjectLike): PrivateKey {
  const der = "pkcs8" in source ? source : assertRsa(readPkcs8(source.export({ type: "pkcs8", format: "der" })));
  const imported = once(() => importKey("pkcs8", der.pkcs8, "sign"));
  return {
    async sign(text) {
      const key = await imported();
      return new Uint8Array(await subtle().sign(algorithm, key, text));
    },
    spki: () => der.spki,
  };
}

export function importPublicKey(source: RsaPublicKeyDer | KeyObjectLike): PublicKey {
  const der = "spki" in source ? source : assertRsa(readSpki(source.export({ type: "spki", format: "der" })));
  const imported = once(() => importKey("spki", der.spki, "verify"));
  return {
    async verify(text, signature) {
      const key = await imported();
      return subtle().verify(algorithm, key, signature, text);
    },
    spki: () => der.spki,
  };
}

/** WebCrypto opens no encrypted PEM. */
export const decryptPem: Platform["decryptPem"] = undefined;

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

function assertRsa<T extends RsaPublicKeyDer>(key: T | OtherKeyDer | undefined): T {
  if (key === undefined || "keyType" in key) throw new InvalidArgumentError("the KeyObject is not an RSA key");
  return key;
}

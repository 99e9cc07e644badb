import type { KeyObject } from "node:crypto";
import type { Channel, KeyObjectLike, KeyPairDer, Platform, PrivateKey, PublicKey } from "./platform.js";
import type { RsaPrivateKeyDer, RsaPublicKeyDer } from "./rsa-der.js";

export { readTlsMaterial } from "./tls-material.js";
export { openAgent } from "./undici-agent.js";
export { decompression } from "./zlib-decompression.js";

export const sendsTwice: Platform["sendsTwice"] = false;

export const sendsUserAgent: Platform["sendsUserAgent"] = true;

export const mayCompile: Platform["mayCompile"] = true;

/** Work goes on until it is done. */
export const outliveRequest: Platform["outliveRequest"] = undefined;

export function isKeyObject(value: unknown): value is KeyObjectLike {
  return nodeUtil().types.isKeyObject(value);
}

export function importPrivateKey(source: RsaPrivateKeyDer | KeyObjectLike): PrivateKey {
  const key = "pkcs8" in source ? nodeCrypto().createPrivateKey(derInput(source.pkcs8, "pkcs8")) : toKeyObject(source);
  return {
    sign: (text) => signInPool(key, text),
    spki: () => ("pkcs8" in source ? source.spki : spkiOf(nodeCrypto().createPublicKey(key))),
  };
}

export function importPublicKey(source: RsaPublicKeyDer | KeyObjectLike): PublicKey {
  const key = "spki" in source ? nodeCrypto().createPublicKey(derInput(source.spki, "spki")) : toKeyObject(source);
  return {
    // For an RSA key, PKCS#1 v1.5 is the padding where none is named.
    verify: async (text, signature) => nodeCrypto().verify("sha256", text, key, signature),
    spki: () => ("spki" in source ? source.spki : spkiOf(key)),
  };
}

export function decryptPem(pem: string, passphrase: string): KeyObjectLike | "unsupported" | undefined {
  try {
    return nodeCrypto().createPrivateKey({ key: pem, format: "pem", passphrase });
  } catch (error) {
    return Object(error).code === "ERR_OSSL_EVP_UNSUPPORTED" ? "unsupported" : undefined;
  }
}

/** `TextEncoder` takes three times as long, since it asks for memory of its own each time. */
export function encodeUtf8(text: string): Uint8Array {
  return Buffer.from(text);
}

/** `btoa` of Node 20 takes ten times as long, and leaves 20 kB behind for each signature. */
export function encodeBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("base64");
}

export async function sha256(bytes: Uint8Array): Promise<Uint8Array> {
  return nodeCrypto().createHash("sha256").update(bytes).digest();
}

export async function generateKeyPair(bits: number): Promise<KeyPairDer> {
  const { privateKey, publicKey } = await nodeUtil().promisify(nodeCrypto().generateKeyPair)("rsa", {
    modulusLength: bits,
    publicKeyEncoding: { type: "spki", format: "der" },
    privateKeyEncoding: { type: "pkcs8", format: "der" },
  });
  return { pkcs8: privateKey, spki: publicKey };
}

export function openChannel(name: string): Channel {
  return process.getBuiltinModule("node:diagnostics_channel").channel(name);
}

/** Loaded with the first key or hash: it would be a fifth of the time that the import of the client takes. */
function nodeCrypto(): typeof import("node:crypto") {
  return process.getBuiltinModule("node:crypto");
}

/** Loaded with the first key: an `import` of it makes Node load what it exports late, the stream of `stderr` included, which takes 5 ms. */
function nodeUtil(): typeof import("node:util") {
  return process.getBuiltinModule("node:util");
}

function derInput<T extends "pkcs8" | "spki">(der: Uint8Array, type: T): { key: Buffer; format: "der"; type: T } {
  return { key: Buffer.from(der.buffer, der.byteOffset, der.byteLength), format: "der", type };
}

/** Only what `isKeyObject` accepts gets here. */
function toKeyObject(key: KeyObjectLike): KeyObject {
  return key as KeyObject;
}

function spkiOf(key: KeyObject): Uint8Array {
  return key.export({ type: "spki", format: "der" });
}

/**
 * Signs in the thread pool. For an RSA key, PKCS#1 v1.5 is the padding where none is named; naming it would cost Node 24 another 20 µs a
 * signature, since it then takes the key out of an object.
 */
function signInPool(key: KeyObject, text: Uint8Array): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    nodeCrypto().sign("sha256", text, key, (error, signature) => {
      if (error) reject(error);
      else resolve(signature);
    });
  });
}

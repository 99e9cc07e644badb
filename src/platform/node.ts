import type { KeyObject } from "node:crypto";
import type { Channel, KeyObjectLike, KeyPairDer, Platform, PrivateKey, PublicKey } from "./platform.js";

export { readTlsMaterial } from "./tls-material.js";
export { openAgent } from "./undici-agent.js";

export const mayResendPosts: Platform["mayResendPosts"] = false;

export const sendsUserAgent: Platform["sendsUserAgent"] = true;

export const mayCompile: Platform["mayCompile"] = true;

/** In the thread pool. */
export const decompression: Platform["decompression"] = {
  accepted: "gzip, br",
  decode(body, coding, maxBytes) {
    // Loaded with the first body that is encoded.
    const { gunzip, brotliDecompress } = process.getBuiltinModule("node:zlib");
    const decompress: Decompress | undefined =
      coding === "gzip" ? gunzip : coding === "br" ? brotliDecompress : undefined;
    return new Promise((resolve) => {
      if (body.length === 0) resolve(body);
      else if (decompress === undefined) resolve("encoded");
      else
        decompress(body, { maxOutputLength: maxBytes }, (error, bytes) =>
          resolve(error === null ? bytes : decompressionProblem(error)),
        );
    });
  },
};

type Decompress = (
  body: Uint8Array,
  options: { readonly maxOutputLength: number },
  done: (error: NodeJS.ErrnoException | null, bytes: Uint8Array) => void,
) => void;

function decompressionProblem({ code }: NodeJS.ErrnoException): "cut-short" | "encoded" | "too-large" {
  if (code === "ERR_BUFFER_TOO_LARGE") return "too-large";
  return code === "Z_BUF_ERROR" ? "cut-short" : "encoded";
}

/** Work continues until it is done. */
export const waitUntil: Platform["waitUntil"] = undefined;

export function isKeyObject(value: unknown): value is KeyObjectLike {
  return nodeUtil().types.isKeyObject(value);
}

export function parsePrivatePem(pem: string, passphrase?: string): KeyObjectLike {
  return nodeCrypto().createPrivateKey({ key: pem, format: "pem", ...(passphrase !== undefined && { passphrase }) });
}

export function parsePublicPem(pem: string): KeyObjectLike {
  return nodeCrypto().createPublicKey(pem);
}

export const opensEncryptedKeys: Platform["opensEncryptedKeys"] = true;

export function importPrivateKey(key: KeyObjectLike): PrivateKey {
  const own = toKeyObject(key);
  let spki: Uint8Array | undefined;
  return {
    sign: (text) => signInPool(own, text),
    spki() {
      spki ??= spkiOf(nodeCrypto().createPublicKey(own));
      return spki;
    },
  };
}

export function importPublicKey(key: KeyObjectLike): PublicKey {
  const own = toKeyObject(key);
  return {
    // For an RSA key, PKCS#1 v1.5 is the padding if none is named.
    verify: async (text, signature) => nodeCrypto().verify("sha256", text, own, signature),
    spki: () => spkiOf(own),
  };
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

/** Only what `isKeyObject` accepts, or was made here, gets here. */
function toKeyObject(key: KeyObjectLike): KeyObject {
  return key as KeyObject;
}

function spkiOf(key: KeyObject): Uint8Array {
  return key.export({ type: "spki", format: "der" });
}

/**
 * Signs in the thread pool. For an RSA key, PKCS#1 v1.5 is the padding if none is named; naming it would cost Node 24 another 20 µs a
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

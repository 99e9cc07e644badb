import type { KeyObject } from "node:crypto";
import type { Channel, DecompressionProblem, KeyObjectLike, Platform, PrivateKey, PublicKey } from "./platform.js";

export { readTlsMaterial } from "./tls-material.js";
export { openAgent } from "./undici-agent.js";
export { generateKeyPair, isKeyObject } from "./web.js";

export const isBrowser: boolean = false;

export const mayCompile: boolean = true;

/** In the thread pool. */
export const decompress: Platform["decompress"] = async (body, coding, maxOutputLength) => {
  if (body.length === 0) return body;
  // Loaded with the first body that is encoded.
  const { gunzip, brotliDecompress } = process.getBuiltinModule("node:zlib");
  const decode = coding === "gzip" ? gunzip : coding === "br" ? (brotliDecompress as typeof gunzip) : undefined;
  if (decode === undefined) return "encoded";
  return new Promise((resolve) => {
    decode(body, { maxOutputLength }, (error, bytes) =>
      resolve(
        error === null ? bytes : (decompressionProblems[(error as NodeJS.ErrnoException).code ?? ""] ?? "encoded"),
      ),
    );
  });
};

const decompressionProblems: Readonly<Record<string, DecompressionProblem>> = {
  ERR_BUFFER_TOO_LARGE: "too-large",
  Z_BUF_ERROR: "cut-short",
};

/** Work continues until it is done. */
export const waitUntil: Platform["waitUntil"] = undefined;

export function parsePrivatePem(pem: string, passphrase?: string): KeyObjectLike {
  return nodeCrypto().createPrivateKey({ key: pem, format: "pem", ...(passphrase !== undefined && { passphrase }) });
}

export function parsePublicPem(pem: string): KeyObjectLike {
  return nodeCrypto().createPublicKey(pem);
}

export const opensEncryptedKeys: boolean = true;

export function importPrivateKey(given: KeyObjectLike): PrivateKey {
  const key = given as KeyObject;
  const isShort = (key.asymmetricKeyDetails?.modulusLength ?? 0) <= 2048;
  let isBusy = false;
  return {
    // For an RSA key, PKCS#1 v1.5 is the padding if none is named.
    async sign(text) {
      if (isBusy || !isShort) {
        return process.getBuiltinModule("node:util").promisify(nodeCrypto().sign)("sha256", text, key);
      }
      // The way to the thread pool costs a tenth more. The event loop has time for one signature in each turn.
      isBusy = true;
      setImmediate(() => {
        isBusy = false;
      });
      return nodeCrypto().sign("sha256", text, key);
    },
    spki: () => spkiOf(nodeCrypto().createPublicKey(key)),
  };
}

export function importPublicKey(given: KeyObjectLike): PublicKey {
  const key = given as KeyObject;
  return {
    verify: async (text, signature) => nodeCrypto().verify("sha256", text, key, signature),
    spki: () => spkiOf(key),
  };
}

export async function sha256(bytes: Uint8Array): Promise<Uint8Array> {
  return nodeCrypto().createHash("sha256").update(bytes).digest();
}

export function openChannel(name: string): Channel {
  return process.getBuiltinModule("node:diagnostics_channel").channel(name);
}

/** Loaded with the first key or hash, since it would take a fifth of the client's import. */
function nodeCrypto(): typeof import("node:crypto") {
  return process.getBuiltinModule("node:crypto");
}

function spkiOf(key: KeyObject): Uint8Array {
  return key.export({ type: "spki", format: "der" });
}

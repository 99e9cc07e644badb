import type { Platform } from "./platform.js";

export {
  decompression,
  encodeBase64,
  encodeUtf8,
  generateKeyPair,
  importPrivateKey,
  importPublicKey,
  isKeyObject,
  mayCompile,
  openAgent,
  openChannel,
  opensEncryptedKeys,
  parsePrivateKey,
  parsePublicKey,
  readTlsMaterial,
  sha256,
} from "./web.js";

export const sendsTwice: Platform["sendsTwice"] = false;

export const sendsUserAgent: Platform["sendsUserAgent"] = true;

/** Where the runtime has no such module, or no request is being handled, nothing can be done. */
export const outliveRequest: Platform["outliveRequest"] = (work) => {
  import("cloudflare:workers").then(({ waitUntil }) => waitUntil(work)).catch(() => {});
};

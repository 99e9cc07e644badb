import type { Platform } from "./platform.js";

export {
  decompress,
  generateKeyPair,
  importPrivateKey,
  importPublicKey,
  isKeyObject,
  mayCompile,
  openAgent,
  openChannel,
  opensEncryptedKeys,
  parsePrivatePem,
  parsePublicPem,
  readTlsMaterial,
  sha256,
} from "./web.js";

export const isBrowser: boolean = false;

/** If the runtime has no such module, or no request is being handled, nothing can be done. */
export const waitUntil: Platform["waitUntil"] = (work) => {
  import("cloudflare:workers").then(({ waitUntil }) => waitUntil(work)).catch(() => {});
};

import type { KeyObject } from "node:crypto";
import { nodeCrypto } from "../platform/node-crypto.js";

/**
 * The signature itself. For an RSA key, PKCS#1 v1.5 is the padding where none is named; naming it would cost Node 24 another
 * 20 µs a signature, since it then takes the key out of an object.
 */
export function signNow(key: KeyObject, text: Uint8Array): Buffer {
  return nodeCrypto().sign("sha256", text, key);
}

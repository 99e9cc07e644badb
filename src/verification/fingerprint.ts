import { createHash } from "node:crypto";
import { parsePublicKey } from "../signing/keys.js";

/** SHA-256 of a key's DER form in hex, as `openssl pkey -pubin -outform DER | openssl dgst -sha256` has it. */
export function fingerprintOf(publicKey: string): string {
  return sha256Hex(parsePublicKey(publicKey).spki());
}

export function sha256Hex(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

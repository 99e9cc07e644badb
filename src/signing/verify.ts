import type { KeyObject } from "node:crypto";
import { describeValue } from "../errors/describe-value.js";
import { InvalidArgumentError } from "../errors/errors.js";
import { nodeCrypto } from "../platform/node-crypto.js";
import { parsePublicKey } from "./keys.js";
import { signedText } from "./signed-text.js";

/** A signed request as it was received or stored. */
export interface SignatureToVerify {
  /** Public RSA key: PEM, Base64 of the PEM (as in `rsaPublicKeyBase64`), or a `KeyObject`, which saves parsing it each time. */
  readonly publicKey: string | KeyObject;
  /** Request path without host, base path included, as it was on the wire. */
  readonly path: string;
  /** The raw body, byte for byte. */
  readonly body: string | Uint8Array;
  /** The `X-SERVICE-SIGNATURE-BASE64` header: padded Base64 on one line. */
  readonly signature: string;
}

/**
 * Tells whether `signature` was made for exactly this path and body by the private key of `publicKey`: RSA with SHA-256,
 * PKCS#1 v1.5 (description: "Digital signatures").
 *
 * A signature that is not Base64 on one line is `false`, like any other that does not fit. The signed text has nothing
 * between path and body, so `"/a"` + `"bc"` and `"/ab"` + `"c"` have the same signature: take the path from the request,
 * never from whoever brings the signature.
 *
 * @throws {InvalidArgumentError} when an argument has the wrong type, `path` does not start with `/`, or `publicKey` is no
 * public RSA key of at least 2048 bits.
 */
export function verifySignature({ publicKey, path, body, signature }: SignatureToVerify): boolean {
  if (typeof signature !== "string") {
    throw new InvalidArgumentError(`signature is ${describeValue(signature)}; wanted: Base64 on one line, in a string`);
  }
  const bytes = decodeBase64(signature);
  const key = parsePublicKey(publicKey);
  const text = signedText(path, body);
  return bytes !== undefined && verifyText(key, text, bytes);
}

/** The check itself, on a key that has been parsed. */
export function verifyText(key: KeyObject, text: Uint8Array, signature: Uint8Array): boolean {
  // For an RSA key, PKCS#1 v1.5 is the padding where none is named.
  return nodeCrypto().verify("sha256", text, key, signature);
}

/** The bytes of a canonical Base64 text, or nothing: Node itself skips what is no Base64 and so takes many texts for one. */
export function decodeBase64(text: string): Buffer | undefined {
  const bytes = Buffer.from(text, "base64");
  return bytes.length > 0 && bytes.toString("base64") === text ? bytes : undefined;
}

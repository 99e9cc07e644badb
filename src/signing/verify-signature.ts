import { encodeBase64 } from "#platform";
import { describeValue } from "../core/describe.js";
import { InvalidArgumentError } from "../core/errors.js";
import { decodeBase64 } from "../platform/encodings.js";
import type { KeyObjectLike } from "../platform/platform.js";
import { parsePublicKey } from "./keys.js";
import { signedText } from "./signed-text.js";

/** A signed request as it was received or stored. */
export interface SignatureToVerify {
  /** Public RSA key: PEM, Base64 of the PEM (as in `rsaPublicKeyBase64`), or a `KeyObject`, which saves parsing it each time. */
  readonly publicKey: string | Uint8Array | KeyObjectLike;
  /** Request path without host, base path included, as it was on the wire. */
  readonly path: string;
  /** The raw body, byte for byte. */
  readonly body: string | Uint8Array;
  /** The `X-SERVICE-SIGNATURE-BASE64` header: padded Base64 on one line. */
  readonly signature: string;
}

/**
 * Tells whether `signature` was made for exactly this path and body by the private key of `publicKey`: RSA with SHA-256,
 * PKCS#1 v1.5 (Interface description 0.0.1, "Digital signatures"). Await it: in a condition a promise is always true.
 *
 * A signature that is not Base64 on one line is `false`, like any other that does not fit. The signed text has nothing
 * between path and body, so `"/a"` + `"bc"` and `"/ab"` + `"c"` have the same signature: take the path from the request,
 * never from the party that brings the signature.
 *
 * @throws {InvalidArgumentError} when an argument has the wrong type, `path` does not start with `/`, or `publicKey` is not a
 * public RSA key of at least 2048 bits.
 */
export async function verifySignature({ publicKey, path, body, signature }: SignatureToVerify): Promise<boolean> {
  if (typeof signature !== "string") {
    throw new InvalidArgumentError(
      `signature must be Base64 on one line, in a string; got ${describeValue(signature)}`,
    );
  }
  const bytes = decodeSignature(signature);
  const key = parsePublicKey(publicKey);
  const text = signedText(path, body);
  return bytes !== undefined && key.verify(text, bytes);
}

/** The bytes of a signature; undefined where the text is not the one Base64 that stands for them: padded, on one line. */
export function decodeSignature(text: string): Uint8Array | undefined {
  const bytes = decodeBase64(text);
  return bytes !== undefined && encodeBase64(bytes) === text ? bytes : undefined;
}

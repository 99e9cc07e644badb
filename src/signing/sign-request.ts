import { encodeBase64 } from "#platform";
import { InvalidArgumentError } from "../core/errors.js";
import { expectedSigningKey, type SigningKey } from "./keys.js";
import { keyRefusal, readSigningKey } from "./read-key.js";
import { signedText } from "./signed-text.js";

/** A request to be signed. */
export interface RequestToSign {
  /** The signing key. Given as a `KeyObject` it is not parsed on every call. */
  readonly key: SigningKey;
  /** Request path without host, base path included, exactly as it will be on the wire. */
  readonly path: string;
  /** The raw body, exactly as it will be sent: serialise once, sign that, send that. */
  readonly body: string | Uint8Array;
}

/**
 * Signs a request: the value of `X-SERVICE-SIGNATURE-BASE64`, RSA with SHA-256 and PKCS#1 v1.5 over path and body, Base64 on
 * one line (Interface description 0.0.1, "Digital signatures"). The client does this by itself; this is for requests that are
 * sent otherwise.
 *
 * The same key, path and body always give the same signature.
 *
 * @throws {InvalidArgumentError} when `path` is a full URL or does not start with `/`, `body` is neither text nor bytes,
 * or `key` is not a private RSA key of at least 2048 bits.
 */
export async function signRequest({ key, path, body }: RequestToSign): Promise<string> {
  const privateKey = readSigningKey(key);
  if (typeof privateKey === "string") throw new InvalidArgumentError(keyRefusal("key", privateKey, expectedSigningKey));
  return encodeBase64(await privateKey.sign(signedText(path, body)));
}

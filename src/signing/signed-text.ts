import { encodeUtf8 } from "#platform";
import { describeValue } from "../core/describe.js";
import { InvalidArgumentError } from "../core/errors.js";

/**
 * The bytes that are signed: the path without host, immediately followed by the raw body (Interface description 0.0.1,
 * "Digital signatures"). Nothing stands between the two.
 */
export function signedText(path: string, body: string | Uint8Array): Uint8Array {
  assertPath(path);
  if (typeof body !== "string" && !(body instanceof Uint8Array)) {
    throw new InvalidArgumentError(
      `body must be the raw body as it is sent, a string or a Uint8Array; got ${describeValue(body)}`,
    );
  }
  if (typeof body === "string") return encodeUtf8(path + body);
  const pathBytes = encodeUtf8(path);
  const text = new Uint8Array(pathBytes.length + body.length);
  text.set(pathBytes);
  text.set(body, pathBytes.length);
  return text;
}

function assertPath(path: unknown): void {
  if (typeof path === "string" && path.startsWith("/")) return;
  const isUrl = typeof path === "string" && /^[a-z][a-z\d+.-]*:\/\//i.test(path);
  const got = isUrl ? "a full URL" : typeof path === "string" ? "a path without it" : describeValue(path);
  throw new InvalidArgumentError(
    `path must be the request path without host, base path included, such as "/payments", and begin with a slash; got ${got}`,
  );
}

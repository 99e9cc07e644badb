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
      `body is ${describeValue(body)}; wanted: the raw body as it is sent, a string or a Uint8Array`,
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
  const wanted = 'wanted: the request path without host, base path included, such as "/payments"';
  if (typeof path !== "string") throw new InvalidArgumentError(`path is ${describeValue(path)}; ${wanted}`);
  if (/^[a-z][a-z\d+.-]*:\/\//i.test(path)) throw new InvalidArgumentError(`path is a full URL; ${wanted}`);
  if (!path.startsWith("/")) throw new InvalidArgumentError(`path does not start with "/"; ${wanted}`);
}

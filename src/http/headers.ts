import { counted, looksLikeName } from "../core/describe.js";
import { InvalidArgumentError } from "../core/errors.js";
import { isPlainObject } from "../core/parse.js";

/**
 * A caller's own headers, in lower case.
 *
 * @param refuse makes the error of a message.
 * @throws {InvalidArgumentError} on names or values that HTTP does not allow, and on headers that the client sets itself.
 */
export function checkHeaders(
  headers: Readonly<Record<string, string>> | undefined,
  refuse: (message: string) => Error = (message) => new InvalidArgumentError(message),
): Readonly<Record<string, string>> {
  if (headers === undefined) return noHeaders;
  if (!isPlainObject(headers)) throw refuse('headers must be an object such as { "x-name": "value" }');
  const checked = new Map<string, string>();
  for (const [name, value] of Object.entries(headers)) {
    const lower = name.toLowerCase();
    if (!/^[\w!#$%&'*+.^`|~-]+$/.test(name)) {
      throw refuse(`headers: a name of ${counted(name.length, "character")} is not a valid header name`);
    }
    if (ownHeaders.has(lower)) {
      throw refuse(`headers: ${lower} is set by the client itself and can't be replaced`);
    }
    if (typeof value !== "string" || !/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) {
      const shown = looksLikeName(lower.replaceAll("-", "_"))
        ? lower
        : `a name of ${counted(name.length, "character")}`;
      throw refuse(`headers: the value of ${shown} is not a text of Latin-1 characters on one line`);
    }
    if (checked.has(lower)) throw refuse(`headers: ${lower} is there twice, in another case: give one of them`);
    checked.set(lower, value);
  }
  return Object.fromEntries(checked);
}

/**
 * `cache-control` of a list, since a cached list is out of date. The caller's own directives can't undo it: the more restrictive one
 * counts (RFC 9111, section 4.2.1).
 */
export function withNoCache(own: string | undefined): string {
  return own === undefined || own.trim() === "" ? "no-cache" : `no-cache, ${own}`;
}

const noHeaders: Readonly<Record<string, string>> = {};

const ownHeaders: ReadonlySet<string> = new Set([
  "accept",
  "accept-encoding",
  "authorization",
  "connection",
  "content-encoding",
  "content-length",
  "content-type",
  "expect",
  "host",
  "keep-alive",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
  "x-service-signature-base64",
]);

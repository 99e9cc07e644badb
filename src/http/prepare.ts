import { encodeUtf8 } from "#platform";
import type { CallInput, SignedRequest } from "../api/api-client.js";
import type { AnyOperation, Operation, RawOperation } from "../api/operation.js";
import { encodeQuery, fillPath } from "../api/path.js";
import { counted, looksLikeName } from "../core/describe.js";
import { InvalidArgumentError } from "../core/errors.js";
import { isPlainObject } from "../core/parse.js";
import { checkBody, checkQuery, type QueryValues } from "./input.js";
import { checkRawBody, checkRawQuery } from "./raw.js";

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

export interface RequestSettings {
  /** Path of the base URL, without a slash at its end; may be empty. */
  readonly basePath: string;
  /** Whether the query is part of the signed text. */
  readonly signQuery: boolean;
}

export interface PreparedRequest {
  /** Path and query as they stand in the request line. */
  readonly path: string;
  /** The part of it that is signed. */
  readonly signedPath: string;
  /** The raw body, as text and as the bytes that are signed and sent. */
  readonly text: string;
  readonly body: Uint8Array | undefined;
  /** Present if the request was signed earlier. */
  readonly signature?: string;
  /** Body and query, by field. For a raw request, all that it was given. */
  readonly values: Readonly<Record<string, unknown>>;
}

/**
 * Checks an input without I/O. Every mistake in it is found here.
 *
 * @throws {InvalidArgumentError} that names what is wrong.
 */
export function checkRequest(
  { basePath }: RequestSettings,
  operation: AnyOperation,
  ids: readonly string[],
  input: CallInput<unknown>,
) {
  const pathname = basePath + fillPath(operation.path, operation.name, ids);
  const { query, body, values } =
    operation.verb === "request" ? rawContent(operation, ids, input) : describedContent(operation, input);
  return { pathname, path: pathname + encodeQuery(operation.name, { ...input.paging, ...query }), body, values };
}

interface Content {
  readonly query: QueryValues | undefined;
  readonly body: unknown;
  readonly values: PreparedRequest["values"];
}

function describedContent(operation: Operation, input: CallInput<unknown>): Content {
  const query = input.query === undefined ? undefined : checkQuery(operation, input.query);
  const body = operation.body && checkBody(operation, operation.body, input.body, input.isFromService);
  return { query, body, values: query === undefined && body !== undefined ? body : { ...query, ...body } };
}

function rawContent(operation: RawOperation, ids: readonly string[], { query, body }: CallInput<unknown>): Content {
  checkRawBody(operation, body);
  const checked = checkRawQuery(operation, query);
  return { query: checked, body, values: { ids, query: checked, body } };
}

/** Makes a request of a row and its input. @throws {InvalidArgumentError} as `checkRequest` does. */
export function prepareRequest(
  settings: RequestSettings,
  operation: AnyOperation,
  ids: readonly string[],
  input: CallInput<unknown>,
): PreparedRequest {
  const { pathname, path, body, values } = checkRequest(settings, operation, ids, input);
  // A `toJSON` can return undefined.
  const text = (body === undefined ? undefined : JSON.stringify(body)) ?? "";
  return {
    path,
    signedPath: settings.signQuery ? path : pathname,
    text,
    body: text === "" ? undefined : encodeUtf8(text),
    values,
  };
}

/** A request that was signed earlier, maybe in another process: the same bytes and the same signature. */
export function presignedRequest({ signQuery }: RequestSettings, request: SignedRequest): PreparedRequest {
  const { path, body: text, signature } = request;
  return {
    path,
    signedPath: signQuery ? path : (path.split("?")[0] ?? path),
    text,
    body: encodeUtf8(text),
    signature,
    values: JSON.parse(text) as Readonly<Record<string, unknown>>,
  };
}

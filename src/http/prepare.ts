import type { CallInput, SignedRequest } from "../api/api-client.js";
import type { AnyOperation } from "../api/operation.js";
import { encodeQuery, fillPath } from "../api/path.js";
import { looksLikeName } from "../core/describe.js";
import { InvalidArgumentError } from "../core/errors.js";
import { encodeUtf8 } from "../platform/encodings.js";
import { checkBody, checkQuery } from "./input.js";

/**
 * A caller's own headers, with names in lower case.
 *
 * @param refuse makes the error of a message.
 * @throws {InvalidArgumentError} on names or values that HTTP does not allow, and on headers that the client sets itself.
 */
export function checkHeaders(
  headers: Readonly<Record<string, string>>,
  refuse: (message: string) => Error = (message) => new InvalidArgumentError(message),
): Readonly<Record<string, string>> {
  const checked: Record<string, string> = {};
  for (const [name, value] of Object.entries(headers)) {
    const lower = name.toLowerCase();
    const shown = looksLikeName(lower.replaceAll("-", "_")) ? lower : "a header";
    if (ownHeaders.has(lower)) throw refuse(`headers: ${lower} is set by the client itself and can't be replaced`);
    if (!/^[\w!#-\x27*+.^\x60|~-]+$/.test(name)) throw refuse(`headers: ${shown} has a name that HTTP doesn't allow`);
    if (typeof value !== "string" || !/^[\t\x20-\x7e\x80-\xff]*$/.test(value)) {
      throw refuse(`headers: the value of ${shown} is not a text of Latin-1 characters on one line`);
    }
    checked[lower] = value;
  }
  return checked;
}

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
  /** Path of the base URL, without a slash at its end. It may be empty. */
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
 * Makes a request of an operation and its input, without I/O.
 *
 * @throws {InvalidArgumentError} that names what is wrong.
 */
export function prepareRequest(
  { basePath, signQuery }: RequestSettings,
  operation: AnyOperation,
  ids: readonly string[],
  input: CallInput<unknown>,
): PreparedRequest {
  const pathname = basePath + fillPath(operation.path, operation.name, ids);
  const { query, body, values } = checkContent(operation, ids, input);
  const path = pathname + encodeQuery(operation.name, { ...input.paging, ...query });
  // A `toJSON` can return undefined.
  const text = (body === undefined ? undefined : JSON.stringify(body)) ?? "";
  const bytes = text === "" ? undefined : encodeUtf8(text);
  return { path, signedPath: signQuery ? path : pathname, text, body: bytes, values };
}

function checkContent(operation: AnyOperation, ids: readonly string[], input: CallInput<unknown>) {
  if (operation.verb === "request") {
    const { query, body } = input;
    return { query, body, values: { ids, query, body } };
  }
  const query = input.query === undefined ? undefined : checkQuery(operation, input.query);
  const body = operation.body && checkBody(operation, operation.body, input.body, input.isFromService);
  return { query, body, values: query === undefined && body !== undefined ? body : { ...query, ...body } };
}

/** A request that was signed earlier, maybe in another process. It has the same bytes and the same signature. */
export function presignedRequest({ signQuery }: RequestSettings, request: SignedRequest): PreparedRequest {
  const { path, body: text, signature } = request;
  const signedPath = signQuery ? path : (path.split("?")[0] ?? path);
  return { path, signedPath, text, body: encodeUtf8(text), signature, values: JSON.parse(text) };
}

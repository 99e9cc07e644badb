import { encodeUtf8 } from "#platform";
import type { CallInput, SignedRequest } from "../api/api-client.js";
import type { AnyOperation, Operation, RawOperation } from "../api/operation.js";
import { encodeQuery, fillPath } from "../api/path.js";
import { checkBody, checkQuery, type QueryValues } from "./check-input.js";
import { checkRawBody, checkRawQuery } from "./check-raw-input.js";

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

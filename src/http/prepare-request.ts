import type { CallInput, SignedRequest } from "../api/api-client.js";
import type { Operation } from "../api/operation.js";
import { encodeQuery, fillPath } from "../api/path.js";
import { InvalidArgumentError } from "../errors/errors.js";
import { holdsPrivateKey, shortestPrivateKey } from "../signing/private-key-text.js";
import { checkBody, checkQuery } from "./check-input.js";

/** How the client makes requests out of rows. */
export interface RequestSettings {
  /** Path of the base URL, without a slash at its end; may be empty. */
  readonly basePath: string;
  /** Whether the query belongs to the signed text. */
  readonly signQuery: boolean;
}

/** A request whose input is in order. */
export interface PreparedRequest {
  /** Path and query as they stand in the request line. */
  readonly path: string;
  /** The part of it that is signed. */
  readonly signedPath: string;
  /** The raw body, as text and as the bytes that are signed and sent. */
  readonly text: string;
  readonly body: Uint8Array | undefined;
  /** Present where the request was signed earlier. */
  readonly signature?: string;
  /** What body and query hold, by field. */
  readonly values: Readonly<Record<string, unknown>>;
}

/**
 * Checks an input. No I/O: whatever can be wrong with it is found here.
 *
 * @throws {InvalidArgumentError} that names what is wrong.
 */
export function checkRequest(
  { basePath }: RequestSettings,
  operation: Operation,
  ids: readonly string[],
  input: CallInput<unknown>,
) {
  assertNoKey(operation, ids);
  const pathname = basePath + fillPath(operation.path, operation.name, ids);
  const query = input.query === undefined ? undefined : checkQuery(operation, input.query);
  const path = pathname + encodeQuery(operation.name, { ...input.paging, ...query });
  const fields = operation.body === undefined ? undefined : checkBody(operation, operation.body, input.body);
  return { pathname, path, query, fields };
}

/** Makes a request of a row and its input. @throws {InvalidArgumentError} as `checkRequest` does. */
export function prepareRequest(
  settings: RequestSettings,
  operation: Operation,
  ids: readonly string[],
  input: CallInput<unknown>,
): PreparedRequest {
  const { pathname, path, query, fields } = checkRequest(settings, operation, ids, input);
  const text = fields === undefined ? "" : serialise(operation.name, fields);
  return {
    path,
    signedPath: settings.signQuery ? path : pathname,
    text,
    body: fields === undefined ? undefined : utf8.encode(text),
    values: { ...query, ...fields },
  };
}

/** A request that was signed earlier, maybe in another process: the same bytes and the same signature. */
export function presignedRequest({ signQuery }: RequestSettings, request: SignedRequest): PreparedRequest {
  const { path, body: text, signature } = request;
  return {
    path,
    signedPath: signQuery ? path : (path.split("?")[0] ?? path),
    text,
    body: utf8.encode(text),
    signature,
    values: JSON.parse(text) as Readonly<Record<string, unknown>>,
  };
}

const utf8 = new TextEncoder();

function assertNoKey({ name, path }: Operation, ids: readonly string[]): void {
  for (const [index, id] of ids.entries()) {
    if (typeof id !== "string" || id.length < shortestPrivateKey || !holdsPrivateKey(id)) continue;
    throw new InvalidArgumentError(`${name}: ${path.parameters[index]} is a private key, which must never be sent`);
  }
}

function serialise(operation: string, fields: Record<string, unknown>): string {
  try {
    return JSON.stringify(fields);
  } catch {
    throw new InvalidArgumentError(`${operation}: the body is too long for a string of JavaScript`);
  }
}

import type { RawOperation } from "../api/operation.js";
import { parsePathTemplate } from "../api/path.js";
import type { ParametersOf } from "../api/resource.js";
import { InvalidArgumentError } from "../core/errors.js";
import { type CheckTable, isBoolean, isPlainObject, parseOptions } from "../core/parse.js";
import { expectedJson, isJson } from "./prepare.js";

/**
 * A call of a path that the description doesn't have, with an id for each parameter of the path. If the compiler doesn't know the
 * path, the ids are counted at run time.
 */
export type RawRequest<Path extends string = `/${string}`> = {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /**
   * Below the base URL, with a parameter in braces for each id: `/refunds/{refundId}/approve`. Events and errors show this template,
   * so it must not contain ids.
   */
  readonly path: Path;
  /** Strings, numbers, and booleans. `undefined` is left out. */
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>> | undefined;
  /** Any JSON value. A GET has no body. */
  readonly body?: unknown;
  /**
   * Whether it carries `X-SERVICE-SIGNATURE-BASE64`, as payments do.
   *
   * @defaultValue `false`
   */
  readonly signed?: boolean | undefined;
  /**
   * Whether sending it twice has the same effect as sending it once. Then it's retried like an update.
   *
   * @defaultValue `false`, and `true` for a GET
   */
  readonly idempotent?: boolean | undefined;
} & (`/${string}` extends NoInfer<Path>
  ? { readonly ids?: readonly string[] | undefined }
  : ParametersOf<NoInfer<Path>> extends []
    ? { readonly ids?: readonly [] | undefined }
    : { readonly ids: Readonly<ParametersOf<NoInfer<Path>>> });

/**
 * Copies the request. Its body is serialized before the call's first `await`.
 *
 * @throws {InvalidArgumentError} that names the part at fault.
 */
export function parseRawRequest(given: RawRequest) {
  const refuse = (message: string) => new InvalidArgumentError(`request: ${message}`);
  // The table has checked the types.
  const parts = parseOptions(requestParts, given, "the request", refuse) as unknown as RawRequest;
  const { method, path, ids = [], query = {}, body, signed = false, idempotent = false } = parts;
  if (method === "GET" && body !== undefined) throw refuse("a GET has no body; give what it asks for as query");
  const name = `${method} ${path}`;
  const operation: RawOperation = {
    name,
    verb: "request",
    method,
    path: parsePathTemplate(path),
    record: {},
    query: "open",
    idempotent,
  };
  return { operation, ids: [...ids], input: { query, body }, signed };
}

const methods: readonly unknown[] = ["GET", "POST", "PUT", "PATCH", "DELETE"];

/** Words and parameters between slashes. */
const template = /^(\/([a-z][\w.~-]*|\{\w+\}))+$/i;

const requestParts: CheckTable<RawRequest> = {
  method: { accepts: (value) => methods.includes(value), isRequired: true, expected: `one of ${methods.join(", ")}` },
  path: {
    accepts: (value) => typeof value === "string" && template.test(value),
    isRequired: true,
    expected:
      "words and {parameters} after slashes, such as /refunds/{refundId}, with ids in ids and the query in query",
  },
  ids: { accepts: Array.isArray, expected: "an array of ids" },
  query: { accepts: isPlainObject, expected: "an object of query parameters" },
  body: { accepts: (value) => isJson(value), expected: expectedJson },
  signed: { accepts: isBoolean, expected: "true or false" },
  idempotent: { accepts: isBoolean, expected: "true or false" },
};

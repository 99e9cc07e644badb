import type { CallMethod, RawOperation } from "../api/operation.js";
import { parsePathTemplate } from "../api/path.js";
import type { ParametersOf } from "../api/resource.js";
import { describeValue, looksLikeName } from "../core/describe.js";
import { InvalidArgumentError } from "../core/errors.js";
import { type CheckTable, isBoolean, isPlainObject, parseOptions } from "../core/parse.js";
import { jsonFault, type QueryValues } from "./input.js";

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
  /** Whether it carries `X-SERVICE-SIGNATURE-BASE64`, as payments do. Default: false. */
  readonly signed?: boolean | undefined;
  /** Whether sending it twice has the same effect as sending it once. Then it's retried like an update. Default: false, and true for a GET. */
  readonly idempotent?: boolean | undefined;
} & (`/${string}` extends NoInfer<Path>
  ? { readonly ids?: readonly string[] | undefined }
  : ParametersOf<NoInfer<Path>> extends []
    ? { readonly ids?: readonly [] | undefined }
    : { readonly ids: Readonly<ParametersOf<NoInfer<Path>>> });

/** A copy of the request. Its body is serialized before the call's first `await`. */
export interface ParsedRequest {
  readonly operation: RawOperation;
  readonly ids: readonly string[];
  readonly input: { readonly query: object; readonly body: unknown };
  readonly signed: boolean;
}

/** @throws {InvalidArgumentError} that names the part at fault. */
export function parseRawRequest(given: RawRequest): ParsedRequest {
  const refuse = (message: string) => new InvalidArgumentError(`request: ${message}`);
  // The table has checked the types.
  const parts = parseOptions(requestParts, given, "the request", refuse) as unknown as RawRequest;
  const { method, path, query, body, signed = false, idempotent = false } = parts;
  assertTemplate(path);
  const template = parsePathTemplate(path);
  const operation: RawOperation = {
    name: `${method} ${path}`,
    verb: "request",
    method,
    path: template,
    idempotent,
  };
  const ids = [...(parts.ids ?? [])];
  if (ids.length !== template.parameters.length) {
    throw refuse(`ids must be as many as the path has parameters (${template.parameters.length}); got ${ids.length}`);
  }
  return { operation, ids, input: { query: { ...query }, body }, signed };
}

const methods: readonly unknown[] = ["GET", "POST", "PUT", "PATCH", "DELETE"] satisfies CallMethod[];

const requestParts: CheckTable<RawRequest> = {
  method: { accepts: (value) => methods.includes(value), isRequired: true, wanted: `one of ${methods.join(", ")}` },
  path: {
    accepts: (value) => typeof value === "string",
    isRequired: true,
    wanted: "a path such as /refunds/{refundId}",
  },
  ids: { accepts: Array.isArray, wanted: "an array of ids" },
  query: { accepts: isPlainObject, wanted: "an object of query parameters" },
  body: { accepts: () => true, wanted: "a JSON value" },
  signed: { accepts: isBoolean, wanted: "true or false" },
  idempotent: { accepts: isBoolean, wanted: "true or false" },
};

const parameter = /^\{[a-z]\w{0,39}\}$/i;
/** Templates are shown, and three digits or more may be an account number. */
const word = /^(?!.*\d{3})[a-z][\w.~-]{0,63}$/i;

/** @throws {InvalidArgumentError} if the text isn't a template, or contains a value. */
function assertTemplate(path: string): void {
  const [before, ...segments] = path.split("/");
  const wrong = segments.findIndex((segment) => !parameter.test(segment) && !word.test(segment));
  if (before === "" && wrong < 0) return;
  const where = before === "" ? `segment ${wrong + 1} is neither` : "it does not begin with a slash";
  throw new InvalidArgumentError(
    `request: path must be words and {parameters} between slashes, with ids in ids and the query in query; ${where}`,
  );
}

/** @throws {InvalidArgumentError} that names the parameter at fault, never with a value. */
export function checkRawQuery({ name }: RawOperation, given: object = {}): QueryValues {
  const values = Object.entries(given).filter(([, value]) => value !== undefined);
  for (const [parameter, value] of values) {
    if (typeof value === "string" || typeof value === "boolean" || Number.isFinite(value)) continue;
    const shown = looksLikeName(parameter) ? JSON.stringify(parameter) : "a parameter";
    throw new InvalidArgumentError(
      `${name}: ${shown} in the query must be a string, a number, or a boolean; got ${describeValue(value)}`,
    );
  }
  return Object.fromEntries(values.map(([parameter, value]) => [parameter, String(value)]));
}

/** @throws {InvalidArgumentError} that says what JSON can't carry, and in which place. */
export function checkRawBody({ name, method }: RawOperation, body: unknown): void {
  if (body === undefined) return;
  if (method === "GET") throw new InvalidArgumentError(`${name}: a GET has no body; give what it asks for as query`);
  const fault = jsonFault("the body", body);
  if (fault !== undefined) throw new InvalidArgumentError(`${name}: ${fault}`);
}

/** Every text and every number in a value, at any depth, as text; and the names that may be values too, such as account numbers. */
export function textsIn(value: unknown): string[] {
  if (typeof value === "string") return [value];
  if (typeof value === "number") return [String(value)];
  if (Array.isArray(value)) return value.flatMap(textsIn);
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, item]) =>
    looksLikeName(name) ? textsIn(item) : [name, ...textsIn(item)],
  );
}

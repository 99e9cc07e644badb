import type { CallMethod, RawOperation } from "../api/operation.js";
import { parsePathTemplate } from "../api/path.js";
import type { ParametersOf } from "../api/resource.js";
import { InvalidArgumentError } from "../core/errors.js";
import { type CheckTable, isBoolean, isPlainObject, parseOptions } from "../core/parse.js";

/**
 * A call of a path that the description does not have: with an id for each parameter of the path. Of a path that is not known when the
 * code is compiled, the ids are counted when it runs.
 */
export type RawRequest<Path extends string = `/${string}`> = {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  /**
   * Below the base URL, with a parameter in braces for each id: `/refunds/{refundId}/approve`. Events and errors show the path as it
   * stands here, so what looks like an id is refused outside of braces.
   */
  readonly path: Path;
  /** Strings, numbers and booleans; what is undefined is left out. */
  readonly query?: Readonly<Record<string, string | number | boolean | undefined>> | undefined;
  /** Any JSON value. A GET has none. */
  readonly body?: unknown;
  /** Whether it carries `X-SERVICE-SIGNATURE-BASE64`, as payments do. Default: false. */
  readonly signed?: boolean | undefined;
  /** Sending it twice does what sending it once does, so that it is retried like an update. Of a GET that is clear. Default: false. */
  readonly idempotent?: boolean | undefined;
} & (`/${string}` extends NoInfer<Path>
  ? { readonly ids?: readonly string[] | undefined }
  : ParametersOf<NoInfer<Path>> extends []
    ? { readonly ids?: readonly [] | undefined }
    : { readonly ids: Readonly<ParametersOf<NoInfer<Path>>> });

/** A request of which nothing is the caller's any more but its body, which is copied before the call's first `await`. */
export interface ParsedRequest {
  readonly operation: RawOperation;
  readonly ids: readonly string[];
  readonly input: { readonly query: object; readonly body: unknown };
  readonly signed: boolean;
}

/** @throws {InvalidArgumentError} that names the part at fault. */
export function parseRawRequest(given: RawRequest): ParsedRequest {
  const refuse = (message: string) => new InvalidArgumentError(`request: ${message}`);
  // Each part is of its type when the table has accepted it.
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
    throw refuse(`ids must be as many as the path has parameters (${template.parameters.length}); found ${ids.length}`);
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
/** No text of three digits or more: it may be an account number, and a template is shown. */
const word = /^(?!.*\d{3})[a-z][\w.~-]{0,63}$/i;

/** @throws {InvalidArgumentError} when the text is no template, or a value stands in it. */
function assertTemplate(path: string): void {
  const [before, ...segments] = path.split("/");
  const wrong = segments.findIndex((segment) => !parameter.test(segment) && !word.test(segment));
  if (before === "" && wrong < 0) return;
  const where = before === "" ? `segment ${wrong + 1} is neither` : "it does not begin with a slash";
  throw new InvalidArgumentError(
    `request: path must be words and {parameters} between slashes, with ids in ids and the query in query; ${where}`,
  );
}

import type { CallInput, SignedRequest } from "../api/api-client.js";
import { type FieldKind, type FieldTable, fieldKinds, kindOfField } from "../api/fields.js";
import type { AnyOperation, BodyFields, Operation, RawOperation } from "../api/operation.js";
import { encodeQuery, fillPath, parsePathTemplate } from "../api/path.js";
import type { ParametersOf } from "../api/resource.js";
import { describeName, describeValue, looksLikeName, nearest } from "../core/describe.js";
import { InvalidArgumentError } from "../core/errors.js";
import { type CheckTable, isBoolean, isPlainObject, parseOptions } from "../core/parse.js";
import { amountOf, decimalNumeral, isExactNumber } from "../money.js";
import { publicKeyFault } from "../signing/keys.js";

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
    if (ownHeaders.has(lower)) throw refuse(`headers: ${lower} is set by the client itself and can't be replaced`);
    if (!isHeader(lower, value)) {
      const shown = looksLikeName(lower.replaceAll("-", "_")) ? lower : "a header";
      throw refuse(`headers: ${shown} must have a name and a text that HTTP allows`);
    }
    checked[lower] = value;
  }
  return checked;
}

function isHeader(name: string, value: string): boolean {
  try {
    // A value with white space around it would be sent without.
    return new Headers({ [name]: value }).get(name) === value;
  } catch {
    return false;
  }
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
  /** The raw body that is signed and sent. Empty if there is none. */
  readonly text: string;
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
  const query = input.query === undefined ? undefined : checkQuery(operation, input.query);
  const path = pathname + encodeQuery(operation.name, { ...input.paging, ...query });
  const body =
    operation.verb === "request"
      ? input.body
      : operation.body && checkBody(operation, operation.body, input.body, input.isFromService);
  const values = operation.verb === "request" ? { ids, query, body } : { ...query, ...(body as object | undefined) };
  const text = body === undefined ? "" : toJson(operation.name, body);
  return { path, signedPath: signQuery ? path : pathname, text, values };
}

/** A request that was signed earlier, maybe in another process. It has the same bytes and the same signature. */
export function presignedRequest({ signQuery }: RequestSettings, request: SignedRequest): PreparedRequest {
  const { path, body: text } = request;
  const signedPath = signQuery ? path : (path.split("?")[0] ?? path);
  return { path, signedPath, text, values: JSON.parse(text) };
}

/**
 * Checks a body, and puts its fields into the description's order.
 *
 * You can send back records as you read them. An update leaves out unknown fields, fields that are not part of the body, and nulls. A
 * payment keeps the unknown fields and nulls of its intent. In both, amounts and ids may be exact JSON numbers. An unknown field that is
 * nearly a known one is an error.
 *
 * @param isFromService the service sent the unknown fields, so none is a misspelling.
 * @throws {InvalidArgumentError} that names the fields at fault, with no value that may be confidential.
 */
function checkBody(
  { name, verb, record, identifiedBy, sendsBack }: Operation,
  { fields, required }: BodyFields,
  given: unknown,
  isFromService = false,
): Readonly<Record<string, unknown>> {
  const isUpdate = verb === "update";
  const names = Object.keys(fields);
  const checked = checkFields(name, "body", fields, given, (field, value, kind): boolean | string => {
    if (value === undefined && !required.includes(field)) return false;
    if (kind === undefined) {
      if (isUpdate && Object.hasOwn(record, field)) return false;
      const meant = isFromService ? undefined : nearest(field, names);
      if (meant !== undefined || !(isUpdate || sendsBack)) return unknownField(field, "body", names, meant);
      if (isUpdate) return false;
    }
    if (kind === undefined || kind === "any") return true;
    if (isUpdate && value === null) return false;
    const verdict = checkField(field, kind, value);
    if (verdict === true || field === identifiedBy) return verdict;
    const isId = field.endsWith("Id") && Number.isSafeInteger(value);
    // As a service may write it.
    const isAsRead = kind === "decimal" ? amountOf(value) !== undefined : value === null || isExactNumber(value);
    return isId || ((isUpdate || sendsBack) && isAsRead) || verdict;
  });
  // An update with nothing in it could be taken for one that empties the record.
  if (isUpdate && Object.keys(checked).length === 0) {
    throw new InvalidArgumentError(`${name}: there is nothing to update. Give at least one of ${names.join(", ")}`);
  }
  return checked;
}

/**
 * Checks the filters of a list or the query of a single read, and copies them.
 *
 * @throws {InvalidArgumentError} that names the fields at fault, with no value that may be confidential.
 */
function checkQuery({ name, query = {}, record }: AnyOperation, given: unknown): object {
  const fields = query === "open" ? record : query;
  return checkFields(name, "query", fields, given, (field, value, kind) => {
    if (value === undefined) return false;
    if (kind === undefined && query !== "open") return unknownField(field, "query", Object.keys(fields));
    // A filter may be half a numeral, a pattern of the service's own, or a number from a record.
    const isScalar = isExactNumber(value) || (kind === undefined && isBoolean(value));
    const shown = looksLikeName(field) ? field : "a field";
    return isScalar || checkField(shown, kind === "publicKey" ? kind : "text", value);
  });
}

/**
 * The fields that are taken, those of the table first, in its order.
 *
 * @param judge whether a field is taken or left out, or else what is wrong with it.
 */
function checkFields(
  name: string,
  part: string,
  fields: FieldTable,
  given: unknown,
  judge: (field: string, value: unknown, kind: FieldKind | undefined) => boolean | string,
): Readonly<Record<string, unknown>> {
  if (!isPlainObject(given)) {
    throw new InvalidArgumentError(`${name}: the ${part} must be an object with fields; got ${describeValue(given)}`);
  }
  const values = { ...given };
  const taken: Record<string, unknown> = {};
  const problems: string[] = [];
  for (const field of Object.keys({ ...fields, ...values })) {
    const verdict = judge(field, values[field], kindOfField(fields, field));
    if (verdict === true) taken[field] = values[field];
    else if (verdict !== false) problems.push(verdict);
  }
  if (problems.length > 0) throw new InvalidArgumentError(`${name}: ${problems.join(". ")}`);
  return taken;
}

/** True, or what is wrong. A value is shown only if it looks like an amount, since any other text may be an account or a secret. */
function checkField(field: string, kind: FieldKind, value: unknown): boolean | string {
  const text = typeof value === "string" ? value : undefined;
  const fault = kind === "publicKey" && text ? publicKeyFault(text) : undefined;
  const isFit = text !== undefined && (kind !== "decimal" || decimalNumeral.test(text));
  if (isFit && fault === undefined) return true;
  let got = fault ?? describeValue(value);
  if (kind === "decimal" && text !== undefined && /^[\d.,']{1,12}$/.test(text)) got = JSON.stringify(text);
  if (value === undefined && field.endsWith("Id")) got += " (is an environment variable unset?)";
  return `${field} must be ${fieldKinds[kind].expected}; got ${got}`;
}

function unknownField(field: string, part: string, names: readonly string[], near = nearest(field, names)): string {
  const hint = near === undefined ? `Allowed: ${names.join(", ")}` : `Did you mean ${near}?`;
  return `Unknown field ${describeName(field)} in the ${part}. ${hint}`;
}

/**
 * The body as JSON. Values with a `toJSON` make their own.
 *
 * @throws {InvalidArgumentError} if JSON can't carry it without loss.
 */
function toJson(operation: string, body: unknown): string {
  try {
    return (JSON.stringify(body, refuseLost) as string | undefined) ?? "";
  } catch {
    const expected = "a JSON value, without bigints, NaN, rounded numbers, functions, maps, or cycles";
    throw new InvalidArgumentError(`${operation}: the body must be ${expected}`);
  }
}

/** JSON leaves functions out, and writes `null` for others. A whole number above 2 ** 53 was rounded when it was read. */
function refuseLost(this: unknown, _: string, item: unknown): unknown {
  const isKept =
    item === null ||
    (item === undefined && !Array.isArray(this)) ||
    typeof item === "string" ||
    (typeof item === "number" && Math.abs(item) <= Number.MAX_SAFE_INTEGER) ||
    isBoolean(item) ||
    Array.isArray(item) ||
    isPlainObject(item);
  if (!isKept) throw new TypeError("it would be lost");
  return item;
}

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
  const {
    method,
    path,
    ids = [],
    query = {},
    body,
    signed = false,
    idempotent = false,
  } = parseOptions<RawRequest>(requestParts, given, "the request", refuse);
  if (method === "GET" && body !== undefined) throw refuse("a GET has no body; give what it asks for as query");
  const operation: RawOperation = {
    name: `${method} ${path}`,
    verb: "request",
    method,
    path: parsePathTemplate(path),
    record: {},
    query: "open",
    idempotent,
  };
  return { operation, ids, input: { query, body }, signed };
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
  body: { accepts: () => true, expected: "a JSON value" },
  signed: { accepts: isBoolean, expected: "true or false" },
  idempotent: { accepts: isBoolean, expected: "true or false" },
};

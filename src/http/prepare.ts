import type { CallInput, SignedRequest } from "../api/api-client.js";
import { type FieldKind, type FieldTable, fieldKinds, kindOfField } from "../api/fields.js";
import type { AnyOperation, BodyFields, Operation } from "../api/operation.js";
import { encodeQuery, fillPath } from "../api/path.js";
import { describeName, describeValue, looksLikeName, nearest } from "../core/describe.js";
import { InvalidArgumentError } from "../core/errors.js";
import { isPlainObject } from "../core/parse.js";
import { amountOf, decimalNumeral, isExactNumber } from "../money.js";
import { encodeUtf8 } from "../platform/encodings.js";
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
    if (typeof value !== "string" || !isHeader(lower, value)) {
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
  /** The raw body, as text and as the bytes that are signed and sent. */
  readonly text: string;
  readonly body: Uint8Array | undefined;
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
  // A body that is undefined, or whose `toJSON` returns that, has no JSON.
  const text = (JSON.stringify(body) as string | undefined) ?? "";
  const bytes = text === "" ? undefined : encodeUtf8(text);
  return { path, signedPath: signQuery ? path : pathname, text, body: bytes, values };
}

/** A request that was signed earlier, maybe in another process. It has the same bytes and the same signature. */
export function presignedRequest({ signQuery }: RequestSettings, request: SignedRequest): PreparedRequest {
  const { path, body: text } = request;
  const signedPath = signQuery ? path : (path.split("?")[0] ?? path);
  return { path, signedPath, text, body: encodeUtf8(text), values: JSON.parse(text) };
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
export function checkBody(
  { name, verb, record, identifiedBy, sendsBack }: Operation,
  { fields, required, oneOf }: BodyFields,
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
    if (kind === undefined || kind === "any") {
      const shown = kind !== undefined || looksLikeName(field) ? field : "an unknown field";
      return isJson(value, sendsBack === true) || `${shown} must be ${expectedJson}`;
    }
    if (isUpdate && value === null) return false;
    const verdict = checkField(field, kind, value, oneOf?.[field]);
    if (verdict === true || (field === identifiedBy && !isUpdate)) return verdict;
    const isId = field.endsWith("Id") && Number.isSafeInteger(value);
    return isId || ((isUpdate || sendsBack === true) && canSendBack(kind, value)) || verdict;
  });
  // An update with nothing in it could be taken for one that empties the record.
  if (isUpdate && Object.keys(checked).length === 0) {
    throw new InvalidArgumentError(`${name}: there is nothing to update. Give at least one of ${names.join(", ")}`);
  }
  return checked;
}

/** The parameters of a query. */
export type QueryValues = Readonly<Record<string, string | number | boolean | undefined>>;

/**
 * Checks the filters of a list or the query of a single read, and copies them.
 *
 * @throws {InvalidArgumentError} that names the fields at fault, with no value that may be confidential.
 */
export function checkQuery(
  { name, query = {}, record }: Pick<AnyOperation, "name" | "query" | "record">,
  given: unknown,
): QueryValues {
  const fields = query === "open" ? record : query;
  const checked = checkFields(name, "query", fields, given, (field, value, kind) => {
    if (value === undefined) return false;
    if (kind === undefined && query !== "open") return unknownField(field, "query", Object.keys(fields));
    if (kind === "integer") return checkField(field, kind, value);
    // A filter may be half a numeral, a pattern of the service's own, or a number from a record.
    const isScalar = isExactNumber(value) || (kind === undefined && typeof value === "boolean");
    const shown = looksLikeName(field) ? field : "a field";
    return isScalar || checkField(shown, kind === "publicKey" ? kind : "text", value);
  });
  return checked as QueryValues;
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
  const values: Readonly<Record<string, unknown>> = { ...given };
  const taken: Record<string, unknown> = {};
  const problems: string[] = [];
  for (const field of Object.keys({ ...fields, ...values })) {
    const verdict = judge(field, values[field], kindOfField(fields, field));
    if (verdict === true) taken[field] = values[field];
    else if (verdict !== false) problems.push(verdict);
  }
  if (problems.length > 0) throw new InvalidArgumentError(`${name}: ${problems.slice(0, maxProblems).join(". ")}`);
  return taken;
}

const maxProblems = 10;

/** Whether a field of a record can be sent back, as a text that a service may write, null, or an exact number. */
function canSendBack(kind: FieldKind, value: unknown): boolean {
  if (kind === "publicKey") return false;
  return kind === "decimal" ? amountOf(value) !== undefined : value === null || isExactNumber(value);
}

/** True, or what is wrong. A value is shown only if it looks like an amount, since any other text may be an account or a secret. */
function checkField(field: string, kind: FieldKind, value: unknown, allowed?: readonly string[]): boolean | string {
  const isText = typeof value === "string" && value !== "";
  const fault = kind === "publicKey" && isText ? publicKeyFault(value) : undefined;
  if (kind === "integer" ? Number.isSafeInteger(value) : isFit(kind, value, allowed) && fault === undefined)
    return true;
  let got = isText ? (fault ?? "another string") : describeValue(value);
  if (kind === "decimal" && isText && /^[\d.,']{1,12}$/.test(value)) got = JSON.stringify(value);
  if (value === undefined && field.endsWith("Id")) got += " (is an environment variable unset?)";
  const expected = allowed?.map((choice) => JSON.stringify(choice)).join(" or ") ?? fieldKinds[kind].expected;
  return `${field} must be ${expected}; got ${got}`;
}

function isFit(kind: FieldKind, value: unknown, allowed: readonly string[] | undefined): boolean {
  if (typeof value !== "string") return false;
  return allowed?.includes(value) ?? (kind !== "decimal" || decimalNumeral.test(value));
}

function unknownField(field: string, part: string, names: readonly string[], near = nearest(field, names)): string {
  const hint = near === undefined ? `Allowed: ${names.join(", ")}` : `Did you mean ${near}?`;
  return `Unknown field ${describeName(field)} in the ${part}. ${hint}`;
}

export const expectedJson = "a JSON value, without bigints, NaN, rounded numbers, functions, maps, or cycles";

/**
 * Whether JSON carries a value without loss. Values with a `toJSON` make their own JSON.
 *
 * @param isExact refuses whole numbers that were rounded when they were read.
 */
export function isJson(value: unknown, isExact = false): boolean {
  try {
    JSON.stringify(value, function (this: unknown, _, item: unknown) {
      if (isLost(item, isExact, Array.isArray(this))) throw new TypeError("it would be lost");
      return item;
    });
    return true;
  } catch {
    return false;
  }
}

function isLost(item: unknown, isExact: boolean, isInArray: boolean): boolean {
  if (typeof item === "number") return !Number.isFinite(item) || (isExact && Math.abs(item) > Number.MAX_SAFE_INTEGER);
  // JSON would fill holes of an array with null.
  if (item === undefined) return isInArray;
  if (typeof item !== "object") return typeof item !== "string" && typeof item !== "boolean";
  return item !== null && !Array.isArray(item) && !isPlainObject(item);
}

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
  const { path, body: text } = request;
  const signedPath = signQuery ? path : (path.split("?")[0] ?? path);
  return { path, signedPath, text, body: encodeUtf8(text), values: JSON.parse(text) };
}

/** Texts and numbers. */
export type QueryValues = Readonly<Record<string, string | number | undefined>>;

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
): Record<string, unknown> {
  const isUpdate = verb === "update";
  const names = Object.keys(fields);
  const checked = checkFields(name, "body", fields, given, (field, value, kind) => {
    if (value === undefined && !required.includes(field)) return leftOut;
    if (kind === undefined) {
      if (isUpdate && Object.hasOwn(record, field)) return leftOut;
      const meant = isFromService ? undefined : nearest(field, names, Math.min(2, Math.floor(field.length / 4)));
      if (meant !== undefined || !(isUpdate || sendsBack)) return unknownField(field, "body", names, meant);
      return isUpdate ? leftOut : jsonFault(looksLikeName(field) ? field : "an unknown field", value, true);
    }
    if (kind === "any" && value !== undefined) return jsonFault(field, value, sendsBack);
    if (isUpdate && value === null) return leftOut;
    const isIdentity = field === identifiedBy;
    if (!isIdentity && /Id$/.test(field) && Number.isSafeInteger(value)) return undefined;
    const isSentBack = isUpdate || (sendsBack && !isIdentity);
    return isSentBack && isAsCame(kind, value) ? undefined : fieldFault(field, kind, value, oneOf?.[field]);
  });
  // An update with nothing in it could be taken for one that empties the record.
  if (isUpdate && Object.keys(checked).length === 0) {
    throw new InvalidArgumentError(
      `${name}: there is nothing to update. Give at least one of ${names.join(", ")}; null and other fields are left out`,
    );
  }
  return checked;
}

/**
 * Checks the filters of a list or the query of a single read, and copies them.
 *
 * @throws {InvalidArgumentError} that names the fields at fault, with no value that may be confidential.
 */
export function checkQuery(
  { name, query = {}, record }: Pick<Operation, "name" | "query" | "record">,
  given: unknown,
): QueryValues {
  const fields = query === "open" ? record : query;
  const checked = checkFields(name, "query", fields, given, (field, value, known) => {
    if (value === undefined) return leftOut;
    const kind = known ?? (query === "open" ? "text" : undefined);
    if (kind === undefined) return unknownField(field, "query", Object.keys(fields));
    // A filter may be half a numeral, a pattern of the service's own, or a number from a record.
    if (kind !== "integer" && isExactNumber(value)) return undefined;
    return fieldFault(
      looksLikeName(field) ? field : "a field",
      kind === "decimal" || kind === "any" ? "text" : kind,
      value,
    );
  });
  // The kinds of a query are those of texts and numbers.
  return checked as QueryValues;
}

const leftOut = Symbol("left out");

/**
 * The fields that are taken, those of the table first, in its order.
 *
 * @param judge returns what is wrong with a field, or that it's left out.
 */
function checkFields(
  name: string,
  part: string,
  fields: FieldTable,
  given: unknown,
  judge: (field: string, value: unknown, kind: FieldKind | undefined) => string | typeof leftOut | undefined,
): Record<string, unknown> {
  if (!isPlainObject(given)) {
    throw new InvalidArgumentError(`${name}: the ${part} must be an object with fields; got ${describeValue(given)}`);
  }
  // Without a prototype, `__proto__` is a field like any other.
  const checked: Record<string, unknown> = Object.create(null);
  const problems: string[] = [];
  for (const field of new Set([...Object.keys(fields), ...Object.keys(given)])) {
    const value: unknown = Reflect.get(given, field);
    const verdict = judge(field, value, kindOfField(fields, field));
    if (verdict === undefined) checked[field] = value;
    else if (verdict !== leftOut) problems.push(verdict);
  }
  if (problems.length > 0) throw new InvalidArgumentError(`${name}: ${problems.slice(0, maxProblems).join(". ")}`);
  return checked;
}

const maxProblems = 10;

/** Whether a field of a record can be sent back, as a text that a service may write, null, or an exact number. */
function isAsCame(kind: FieldKind, value: unknown): boolean {
  if (kind === "publicKey") return false;
  return kind === "decimal" ? amountOf(value) !== undefined : value === null || isExactNumber(value);
}

function fieldFault(field: string, kind: FieldKind, value: unknown, allowed?: readonly string[]): string | undefined {
  if (isFit(kind, value, allowed)) return undefined;
  const expected = allowed?.map((choice) => JSON.stringify(choice)).join(" or ") ?? fieldKinds[kind].expected;
  return `${field} must be ${expected}; got ${describeGiven(field, kind, value)}`;
}

function isFit(kind: FieldKind, value: unknown, allowed: readonly string[] | undefined): boolean {
  if (kind === "integer") return Number.isSafeInteger(value);
  if (typeof value !== "string") return false;
  if (allowed !== undefined) return allowed.includes(value);
  if (kind === "publicKey") return publicKeyFault(value) === undefined;
  return kind !== "decimal" || decimalNumeral.test(value);
}

/** Shows a value only if it looks like an amount. Any other text may be an account or a secret. */
function describeGiven(field: string, kind: FieldKind, value: unknown): string {
  if (value === undefined && /Id$/.test(field)) return "undefined (is an environment variable unset?)";
  if (typeof value !== "string" || value === "") return describeValue(value);
  if (kind === "publicKey") return publicKeyFault(value) ?? "another string";
  return kind === "decimal" && amountLike.test(value) ? JSON.stringify(value) : "another string";
}

const amountLike = /^(?=.{1,20}$)[-+]?\d{1,12}(?:[.,'\u00a0]\d{0,12}){1,4}$/;

function unknownField(field: string, part: string, names: readonly string[], near = nearest(field, names)): string {
  const hint = near === undefined ? `Allowed: ${names.join(", ")}` : `Did you mean ${near}?`;
  return `Unknown field ${describeName(field)} in the ${part}. ${hint}`;
}

/** More levels than any real value has. A value that contains itself has more. */
const maxLevels = 100;

/**
 * Describes the part of a value that JSON would lose. Values with a `toJSON` make their own JSON.
 *
 * @param name of the value, for the sentence.
 * @param isExact refuses whole numbers that were rounded when they were read.
 */
export function jsonFault(name: string, value: unknown, isExact = false): string | undefined {
  const lost = lostByJson(value, isExact, maxLevels);
  return lost && `${name} must be a JSON value of at most ${maxLevels} levels; got ${lost}`;
}

function lostByJson(value: unknown, isExact: boolean, left: number): string | undefined {
  if (value === null || typeof value === "boolean" || typeof value === "string") return undefined;
  if (Number.isFinite(value)) {
    return isExact && Math.abs(Number(value)) > Number.MAX_SAFE_INTEGER ? "a rounded number" : undefined;
  }
  if (typeof Object(value).toJSON === "function") return undefined;
  if (!Array.isArray(value) && !isPlainObject(value)) return describeValue(value);
  if (left === 0) return "more";
  // Holes of an array are items, too: JSON would fill them with null.
  const items = Array.isArray(value) ? Array.from(value) : Object.values(value).filter((item) => item !== undefined);
  for (const item of items) {
    const lost = lostByJson(item, isExact, left - 1);
    if (lost !== undefined) return lost;
  }
  return undefined;
}

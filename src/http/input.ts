import { type FieldKind, type FieldTable, fieldKinds, kindOfField } from "../api/fields.js";
import type { BodyFields, Operation } from "../api/operation.js";
import { describeValue, looksLikeName, nearest } from "../core/describe.js";
import { InvalidArgumentError } from "../core/errors.js";
import { isPlainObject } from "../core/parse.js";
import { amountOf, decimalNumeral, isExactNumber } from "../money.js";
import { publicKeyFault } from "../signing/keys.js";

/** More levels than any real value has. A value that contains itself has more. */
const maxLevels = 100;

/**
 * The first part of a value that JSON can't carry, as a sentence. Values with a `toJSON` make their own JSON.
 *
 * @param path the value's place, for messages.
 * @param isExact refuses whole numbers that were rounded when they were read.
 */
export function jsonFault(path: string, value: unknown, isExact = false, left = maxLevels): string | undefined {
  if (value === null || typeof value === "boolean" || typeof value === "string") return undefined;
  if (isExact && typeof value === "number" && Math.abs(value) > Number.MAX_SAFE_INTEGER) {
    return notJson(path, "a number that JavaScript can't hold exactly");
  }
  if (Number.isFinite(value)) return undefined;
  if (left === 0) return `${path} must have at most ${maxLevels} levels; it has more, or contains itself`;
  if (Array.isArray(value)) {
    // Unlike `map`, this also meets the holes of an array, which JSON would fill with null.
    return firstFault(Array.from(value, (item, index) => [`${path}[${index}]`, item]));
  }
  if (typeof Object(value).toJSON === "function") return undefined;
  if (!isPlainObject(value)) return notJson(path, describeValue(value));
  const fields = Object.entries(value).filter(([, item]) => item !== undefined);
  return firstFault(fields.map(([name, item]) => [below(path, name), item]));

  function firstFault(items: readonly (readonly [place: string, item: unknown])[]): string | undefined {
    for (const [place, item] of items) {
      const fault = jsonFault(place, item, isExact, left - 1);
      if (fault !== undefined) return fault;
    }
    return undefined;
  }
}

/** A name that may be a value in the wrong place, such as an account number, isn't shown. */
function below(path: string, name: string): string {
  return looksLikeName(name) && path.length <= 80 ? `${path}.${name}` : `${path.replace(/…$/, "")}…`;
}

function notJson(path: string, got: string): string {
  return `${path} must be a JSON value; got ${got}`;
}

/** Values of a query: texts and numbers. */
export type QueryValues = Readonly<Record<string, string | number | undefined>>;

/**
 * Checks a body, and puts its fields into the description's order.
 *
 * What comes back can be sent back. An update takes a record as it was read: it leaves out unknown fields, fields that are not part of the
 * body, and nulls. A payment takes an intent as it was read: it keeps unknown fields and nulls. In both, amounts and ids may be
 * exact JSON numbers. An unknown field that is nearly a known one is an error.
 *
 * @param isFromService the unknown fields came from the service, so none is a misspelling.
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
    if (value === undefined)
      return required.includes(field) ? problemOf(field, fields[field] ?? "any", value) : leftOut;
    if (kind === undefined) {
      if (isUpdate && Object.hasOwn(record, field)) return leftOut;
      const meant = isFromService ? undefined : nearest(field, names, Math.min(2, Math.floor(field.length / 4)));
      if (meant !== undefined || !(isUpdate || sendsBack)) return unknownField(field, "body", names, meant);
      return isUpdate ? leftOut : jsonFault(looksLikeName(field) ? field : "an unknown field", value, true);
    }
    if (kind === "any") return jsonFault(field, value, sendsBack);
    if (isUpdate && value === null) return leftOut;
    if (field !== identifiedBy && /Id$/.test(field) && Number.isSafeInteger(value)) return undefined;
    const isSentBack = isUpdate || (sendsBack && field !== identifiedBy);
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
export function checkQuery({ name, query = {}, record }: Operation, given: unknown): QueryValues {
  const fields = query === "open" ? record : query;
  const checked = checkFields(name, "query", fields, given, (field, value, known) => {
    if (value === undefined) return leftOut;
    const kind = known ?? (query === "open" ? "text" : undefined);
    if (kind === undefined) return unknownField(field, "query", Object.keys(fields));
    // A filter may be half a numeral, or a pattern of the service's own, and what a record gave as a number.
    if (kind !== "integer" && isExactNumber(value)) return undefined;
    return fieldFault(field, kind === "decimal" || kind === "any" ? "text" : kind, value);
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
  if (problems.length === 0) return checked;
  const more = problems.length > maxProblems ? `. And ${problems.length - maxProblems} more` : "";
  const text = problems.slice(0, maxProblems).join(". ").replaceAll("?. ", "? ");
  throw new InvalidArgumentError(`${name}: ${text}${more}`);
}

const maxProblems = 10;

/** Whether a field of a record can be sent back: as a text that a service may write, null, or a number that lost nothing. */
function isAsCame(kind: FieldKind, value: unknown): boolean {
  if (kind === "publicKey") return false;
  return kind === "decimal" ? amountOf(value) !== undefined : value === null || isExactNumber(value);
}

function fieldFault(field: string, kind: FieldKind, value: unknown, allowed?: readonly string[]): string | undefined {
  return isFit(kind, value, allowed) ? undefined : problemOf(field, kind, value, allowed);
}

function isFit(kind: FieldKind, value: unknown, allowed: readonly string[] | undefined): boolean {
  if (kind === "integer") return Number.isSafeInteger(value);
  if (typeof value !== "string" || isUnsendable(kind, value) !== undefined) return false;
  return allowed === undefined ? kind !== "decimal" || decimalNumeral.test(value) : allowed.includes(value);
}

/** Why a text must not be sent, or can't be. */
function isUnsendable(kind: FieldKind, value: string): string | undefined {
  if (kind === "publicKey") return publicKeyFault(value);
  return loneSurrogate.test(value) ? "a text with half of a surrogate pair, which has no encoding" : undefined;
}

const loneSurrogate = /\p{Surrogate}/u;

function problemOf(field: string, kind: FieldKind, value: unknown, allowed?: readonly string[]): string {
  const wanted = allowed?.map((choice) => JSON.stringify(choice)).join(" or ") ?? fieldKinds[kind].wanted;
  return `${field} must be ${wanted}; got ${describeGiven(field, kind, value)}`;
}

/** Shows a value only if it looks like an amount: any other text may be an account or a secret. */
function describeGiven(field: string, kind: FieldKind, value: unknown): string {
  if (value === undefined && /Id$/.test(field)) return "undefined (is an environment variable unset?)";
  if (Number.isFinite(value) && !isExactNumber(value)) return "a number that JavaScript can't hold exactly";
  if (typeof value !== "string" || value === "") return describeValue(value);
  const problem = isUnsendable(kind, value);
  if (problem !== undefined) return problem;
  return kind === "decimal" && amountLike.test(value) ? JSON.stringify(value) : "another string";
}

const amountLike = /^(?=.{1,20}$)[-+]?\d{1,12}(?:[.,'\u00a0]\d{0,12}){1,4}$/;

function unknownField(field: string, part: string, names: readonly string[], near = nearest(field, names)): string {
  const name =
    looksLikeName(field) || field === "" ? JSON.stringify(field) : `with a name of ${field.length} characters`;
  const meant = near === undefined ? `Allowed: ${names.join(", ")}` : `Did you mean ${near}?`;
  return `Unknown field ${name} in the ${part}. ${meant}`;
}

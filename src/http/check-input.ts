import { confidentialValues, type FieldKind, type FieldTable, fieldKinds } from "../api/fields.js";
import type { BodyFields, Operation } from "../api/operation.js";
import { describeThrown } from "../errors/describe-thrown.js";
import { describeName, describeValue } from "../errors/describe-value.js";
import { InvalidArgumentError } from "../errors/errors.js";
import { decimalNumeral } from "../money.js";
import { canBeRead, isPlain, propertyOf } from "../options/properties.js";
import { publicKeyFault } from "../signing/read-key.js";
import { copyJson, InputFault } from "./json-value.js";

/** Values of a query: texts, and whole numbers where the description says integer. */
export type QueryValues = Readonly<Record<string, string | number | undefined>>;

/**
 * A copy of the body that holds the described fields and nothing else, in the description's order. An update also takes the
 * record as it was read: fields of the record that are not part of the body are left out.
 *
 * @throws {InvalidArgumentError} that names the fields at fault, never with a value.
 */
export function checkBody(operation: Operation, body: BodyFields, given: unknown): Record<string, unknown> {
  return checkFields(`${operation.name}: the body`, operation, body.fields, given, body);
}

/**
 * A copy of the query that holds the described fields and nothing else.
 *
 * @throws {InvalidArgumentError} that names the fields at fault, never with a value.
 */
export function checkQuery(operation: Operation, given: unknown): QueryValues {
  const { name, query = noFields, record } = operation;
  const fields = query === "open" ? record : query;
  // The kinds of a query are those of texts and integers.
  return checkFields(`${name}: the query`, operation, fields, given, undefined) as QueryValues;
}

const noFields: FieldTable = {};

/** Reads each field once, so that what was checked is what is sent. */
function checkFields(
  what: string,
  { verb, query, record }: Operation,
  fields: FieldTable,
  given: unknown,
  body: BodyFields | undefined,
): Record<string, unknown> {
  const names = Object.keys(fields);
  const checked: Record<string, unknown> = {};
  const problems: string[] = [];
  let isEmpty = true;
  const read = (field: string, kind: FieldKind, given: unknown) => {
    const value = kind === "any" && given !== undefined ? copyJson(field, given, field) : given;
    if (value === undefined && body?.required.includes(field) !== true) return;
    isEmpty = false;
    const allowed = body?.oneOf?.[field];
    const fault = faultOf(kind, value, allowed);
    if (fault !== undefined) problems.push(`needs ${field} to be ${wantedOf(kind, allowed)}; found ${fault}`);
    checked[field] = value;
  };
  try {
    if (!canBeRead(given, names)) throw new InputFault(`must be an object with fields; found ${describeValue(given)}`);
    const plain = isPlain(given);
    for (const field of names) {
      const kind = fields[field] as FieldKind;
      read(field, body === undefined ? kindInQuery(kind) : kind, propertyOf(given, field, plain));
    }
    for (const field of Object.keys(given)) {
      if (Object.hasOwn(fields, field)) continue;
      if (query === "open" && field !== "__proto__") read(field, "text", Reflect.get(given, field));
      else if (verb !== "update" || !Object.hasOwn(record, field)) problems.push(unknownField(field, names));
      // An update with nothing in it could be taken for one that empties the record.
      else if (isEmpty)
        problems.push(`has only fields that can't be updated, such as ${field} (it has ${names.join(", ")})`);
    }
    if (isEmpty && verb === "update" && problems.length === 0) {
      problems.push(`has nothing to update: give it at least one of ${names.join(", ")}`);
    }
  } catch (thrown) {
    if (!(thrown instanceof InputFault)) throw unreadable(what, thrown, fields, given);
    problems.push(thrown.message);
  }
  if (problems.length === 0) return checked;
  const more = problems.length > mostProblems ? `; and ${problems.length - mostProblems} more` : "";
  throw new InvalidArgumentError(`${what} ${problems.slice(0, mostProblems).join("; ")}${more}`);
}

/** What the caller's code throws may quote the fields, those included that were not read yet. */
function unreadable(what: string, thrown: unknown, fields: FieldTable, given: unknown): InvalidArgumentError {
  const values: Record<string, unknown> = {};
  for (const field of Object.keys(fields)) {
    try {
      values[field] = Reflect.get(given as object, field);
    } catch {
      // What can't be read has no value to hide.
    }
  }
  const cause = describeThrown(thrown, confidentialValues(fields, values));
  return new InvalidArgumentError(`${what} can't be read: one of its getters or toJSON methods threw`, { cause });
}

const mostProblems = 10;

/** A filter may be half a numeral, or a pattern of the service's own: only its type is certain. */
function kindInQuery(kind: FieldKind): FieldKind {
  return kind === "decimal" || kind === "any" ? "text" : kind;
}

/** What was found in place of what is wanted, told without telling it; undefined where all is well. */
function faultOf(kind: FieldKind, value: unknown, allowed: readonly string[] | undefined): string | undefined {
  if (kind === "any") return value === undefined ? describeValue(value) : undefined;
  if (kind === "integer") return Number.isSafeInteger(value) ? undefined : describeValue(value);
  if (typeof value !== "string") return describeValue(value);
  if (kind === "publicKey") return publicKeyFault(value);
  if (anySurrogate.test(value) && loneSurrogate.test(value))
    return "a string that contains a lone surrogate, which has no encoding";
  const isFit = allowed === undefined ? kind !== "decimal" || decimalNumeral.test(value) : allowed.includes(value);
  return isFit ? undefined : value === "" ? "an empty string" : "another string";
}

// The first is quick: engines know that a text of one byte a character has no surrogates.
const anySurrogate = /[\ud800-\udfff]/;
const loneSurrogate = /\p{Surrogate}/u;

function wantedOf(kind: FieldKind, allowed: readonly string[] | undefined): string {
  return allowed === undefined ? fieldKinds[kind].wanted : allowed.map((value) => JSON.stringify(value)).join(" or ");
}

function unknownField(field: string, names: readonly string[]): string {
  return `has no field ${describeName(field)} (it has ${names.join(", ")})`;
}

import { type FieldKind, kindOfField } from "../api/fields.js";
import type { Operation } from "../api/operation.js";
import { compare as compareDecimals, decimalNumeral, exact } from "../money.js";
import type { SandboxSettings } from "./options.js";
import { SandboxRefusal } from "./refusal.js";
import { pagingParameters } from "./requests.js";
import type { Row } from "./store.js";

type Listed = Row<object>;

/**
 * One page as SQL would read the description: filter, bounds on the token, sort, limit. Stored payments have their `pagingToken`.
 * Other records get it if all lists have one.
 *
 * @throws {SandboxRefusal} for a parameter that is unknown, repeated, or can't be read.
 */
export function listPage(
  { maxSize, defaultSize, pagingTokens, now, quirks }: SandboxSettings,
  operation: Operation,
  query: URLSearchParams,
  rows: readonly Listed[],
): readonly object[] {
  const { inclusiveBounds, newestFirst, textTokens, listedAfterMs } = quirks;
  const { _size, _after, _before, _sort, ...filters } = assertQuery(query, operation);
  const isWith = (bound: string) => (inclusiveBounds === bound || inclusiveBounds === "both" ? 1 : 0);
  const after = _after === undefined ? -1 : parseToken("_after", _after, textTokens) - isWith("after");
  const before = _before === undefined ? Infinity : parseToken("_before", _before, textTokens) + isWith("before");
  const size = _size === undefined ? defaultSize : parseSize(_size);
  const order = _sort === undefined ? byToken(newestFirst ? -1 : 1) : parseSort(_sort, operation);
  const filterTests = Object.entries(filters).map(([name, value]) => {
    const kind = filterKind(operation, name);
    return (record: object) => compareValues(kind, textOf(record, name), value) === 0;
  });
  const listedMs = listedAfterMs ? now() - listedAfterMs : Infinity;
  return rows
    .filter(({ token, addedAtMs }) => token > after && token < before && addedAtMs <= listedMs)
    .filter(({ record }) => filterTests.every((passes) => passes(record)))
    .sort(order)
    .slice(0, Math.min(size, maxSize))
    .map(({ token, record }) =>
      pagingTokens === "all" ? { ...record, pagingToken: tokenText(token, textTokens) } : record,
    );
}

/** @throws {SandboxRefusal} for a parameter that is unknown or repeated. */
export function assertQuery(query: URLSearchParams, operation: Operation): Record<string, string> {
  const values: Record<string, string> = {};
  for (const [name, value] of query) {
    const isPaging = operation.verb === "list" && pagingParameters.has(name);
    if (!isPaging && filterKind(operation, name) === undefined) {
      throw wrongQuery(`${name} is not a query parameter of ${operation.name}`);
    }
    if (Object.hasOwn(values, name)) throw wrongQuery(`${name} comes more than once`);
    values[name] = value;
  }
  return values;
}

/** The paging token of a row. As texts, tokens are in the order of the numbers. */
export function tokenText(token: number, isText = false): string {
  return isText ? `t${String(token).padStart(9, "0")}` : String(token);
}

function parseToken(name: string, value: string, isText = false): number {
  if (!(isText ? /^t\d{9}$/ : /^\d+$/).test(value)) throw wrongQuery(`${name} must be a paging token of this list`);
  return Number(value.replace("t", ""));
}

function parseSize(value: string): number {
  if (!/^0*[1-9]\d*$/.test(value)) throw wrongQuery("_size must be an integer above 0");
  return Number(value);
}

function filterKind({ query, record }: Operation, name: string): FieldKind | undefined {
  const kind = query === undefined ? undefined : kindOfField(query === "open" ? record : query, name);
  return kind === "any" ? undefined : kind;
}

type Order = (one: Listed, other: Listed) => number;

function byToken(sign: 1 | -1): Order {
  return (one, other) => sign * (one.token - other.token);
}

/** Records that the terms leave equal stay in the order of their tokens, so that a cursor can follow it. */
function parseSort(value: string, operation: Operation): Order {
  const terms = value.split(",").map((term) => parseSortTerm(term, operation));
  terms.push(byToken(/^[^,]*\.desc/.test(value) ? -1 : 1));
  return (one, other) => terms.reduce((order, term) => order || term(one, other), 0);
}

function parseSortTerm(term: string, operation: Operation): Order {
  const [, name = "", direction] = /^(.*)\.(asc|desc)$/.exec(term) ?? [];
  const sign = direction === "desc" ? -1 : 1;
  if (name === "pagingToken") return byToken(sign);
  const kind = kindOfField(operation.record, name);
  if (kind === undefined || kind === "any") {
    throw wrongQuery("_sort must be made of fieldname.asc and fieldname.desc, separated by commas");
  }
  return (one, other) => sign * compareValues(kind, textOf(one.record, name), textOf(other.record, name));
}

/** Amounts, prices, and integers compare as numbers, everything else by code units. */
function compareValues(kind: FieldKind | undefined, one: string, other: string): number {
  const areNumbers =
    (kind === "decimal" || kind === "integer") && decimalNumeral.test(one) && decimalNumeral.test(other);
  if (areNumbers) return compareDecimals(exact(one), exact(other));
  return one < other ? -1 : one > other ? 1 : 0;
}

function textOf(record: object, name: string): string {
  return String(Reflect.get(record, name));
}

function wrongQuery(message: string): SandboxRefusal {
  return new SandboxRefusal("invalid_query", message);
}

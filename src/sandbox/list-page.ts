import { type FieldKind, kindOfField } from "../api/fields.js";
import type { Operation } from "../api/operation.js";
import { compare as compareDecimals, decimalNumeral, exact } from "../money.js";
import type { SandboxQuirks } from "./quirks.js";
import { SandboxRefusal } from "./responses.js";
import { pagingParameters, shownName } from "./shown-query.js";

export interface Listed {
  readonly token: number;
  readonly record: object;
}

export interface PageLimits {
  readonly maxSize: number;
  readonly defaultSize: number;
  readonly quirks?: SandboxQuirks;
}

/**
 * One page as SQL would read the description: filter, bounds on the token, sort, limit.
 *
 * @throws {SandboxRefusal} on a parameter that the list does not have, that comes twice, or whose value can't be read.
 */
export function pageOf<T extends Listed>(
  rows: readonly T[],
  operation: Operation,
  query: URLSearchParams,
  { maxSize, defaultSize, quirks = {} }: PageLimits,
): T[] {
  const { inclusiveBounds = "none", ignoredSort = "none", textTokens } = quirks;
  const { _size, _after, _before, _sort, ...filters } = assertQuery(query, operation, quirks);
  const size = _size === undefined ? defaultSize : parseSize(_size);
  if (size > maxSize && quirks.oversize === "refused") {
    throw new SandboxRefusal("invalid_query", `_size must be ${maxSize} at most`);
  }
  const isWith = (bound: string) => (inclusiveBounds === bound || inclusiveBounds === "both" ? 1 : 0);
  const after = _after === undefined ? -1 : parseToken("_after", _after, textTokens) - isWith("after");
  const before = _before === undefined ? Infinity : parseToken("_before", _before, textTokens) + isWith("before");
  const sort = ignoredSort === "further" ? _sort?.split(",")[0] : _sort;
  const order =
    sort === undefined || ignoredSort === "all"
      ? byToken(quirks.newestFirst === true ? -1 : 1)
      : parseSort(sort, operation);
  const wanted = Object.entries(filters).map(([name, value]) => filterOf(name, filterKind(operation, name), value));
  return rows
    .filter((row) => row.token > after && row.token < before && wanted.every((fits) => fits(row.record)))
    .sort(order)
    .slice(0, Math.min(size, maxSize));
}

/** @throws {SandboxRefusal} on a parameter that the operation does not have, or that comes twice. */
export function assertQuery(
  query: URLSearchParams,
  operation: Operation,
  { unknownFilters, paymentFilters }: SandboxQuirks = {},
): Record<string, string> {
  const values: Record<string, string> = {};
  const isFilter = (name: string) =>
    operation.name !== "payments.list" || paymentFilters === undefined || paymentFilters.includes(name);
  for (const [name, value] of query) {
    const known =
      (operation.verb === "list" && pagingParameters.has(name)) ||
      (filterKind(operation, name) !== undefined && isFilter(name));
    if (!known && unknownFilters === "ignored") continue;
    if (!known)
      throw new SandboxRefusal("invalid_query", `${shownName(name)} is not a query parameter of ${operation.name}`);
    if (Object.hasOwn(values, name)) throw new SandboxRefusal("invalid_query", `${name} comes more than once`);
    values[name] = value;
  }
  return values;
}

type Order = (one: Listed, other: Listed) => number;

function filterKind({ query, record }: Operation, name: string): FieldKind | undefined {
  const kind = query === undefined ? undefined : kindOfField(query === "open" ? record : query, name);
  return kind === "any" ? undefined : kind;
}

function filterOf(name: string, kind: FieldKind | undefined, wanted: string): (record: object) => boolean {
  if (kind === "integer" && !/^-?\d+$/.test(wanted))
    throw new SandboxRefusal("invalid_query", `${name} must be an integer`);
  if (kind === "decimal" && !decimalNumeral.test(wanted)) {
    throw new SandboxRefusal("invalid_query", `${name} must be a decimal numeral`);
  }
  const compare = comparison(kind);
  return (record) => compare(textOf(record, name), wanted) === 0;
}

function parseSize(value: string): number {
  if (!/^0*[1-9]\d*$/.test(value)) throw new SandboxRefusal("invalid_query", "_size must be an integer above 0");
  return Number(value);
}

/** The paging token of a place in the ledger. */
export function tokenText(token: number, { textTokens = false }: SandboxQuirks): string {
  // As texts these are in the order of the numbers, and the first digit can be a letter.
  return textTokens ? `t${token.toString(36).padStart(8, "0")}` : String(token);
}

function parseToken(name: string, value: string, isText = false): number {
  const [, token] = (isText ? /^t([\da-z]{8})$/ : /^(\d+)$/).exec(value) ?? [];
  if (token === undefined) throw new SandboxRefusal("invalid_query", `${name} must be a paging token of this list`);
  return Number.parseInt(token, isText ? 36 : 10);
}

function parseSort(value: string, operation: Operation): Order {
  const terms = value.split(",").map((term) => parseSortTerm(term, operation));
  // Records that the terms leave equal stay in the order of their tokens, so that a cursor can follow it.
  const ties = byToken(value.split(",")[0]?.endsWith(".desc") ? -1 : 1);
  return (one, other) => {
    for (const term of terms) {
      const order = term(one, other);
      if (order !== 0) return order;
    }
    return ties(one, other);
  };
}

function parseSortTerm(term: string, operation: Operation): Order {
  const [, name = "", direction] = /^(.*)\.(asc|desc)$/.exec(term) ?? [];
  const sign = direction === "desc" ? -1 : 1;
  if (name === "pagingToken") return byToken(sign);
  const kind = kindOfField(operation.record, name);
  if (kind === undefined || kind === "any") {
    throw new SandboxRefusal(
      "invalid_query",
      "_sort must be made of fieldname.asc and fieldname.desc, separated by commas",
    );
  }
  const compare = comparison(kind);
  return (one, other) => sign * compare(textOf(one.record, name), textOf(other.record, name));
}

function byToken(sign: 1 | -1): Order {
  return (one, other) => sign * (one.token - other.token);
}

/** Amounts, prices and integers compare as numbers, everything else by code units. */
function comparison(kind: FieldKind | undefined): (one: string, other: string) => number {
  if (kind === "decimal" || kind === "integer") return (one, other) => compareDecimals(exact(one), exact(other));
  return (one, other) => (one < other ? -1 : one > other ? 1 : 0);
}

function textOf(record: object, name: string): string {
  return String(Reflect.get(record, name));
}

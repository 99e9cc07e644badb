import { InvalidArgumentError } from "../core/errors.js";
import {
  type CheckTable,
  isBoolean,
  isFunction,
  isPlainObject,
  isPositiveInteger,
  isText,
  parseOptions,
} from "../core/parse.js";
import type { Operation } from "./operation.js";

/** `field.asc` or `field.desc`, for the record's fields and the token that stands for its place in the list. */
export type SortTerm<Record> = `${(keyof Record & string) | "pagingToken"}.${"asc" | "desc"}`;

/** One term, or several with commas between them, such as `createdAt.desc,id.asc`. The compiler checks the first one. */
export type SortTerms<Record> = SortTerm<Record> | `${SortTerm<Record>},${string}`;

/** Paging, sorting, and filtering of a list (Interface description 0.0.1, "Common rules"). */
export interface ListQuery<Item, Filter> {
  /** Sent as `_size`. The most records of a page. The service may have a maximum of its own, which is not shown. */
  readonly size?: number | undefined;
  /** Sent as `_after`. Only records with a paging token above this one. */
  readonly after?: string | undefined;
  /** Sent as `_before`. Only records with a paging token below this one. */
  readonly before?: string | undefined;
  /**
   * Sent as `_sort`. One term, or several in order, in one text or in an array. A list that isn't sorted by `pagingToken` must fit on
   * one page.
   */
  readonly sort?: SortTerms<Item> | readonly SortTerm<Item>[] | undefined;
  /** Only records with these values. */
  readonly filter?: Filter | undefined;
  /** Returns the paging token of a record without `pagingToken`. Otherwise such a list must fit on one page. */
  readonly cursor?: ((record: Item) => string) | undefined;
  /** Requests the next page while you process this one. `break` drops that page. Default: false. */
  readonly prefetch?: boolean | undefined;
  /** Continues even if the paging tokens don't follow the sort. Records can then be missed or appear twice. Default: false. */
  readonly trustCursor?: boolean | undefined;
}

/** A query that shares nothing with the caller's. */
export interface ParsedListQuery<Item> extends ListQuery<Item, object> {
  readonly sort?: readonly SortTerm<Item>[];
}

/**
 * A copy of the query, filter included, in which each part was read once and `sort` is an array.
 *
 * @throws {InvalidArgumentError} that names what is wrong.
 */
export function parseListQuery<Item>(operation: Operation, query: unknown): ParsedListQuery<Item> {
  if (query === undefined) return {};
  const refuse = (message: string) => new InvalidArgumentError(`${operation.name}: ${message}`);
  const parsed = parseOptions(listQueryOptions, query, "the query", refuse, " (fields of the record go into filter)");
  if (parsed.filter !== undefined) parsed.filter = copyFilter(parsed.filter, operation, refuse);
  if (parsed.sort !== undefined) parsed.sort = parseSort(parsed.sort, refuse);
  return parsed;
}

function copyFilter(filter: unknown, { query }: Operation, refuse: (message: string) => Error): object {
  const { other, ...fields } = filter as { readonly other?: unknown };
  const isOpen = query === "open" && isPlainObject(other);
  const copy: object = isOpen ? { ...fields, ...other } : { ...(filter as object) };
  const paging = Object.keys(copy).find((field) => field.startsWith("_"));
  if (paging === undefined) return copy;
  throw refuse(`filter must be ${listQueryOptions.filter.expected}; got ${JSON.stringify(paging.slice(0, 64))}`);
}

function parseSort(sort: unknown, refuse: (message: string) => Error): readonly unknown[] {
  const terms: readonly unknown[] = typeof sort === "string" ? sort.split(",") : [...(sort as readonly unknown[])];
  if (terms.length > 0 && terms.every(isTerm)) return terms;
  throw refuse(`sort must be ${listQueryOptions.sort.expected}`);
}

const isTerm = (value: unknown): boolean => typeof value === "string" && /^[^.,\s]{1,64}\.(?:asc|desc)$/.test(value);
const token = { accepts: isText, expected: "a paging token: a string that is not empty" };

const listQueryOptions: CheckTable<ListQuery<unknown, object>> = {
  size: { accepts: isPositiveInteger, expected: "a whole number above 0" },
  after: token,
  before: token,
  sort: {
    accepts: (value) => typeof value === "string" || Array.isArray(value),
    expected: 'a term such as "createdAt.desc", several with commas (and no spaces) between them, or an array of terms',
  },
  filter: {
    accepts: isPlainObject,
    expected: "an object of the record's fields (size, after, before and sort stand beside it)",
  },
  cursor: { accepts: isFunction, expected: "a function of a record" },
  prefetch: { accepts: isBoolean, expected: "true or false" },
  trustCursor: { accepts: isBoolean, expected: "true or false" },
};

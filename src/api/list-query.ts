import { InvalidArgumentError } from "../errors/errors.js";
import { assertOptions, isBoolean, isFunction, isPositiveInteger, type OptionTable } from "./option-table.js";

/** `field.asc` or `field.desc`, for the record's fields. */
export type SortTerm<Record> = `${keyof Record & string}.${"asc" | "desc"}`;

/** Paging, sorting and filtering of a list (Interface description 0.0.1, "Common rules"). */
export interface ListQuery<Item, Filter> {
  /** `_size`: how many records a page may have. The service may have a maximum of its own, which is not shown. */
  readonly size?: number | undefined;
  /** `_after`: only records whose paging token is above this one. */
  readonly after?: string | undefined;
  /** `_before`: only records whose paging token is below this one. */
  readonly before?: string | undefined;
  /** `_sort`: one term, or several in order. */
  readonly sort?: SortTerm<Item> | readonly SortTerm<Item>[] | undefined;
  /** Only records whose fields have these values. */
  readonly filter?: Filter | undefined;
  /** Returns the paging token of a record that has no `pagingToken`. Without it such lists end after one page, with a `PagingError`. */
  readonly cursor?: ((record: Item) => string) | undefined;
  /** Requests the next page while the records of this one are being processed. On `break` that page is dropped. Default: false. */
  readonly prefetch?: boolean | undefined;
  /** Continues although the paging tokens do not follow the sort order. Records can then be missed or appear twice. Default: false. */
  readonly trustCursor?: boolean | undefined;
}

/**
 * Refuses a query that means nothing, before any I/O.
 *
 * @throws {InvalidArgumentError} that names what is wrong.
 */
export function assertListQuery(operation: string, query: unknown): void {
  if (query === undefined) return;
  const refuse = (message: string) => new InvalidArgumentError(`${operation}: ${message}`);
  assertOptions(listQueryOptions, query, "the query", refuse, " (fields of the record go into filter)");
}

const isToken = (value: unknown): boolean => typeof value === "string" && value !== "";
const isTerm = (value: unknown): boolean => typeof value === "string" && /^[^.,\s]+\.(?:asc|desc)$/.test(value);
const token = { accepts: isToken, wanted: "a paging token: a string that is not empty" };

const listQueryOptions: OptionTable<ListQuery<unknown, object>> = {
  size: { accepts: isPositiveInteger, wanted: "a whole number above 0", documentation: "records on a page" },
  after: { ...token, documentation: "only records behind this paging token" },
  before: { ...token, documentation: "only records before this paging token" },
  sort: {
    accepts: (value) => (Array.isArray(value) ? value.length > 0 && value.every(isTerm) : isTerm(value)),
    wanted: 'a term such as "createdAt.desc", or an array of terms',
    documentation: "the order",
  },
  filter: {
    accepts: (value) =>
      typeof value === "object" &&
      value !== null &&
      !Array.isArray(value) &&
      !Object.keys(value).some((field) => field.startsWith("_")),
    wanted: "an object of the record's fields (size, after, before and sort stand beside it)",
    documentation: "only records whose fields have these values",
  },
  cursor: { accepts: isFunction, wanted: "a function of a record", documentation: "paging token of a record" },
  prefetch: { accepts: isBoolean, wanted: "true or false", documentation: "requests one page ahead" },
  trustCursor: { accepts: isBoolean, wanted: "true or false", documentation: "continues in any order" },
};

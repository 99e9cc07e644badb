import type { ApiClient, PagingValues } from "../api/api-client.js";
import type { TypedEndpoint } from "../api/endpoint.js";
import type { ListQuery } from "../api/list-query.js";
import type { RequestOptions, WithResponse } from "../api/request-options.js";
import { InvalidArgumentError, PagingError } from "../errors/errors.js";
import {
  assertBehind,
  assertNotAsked,
  type Direction,
  directionOf,
  filledText,
  marksOf,
  type PageMarks,
  unsoundness,
} from "./cursor-order.js";
import { Records } from "./records.js";

/** One page of a list. */
export class Page<Item> {
  /** The page's records, as the service sent them. */
  readonly items: readonly Item[];
  readonly #next: () => string | undefined;
  readonly #bound: "after" | "before";

  constructor(items: readonly Item[], next: () => string | undefined, bound: "after" | "before") {
    this.items = items;
    this.#next = next;
    this.#bound = bound;
  }

  /**
   * The cursor behind this page; `undefined` when there is no further page. It can be stored: a later
   * `list({ ...query, after: next })` goes on from here. Where the list is sorted downwards, it is `before: next`;
   * `nextQuery` knows which.
   *
   * @throws {PagingError} when going on from this page would lose or repeat records.
   */
  get next(): string | undefined {
    return this.#next();
  }

  /** The cursor as the part of a query that it is: `list({ ...query, ...page.nextQuery })`. `undefined` at the end. */
  get nextQuery(): { readonly after: string } | { readonly before: string } | undefined {
    const next = this.#next();
    if (next === undefined) return undefined;
    return this.#bound === "after" ? { after: next } : { before: next };
  }
}

/**
 * A list that has not been asked for yet. Awaiting it gives the first `Page`, iterating it gives every record, page after
 * page; `break` stops the asking.
 *
 * A short page is no end, since the service's own maximum of `_size` is not shown: the end is an empty page.
 */
export class Listing<Item> implements PromiseLike<Page<Item>> {
  readonly #caller: ApiClient;
  readonly #endpoint: TypedEndpoint<never, Item[]>;
  readonly #path: readonly string[];
  readonly #query: ListQuery<Item, object>;
  readonly #options: RequestOptions | undefined;
  readonly #direction: Direction;
  #first: Promise<WithResponse<Page<Item>>> | undefined;

  constructor(
    caller: ApiClient,
    endpoint: TypedEndpoint<never, Item[]>,
    path: readonly string[],
    query: ListQuery<Item, object> | undefined,
    options: RequestOptions | undefined,
  ) {
    checkListQuery(endpoint.operation, query);
    this.#caller = caller;
    this.#endpoint = endpoint;
    this.#path = path;
    this.#query = query ?? {};
    this.#options = options;
    this.#direction = directionOf(this.#query.sort);
  }

  /** The first page. Asked for once, however often it is awaited. */
  // biome-ignore lint/suspicious/noThenProperty: a listing is awaited for its first page
  then<A = Page<Item>, B = never>(
    onFulfilled?: ((page: Page<Item>) => A | PromiseLike<A>) | null,
    onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null,
  ): Promise<A | B> {
    return this.withResponse()
      .then(({ data }) => data)
      .then(onFulfilled, onRejected);
  }

  catch<B = never>(onRejected?: ((reason: unknown) => B | PromiseLike<B>) | null): Promise<Page<Item> | B> {
    return this.then(undefined, onRejected);
  }

  finally(onFinally?: (() => void) | null): Promise<Page<Item>> {
    return this.then().finally(onFinally);
  }

  /** The first page, with status and headers. */
  withResponse(): Promise<WithResponse<Page<Item>>> {
    this.#first ??= this.#ask(undefined).then(({ page, response }) => ({ data: page, response }));
    return this.#first;
  }

  /** Every record, in order, each once. Asks for a page when it is needed, beginning anew with each iteration. */
  [Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    return new Records(this.pages());
  }

  /**
   * Every page that has records.
   *
   * @throws {PagingError} when going on would lose or repeat records.
   */
  async *pages(): AsyncGenerator<Page<Item>, void, undefined> {
    const { operation } = this.#endpoint;
    const { prefetch = false, trustCursor = false } = this.#query;
    // Cursors that always go forward can't come again; only trusted ones can go round in a circle.
    const asked = trustCursor ? new Set<string>() : undefined;
    let before: PageMarks | undefined;
    let coming = this.#ask(undefined);
    for (;;) {
      const { page, marks } = await coming;
      if (page.items.length === 0) return;
      if (before !== undefined) assertBehind(operation, marks, before, this.#direction, trustCursor);
      const ahead = prefetch ? this.#askAhead(page) : undefined;
      yield page;
      const cursor = page.next;
      if (cursor === undefined) return;
      if (asked !== undefined) assertNotAsked(operation, cursor, asked);
      before = marks;
      coming = ahead ?? this.#ask(cursor);
    }
  }

  /**
   * Every record in one array.
   *
   * @param limit `max`: how many there may be at most, so that a growing list can't fill the memory unnoticed.
   * @throws {PagingError} when there are more, or when going on would lose or repeat records.
   */
  async toArray(limit: { readonly max: number }): Promise<Item[]> {
    const { operation } = this.#endpoint;
    const max: unknown = limit?.max;
    if (typeof max !== "number" || !(max >= 0)) {
      throw new InvalidArgumentError(`${operation}: toArray needs { max }: how many records there may be at most`);
    }
    const items: Item[] = [];
    for await (const item of this) {
      if (items.length >= max) throw new PagingError(`${operation}: there are more than ${max} records`, { operation });
      items.push(item);
    }
    return items;
  }

  /** The next page, asked for while this one is being dealt with. Whatever is wrong with it is told when it is wanted. */
  #askAhead(page: Page<Item>) {
    let cursor: string | undefined;
    try {
      cursor = page.next;
    } catch {
      return undefined;
    }
    if (cursor === undefined) return undefined;
    const coming = this.#ask(cursor);
    coming.catch(() => {});
    return coming;
  }

  async #ask(cursor: string | undefined) {
    const call = this.#caller.call(
      this.#endpoint,
      { path: this.#path, paging: toPagingValues(this.#query, this.#direction, cursor), query: this.#query.filter },
      this.#options,
    );
    const { data: items, response } = await call.withResponse();
    const { cursor: cursorOf } = this.#query;
    const tokenOf = cursorOf === undefined ? pagingToken : (item: Item) => filledText(cursorOf(item));
    const marks = marksOf(items, tokenOf, this.#direction);
    const bound = this.#direction === "up" ? "after" : "before";
    return { page: new Page(items, () => this.#next(marks), bound), marks, response };
  }

  /** The token that leads on from a page. */
  #next(marks: PageMarks): string | undefined {
    const { operation } = this.#endpoint;
    const { cursor, size, trustCursor } = this.#query;
    const last = marks.tokens.at(-1);
    if (marks.order !== undefined || marks.tokens.length === 0) return last;
    if (last === undefined || marks.tokens.includes(undefined)) {
      if (cursor !== undefined) {
        throw new PagingError(`${operation}: the query's cursor function gave no paging token for every record`, {
          operation,
        });
      }
      const none = marks.tokens.every((token) => token === undefined);
      // Without a cursor nothing leads on; that there is nothing more is sure only of a page that is shorter than was asked.
      if (none && size !== undefined && marks.tokens.length < size) return undefined;
      throw new PagingError(
        `${operation}: the page may be full and its records carry no pagingToken, so what follows can't be asked for: give the query a cursor function, or a size above the number of records`,
        { operation },
      );
    }
    const problem = trustCursor === true ? undefined : unsoundness(marks, this.#direction);
    if (problem === undefined) return last;
    throw new PagingError(
      `${operation}: the page after this one would lose or repeat records: ${problem}; leave sort out, sort by what the tokens follow, or set trustCursor`,
      { operation },
    );
  }
}

function toPagingValues(
  query: ListQuery<never, object>,
  direction: Direction,
  cursor: string | undefined,
): PagingValues {
  const { size, sort } = query;
  const after = direction === "up" ? (cursor ?? query.after) : query.after;
  const before = direction === "down" ? (cursor ?? query.before) : query.before;
  return {
    _size: size,
    _after: after,
    _before: before,
    _sort: typeof sort === "string" ? sort : sort?.join(","),
  };
}

function checkListQuery(operation: string, query: unknown): void {
  if (query === undefined) return;
  if (typeof query !== "object" || query === null) {
    throw new InvalidArgumentError(`${operation}: the query must be an object such as { size: 100 }`);
  }
  const problem = Object.entries(query)
    .map(([name, value]) => problemOf(name, value))
    .find((text) => text !== undefined);
  if (problem !== undefined) throw new InvalidArgumentError(`${operation}: ${problem}`);
}

function problemOf(name: string, value: unknown): string | undefined {
  if (!Object.hasOwn(checks, name)) {
    return `the query has no ${JSON.stringify(name)}; it has ${Object.keys(checks).join(", ")} (fields of the record go into filter)`;
  }
  if (value === undefined) return undefined;
  const { accepts, wanted } = checks[name as keyof typeof checks];
  return accepts(value) ? undefined : `${name} must be ${wanted}`;
}

const isToken = (value: unknown) => typeof value === "string" && value !== "";
const isTerm = (value: unknown) => typeof value === "string" && /^[^.,\s]+\.(?:asc|desc)$/.test(value);
const token = { accepts: isToken, wanted: "a paging token: a string that is not empty" };

const checks = {
  size: {
    accepts: (value: unknown) => Number.isSafeInteger(value) && Number(value) > 0,
    wanted: "a whole number above 0",
  },
  after: token,
  before: token,
  sort: {
    accepts: (value: unknown) => (Array.isArray(value) ? value.length > 0 && value.every(isTerm) : isTerm(value)),
    wanted: 'a term such as "createdAt.desc", or an array of terms',
  },
  filter: {
    accepts: (value: unknown) =>
      typeof value === "object" &&
      value !== null &&
      !Array.isArray(value) &&
      !Object.keys(value).some((field) => field.startsWith("_")),
    wanted: "an object of the record's fields (size, after, before and sort stand beside it)",
  },
  cursor: { accepts: (value: unknown) => typeof value === "function", wanted: "a function of a record" },
  prefetch: { accepts: (value: unknown) => typeof value === "boolean", wanted: "true or false" },
  trustCursor: { accepts: (value: unknown) => typeof value === "boolean", wanted: "true or false" },
};

function pagingToken(item: unknown): string | undefined {
  return filledText((item as { readonly pagingToken?: unknown }).pagingToken);
}

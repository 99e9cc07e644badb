import type { ApiClient, PagingValues } from "../api/api-client.js";
import { type ListQuery, type ParsedListQuery, parseListQuery } from "../api/list-query.js";
import type { TypedOperation } from "../api/operation.js";
import { parseRequestOptions, type RequestOptions, type WithResponse } from "../api/request-options.js";
import { InvalidArgumentError, PagingError } from "../errors/errors.js";
import {
  assertBehind,
  assertNotRequested,
  type CursorFields,
  cursorFieldsOf,
  type Direction,
  directionOf,
  nonEmptyText,
  whyUnsound,
} from "./cursor-order.js";
import { Page } from "./page.js";

/** A list of records. Nothing is requested before it is awaited or iterated. */
export function listRecords<Ids extends readonly string[], Item>(
  client: ApiClient,
  operation: TypedOperation<string, Ids, never, Item[]>,
  ids: NoInfer<Ids>,
  query: ListQuery<NoInfer<Item>, object> | undefined,
  options: RequestOptions | undefined,
): Listing<Item> {
  return new Listing(client, operation, ids, query, options);
}

type ListOperation<Item> = TypedOperation<string, readonly string[], never, Item[]>;

/**
 * A list that has not been requested yet. Awaiting it gives the first `Page`, iterating it gives every record, page after page;
 * `break` stops requesting.
 *
 * A short page does not prove the end, because the service's maximum `_size` is not shown: the list ends with an empty page.
 */
export class Listing<Item> implements PromiseLike<Page<Item>> {
  readonly #client: ApiClient;
  readonly #operation: ListOperation<Item>;
  readonly #ids: readonly string[];
  readonly #query: ParsedListQuery<Item>;
  readonly #options: RequestOptions;
  readonly #direction: Direction;
  #first: Promise<WithResponse<Page<Item>>> | undefined;

  /** @internal */
  constructor(
    client: ApiClient,
    operation: ListOperation<Item>,
    ids: readonly string[],
    query: ListQuery<Item, object> | undefined,
    options: RequestOptions | undefined,
  ) {
    this.#client = client;
    this.#operation = operation;
    this.#ids = ids;
    this.#query = parseListQuery(operation, query);
    this.#options = parseRequestOptions(operation, options);
    this.#direction = directionOf(this.#query.sort);
  }

  /** The first page. It is requested once, however often it is awaited. */
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
    this.#first ??= this.#request(undefined).then(({ page, response }) => ({ data: page, response }));
    return this.#first;
  }

  /** Every record, in order, each once. Requests a page when it is needed, and starts over with each iteration. */
  async *[Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    for await (const { items } of this.pages()) {
      for (const item of items) yield item;
    }
  }

  /**
   * Every page that has records.
   *
   * @throws {PagingError} when going on would lose or repeat records.
   */
  async *pages(): AsyncGenerator<Page<Item>, void, undefined> {
    const { name } = this.#operation;
    const { prefetch = false, trustCursor = false } = this.#query;
    // Cursors that always move forward can't repeat; only trusted ones can go round in a circle.
    const requested = trustCursor ? new Set<string>() : undefined;
    let before: CursorFields | undefined;
    let next = this.#request(undefined);
    for (;;) {
      const { page, fields } = await next;
      if (page.items.length === 0) return;
      if (before !== undefined) assertBehind(name, fields, before, this.#direction, trustCursor);
      const ahead = prefetch ? this.#prefetch(page) : undefined;
      yield page;
      const cursor = page.next;
      if (cursor === undefined) return;
      if (requested !== undefined) assertNotRequested(name, cursor, requested);
      before = fields;
      next = ahead ?? this.#request(cursor);
    }
  }

  /**
   * Every record in one array.
   *
   * @param limit `max`: how many there may be at most, so that a growing list can't fill the memory unnoticed.
   * @throws {PagingError} when there are more, or when going on would lose or repeat records.
   */
  async toArray(limit: { readonly max: number }): Promise<Item[]> {
    const { name } = this.#operation;
    const max: unknown = limit?.max;
    if (typeof max !== "number" || !(max >= 0)) {
      throw new InvalidArgumentError(`${name}: toArray needs { max }: how many records there may be at most`);
    }
    const items: Item[] = [];
    for await (const item of this) {
      if (items.length >= max)
        throw new PagingError(`${name}: there are more than ${max} records`, { operation: name });
      items.push(item);
    }
    return items;
  }

  /** The next page, requested while this one is being processed. Whatever is wrong with it is reported when it is needed. */
  #prefetch(page: Page<Item>) {
    let cursor: string | undefined;
    try {
      cursor = page.next;
    } catch {
      return undefined;
    }
    if (cursor === undefined) return undefined;
    const next = this.#request(cursor);
    next.catch(() => {});
    return next;
  }

  async #request(cursor: string | undefined) {
    const { cursor: cursorOf, filter } = this.#query;
    const paging = toPagingValues(this.#query, this.#direction, cursor);
    const call = this.#client.call(this.#operation, this.#ids, { paging, query: filter }, this.#options);
    const { data: items, response } = await call.withResponse();
    const tokenOf = cursorOf === undefined ? pagingToken : (item: Item) => nonEmptyText(cursorOf(item));
    const fields = cursorFieldsOf(items, tokenOf, this.#direction);
    const bound = this.#direction === "up" ? "after" : "before";
    return { page: new Page(items, () => this.#next(fields), bound), fields, response };
  }

  /** The token that leads to the page after this one. */
  #next(fields: CursorFields): string | undefined {
    const { name: operation } = this.#operation;
    const { cursor, size, trustCursor } = this.#query;
    const last = fields.tokens.at(-1);
    if (fields.order !== undefined || fields.tokens.length === 0) return last;
    if (last === undefined || fields.tokens.includes(undefined)) {
      if (cursor !== undefined) {
        throw new PagingError(
          `${operation}: the query's cursor function did not return a paging token for every record`,
          {
            operation,
          },
        );
      }
      const none = fields.tokens.every((token) => token === undefined);
      // Without tokens nothing leads on; only a page shorter than requested is certain to be the last.
      if (none && size !== undefined && fields.tokens.length < size) return undefined;
      throw new PagingError(
        `${operation}: the page may be full and its records have no pagingToken, so the next page can't be requested: give the query a cursor function, or a size above the number of records`,
        { operation },
      );
    }
    const problem = trustCursor === true ? undefined : whyUnsound(fields, this.#direction);
    if (problem === undefined) return last;
    throw new PagingError(
      `${operation}: the page after this one would lose or repeat records: ${problem}; leave sort out, sort by what the tokens follow, or set trustCursor`,
      { operation },
    );
  }
}

function toPagingValues(query: ParsedListQuery<never>, direction: Direction, cursor: string | undefined): PagingValues {
  const { size, sort } = query;
  const after = direction === "up" ? (cursor ?? query.after) : query.after;
  const before = direction === "down" ? (cursor ?? query.before) : query.before;
  return {
    _size: size,
    _after: after,
    _before: before,
    _sort: sort?.join(","),
  };
}

function pagingToken(item: unknown): string | undefined {
  return nonEmptyText((item as { readonly pagingToken?: unknown }).pagingToken);
}

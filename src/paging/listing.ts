import type { ApiClient, PagingValues } from "../api/api-client.js";
import { type ListQuery, type ParsedListQuery, parseListQuery } from "../api/list-query.js";
import type { TypedOperation } from "../api/operation.js";
import { parseRequestOptions, type RequestOptions, type WithResponse } from "../api/request-options.js";
import { ApiError, InvalidArgumentError, PagingError } from "../errors/errors.js";
import {
  assertBehind,
  assertBehindBound,
  assertNotRequested,
  assertOneOrder,
  type CursorFields,
  cursorFieldsOf,
  type Direction,
  directionOf,
  type ListOrder,
  leadsOn,
  nonEmptyText,
} from "./cursor-order.js";
import { describeDoubt, describeSkipped, type Obstacle, obstacleAfter } from "./obstacle.js";
import { Page } from "./page.js";
import { type IdOrder, restOfList } from "./whole-list.js";

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
 * A short page does not prove the end, because the service's maximum `_size` is not shown: the list ends with an empty page. Where
 * the records have no paging tokens, or are sorted so that tokens can't follow, there is no second page to ask for. Then the first
 * page has to be the whole list, which is proved by reading the list once from either end, sorted by id: two more requests.
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
   * @throws {PagingError} when going on would lose or repeat records, or nothing shows whether there are more.
   */
  async *pages(): AsyncGenerator<Page<Item>, void, undefined> {
    const { name } = this.#operation;
    const { prefetch = false, trustCursor = false } = this.#query;
    // Cursors that always move forward can't repeat; only trusted ones can go round in a circle.
    const requested = trustCursor ? new Set<string>() : undefined;
    let order: ListOrder | undefined;
    let before: CursorFields | undefined;
    /** The first page, as long as it is the only one. */
    let only: CursorFields | undefined;
    /** Whether a page has shown the order of the tokens: one record shows none. */
    let isOrderShown = trustCursor;
    let next = this.#request(undefined);
    for (;;) {
      const { page, fields } = await next;
      if (page.items.length === 0) {
        // A service that sorts only what it cut out gives one page, of the wrong end.
        if (only !== undefined && isOrderShown && !trustCursor && this.#query.sort !== undefined) {
          await this.#assertNoneSkipped(only, undefined);
        }
        return;
      }
      if (before !== undefined) assertBehind(name, fields, before, this.#direction, trustCursor);
      if (!trustCursor) order = assertOneOrder(name, fields, before, order, this.#direction);
      const obstacle = obstacleAfter(fields, this.#query, this.#direction);
      const cursor = obstacle === undefined ? fields.tokens.at(-1) : undefined;
      const ahead = prefetch && cursor !== undefined ? this.#prefetch(cursor) : undefined;
      yield page;
      isOrderShown ||= fields.tokens.length > 1;
      if (obstacle !== undefined && before !== undefined) this.#fail(obstacle.message);
      if (obstacle !== undefined) return yield* this.#restOf(page.items, fields.tokens, obstacle);
      if (cursor === undefined) return;
      if (!isOrderShown) await this.#assertNoneSkipped(fields, before);
      if (requested !== undefined) assertNotRequested(name, cursor, requested);
      only = before === undefined ? fields : undefined;
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
  #prefetch(cursor: string) {
    const next = this.#request(cursor);
    next.catch(() => {});
    return next;
  }

  async #request(cursor: string | undefined) {
    const { after, before, trustCursor } = this.#query;
    const { data: items, response } = await this.#read(toPagingValues(this.#query, this.#direction, cursor));
    const fields = cursorFieldsOf(items, this.#tokenOf, this.#direction);
    if (fields.hasRepeatedId) this.#fail("a record appears twice on one page");
    const bound = this.#direction === "up" ? after : before;
    if (cursor === undefined && bound !== undefined && trustCursor !== true) {
      assertBehindBound(this.#operation.name, fields, bound, this.#direction);
    }
    const page = new Page(items, () => this.#next(fields), this.#direction);
    return { page, fields, response };
  }

  #read(paging: PagingValues): Promise<WithResponse<Item[]>> {
    const input = { paging, query: this.#query.filter };
    return this.#client.call(this.#operation, this.#ids, input, this.#options).withResponse();
  }

  readonly #tokenOf = (item: Item): string | undefined => {
    const { cursor } = this.#query;
    if (cursor === undefined) return nonEmptyText((item as { readonly pagingToken?: unknown }).pagingToken);
    try {
      return nonEmptyText(cursor(item));
    } catch (error) {
      // What it threw may repeat what the record holds.
      return this.#fail(
        `the query's cursor function threw ${error instanceof Error ? `a ${error.name}` : "something"}`,
      );
    }
  };

  /** The token that leads to the page after this one. */
  #next(fields: CursorFields): string | undefined {
    const obstacle = obstacleAfter(fields, this.#query, this.#direction);
    return obstacle === undefined ? fields.tokens.at(-1) : this.#fail(obstacle.message);
  }

  /** Looks for records between two pages, or before the first, which the order of the tokens would have put there. */
  async #assertNoneSkipped(page: CursorFields, before: CursorFields | undefined): Promise<void> {
    const [first] = page.tokens;
    if (first === undefined) return;
    const last = before?.tokens.at(-1);
    const paging = toPagingValues(this.#query, this.#direction, last);
    const { data } = await this.#read({ ...paging, [this.#direction === "up" ? "_before" : "_after"]: first });
    const isBetween = (token: string | undefined) =>
      token !== undefined &&
      leadsOn(token, first, this.#direction) &&
      (last === undefined || leadsOn(last, token, this.#direction));
    const tokens = data.map(this.#tokenOf);
    // With this record among them, the service ignores the bound, or includes it.
    if (tokens.length === 0 || (tokens.includes(first) && !tokens.some(isBetween))) return;
    // They may have come since, or be listed late. Then they come first when the page is read again.
    const { fields } = await this.#request(last);
    if (!isBetween(fields.tokens[0])) this.#fail(describeSkipped(this.#query.sort));
  }

  /** Where there is no way to a second page, the first has to be the whole list. Gives what came to the list meanwhile. */
  async *#restOf(
    items: readonly Item[],
    tokens: CursorFields["tokens"],
    obstacle: Obstacle,
  ): AsyncGenerator<Page<Item>, void, undefined> {
    if (obstacle.kind === "cursor function") this.#fail(obstacle.message);
    const { sort } = this.#query;
    const token = tokens.length === 1 ? tokens[0] : undefined;
    if (token !== undefined) {
      if (await this.#isAlone(token)) return;
      this.#fail(obstacle.message);
    }
    const rest = await restOfList(items, this.#query, this.#readById).catch((error: unknown) => {
      if (error instanceof ApiError && (error.status === 400 || error.status === 422)) return "refused" as const;
      throw error;
    });
    if (typeof rest === "string") {
      this.#fail(obstacle.kind === "order" ? obstacle.message : describeDoubt(rest, sort));
    }
    if (rest.length === 0) return;
    // Their places in the order are among the records that were handed out already.
    if (sort !== undefined) this.#fail("records came to this sorted list while it was read: read it again");
    yield new Page(rest, () => undefined, this.#direction);
  }

  /** One record reads the same in any order, but its token shows what lies on either side of it. */
  async #isAlone(token: string): Promise<boolean> {
    const { after: _after, before: _before, size: _size } = this.#query;
    const { data: behind } = await this.#read({ _size, _after: token, _before });
    if (behind.length > 0) return false;
    const { data: ahead } = await this.#read({ _size, _after, _before: token });
    return ahead.length === 0;
  }

  readonly #readById = async (sort: IdOrder, size: number | undefined): Promise<readonly Item[]> => {
    const { after, before } = this.#query;
    return (await this.#read({ _size: size, _after: after, _before: before, _sort: sort })).data;
  };

  #fail(message: string): never {
    const { name: operation } = this.#operation;
    throw new PagingError(`${operation}: ${message}`, { operation });
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

import type { ApiClient, PagingValues } from "../api/api-client.js";
import { type ListQuery, type ParsedListQuery, parseListQuery } from "../api/list-query.js";
import type { TypedOperation } from "../api/operation.js";
import {
  parseRequestOptions,
  type RequestOptions,
  type ResponseInfo,
  type WithResponse,
} from "../api/request-options.js";
import { ApiError, type ErrorCode, InvalidArgumentError, PagingError } from "../errors/errors.js";
import { Deadline } from "../timing/deadline.js";
import { isRefusedQuestion } from "../wire/status.js";
import {
  assertAfter,
  assertAfterBound,
  assertEachAfter,
  assertNoneAgain,
  assertNotRequested,
  assertOneOrder,
  type CursorFields,
  cursorFieldsOf,
  type Direction,
  directionOf,
  leadsOn,
  nonEmptyText,
} from "./cursor-order.js";
import { ListPosition, type PageStart, type ReceivedPage } from "./list-position.js";
import { describeDoubt, describeSkipped, lastNotShown, type Obstacle, obstacleAfter, passedOver } from "./obstacle.js";
import { Page } from "./page.js";
import { RecordIterator } from "./record-iterator.js";
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

/** A page, and which of its records were not handed out before. */
interface Received<Item> extends ReceivedPage<Item> {
  readonly news: readonly Item[];
  readonly response: ResponseInfo;
}

/** How long after a page that lacks the last record the same one is asked for again. */
const againAfterMs = 250;

/** How many full pages are read past what was on top of a descending list at its end, where records come as fast as they are read. */
const mostPagesPast = 100;

/**
 * A list that has not been requested yet. Awaiting it gives the first `Page`, iterating it gives every record, page after page;
 * `break` stops requesting.
 *
 * A short page does not prove the end, because the service's maximum `_size` is not shown, and an empty page ends the list only while the
 * service still shows the last record: a machine that lags behind, or a cache, does not. A descending list ends with a look at its
 * beginning, where a record goes unread whose token grew meanwhile: it comes last then. Where the records have no paging tokens, or are sorted so that tokens can't follow, there is no second page to ask for. Then the first
 * page has to be the whole list, which is proved by reading the list once from either end, sorted by id: two more requests.
 */
export class Listing<Item> implements PromiseLike<Page<Item>> {
  readonly #client: ApiClient;
  readonly #operation: ListOperation<Item>;
  readonly #ids: readonly string[];
  readonly #query: ParsedListQuery<Item>;
  readonly #options: RequestOptions;
  readonly #direction: Direction;
  readonly #position: ListPosition | undefined;
  #first: Promise<WithResponse<Page<Item>>> | undefined;

  /**
   * @param position where an earlier reading of the same list broke off: its pages go on there.
   * @internal
   */
  constructor(
    client: ApiClient,
    operation: ListOperation<Item>,
    ids: readonly string[],
    query: ListQuery<Item, object> | undefined,
    options: RequestOptions | undefined,
    position?: ListPosition,
  ) {
    this.#client = client;
    this.#operation = operation;
    this.#ids = ids;
    this.#query = parseListQuery(operation, query);
    this.#options = parseRequestOptions(operation, options);
    this.#direction = directionOf(this.#query.sort);
    this.#position = position;
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
    this.#first ??= this.#request(new ListPosition(this.#direction, this.#tokenOf), "after").then((received) => ({
      data: this.#toPage(received),
      response: received.response,
    }));
    return this.#first;
  }

  /** Every record, in order, each once. Requests a page when it is needed, and starts over with each iteration. */
  [Symbol.asyncIterator](): AsyncGenerator<Item, void, undefined> {
    return new RecordIterator(this.pages());
  }

  /**
   * Every page that has records.
   *
   * @throws {PagingError} when going on would lose or repeat records, or nothing shows whether there are more.
   */
  async *pages(): AsyncGenerator<Page<Item>, void, undefined> {
    if (this.#query.prefetch !== true) return yield* this.#pages(undefined);
    const { signal } = this.#options;
    const drop = new AbortController();
    const onAbort = () => drop.abort(signal?.reason);
    signal?.addEventListener("abort", onAbort);
    try {
      yield* this.#pages(drop.signal);
    } finally {
      // A page that nobody wants any more would keep the process, and `close` of the client, until its deadline.
      drop.abort();
      signal?.removeEventListener("abort", onAbort);
    }
  }

  /** @param dropped ends what is requested ahead; `undefined` where nothing is. */
  async *#pages(dropped: AbortSignal | undefined): AsyncGenerator<Page<Item>, void, undefined> {
    const { name } = this.#operation;
    const { trustCursor = false, size } = this.#query;
    // Cursors that always move forward can't repeat; only trusted ones can go round in a circle.
    const requested = trustCursor ? new Set<string>() : undefined;
    const position = this.#position ?? new ListPosition(this.#direction, this.#tokenOf);
    let ahead: Promise<Received<Item>> | undefined;
    for (;;) {
      if (!trustCursor) await this.#assertOrder(position);
      const received = await this.#nextPage(position, ahead);
      if (received === undefined) return yield* this.#atEnd(position);
      const { fields, news } = received;
      const isFirst = position.isAtStart;
      this.#assertAfter(position, received);
      if (!trustCursor)
        position.order = assertOneOrder(name, fields, position.pageBefore(received), position.order, this.#direction);
      const obstacle = obstacleAfter(fields, this.#query, this.#direction);
      position.advance(received, news, size);
      const cursor = obstacle === undefined ? fields.tokens.at(-1) : undefined;
      ahead = dropped !== undefined && cursor !== undefined ? this.#prefetch(position, dropped) : undefined;
      yield this.#toPage(received);
      if (obstacle !== undefined && !isFirst) this.#fail(obstacle.message);
      if (obstacle !== undefined) return yield* this.#restOf(received.items, fields.tokens, obstacle);
      if (cursor === undefined) return;
      if (requested !== undefined) assertNotRequested(name, cursor, requested);
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
    for await (const page of this.pages()) {
      if (items.length + page.items.length > max) {
        throw new PagingError(`${name}: there are more than ${max} records`, { operation: name });
      }
      for (const item of page.items) items.push(item);
    }
    return items;
  }

  /** The next page, requested while this one is being processed. Whatever is wrong with it is reported when it is needed. */
  #prefetch(position: ListPosition, signal: AbortSignal): Promise<Received<Item>> {
    const next = this.#request(position, this.#startAt(position), { ...this.#options, signal });
    next.catch(() => {});
    return next;
  }

  #startAt(position: ListPosition): PageStart {
    return this.#query.trustCursor === true ? "after" : position.next;
  }

  async #request(position: ListPosition, start: PageStart, options = this.#options): Promise<Received<Item>> {
    const { name } = this.#operation;
    const { after, before, size, trustCursor } = this.#query;
    const token = position.tokenBefore(start);
    const paging = toPagingValues(this.#query, this.#direction, token);
    const { data: items, response } = await this.#read({ ...paging, _size: position.sizeOf(start, size) }, options);
    const fields = cursorFieldsOf(items, this.#tokenOf, this.#direction);
    if (fields.hasRepeatedId) this.#fail("a record appears twice on one page");
    const bound = this.#direction === "up" ? after : before;
    if (token !== undefined && start !== "after") assertEachAfter(name, fields, token, this.#direction);
    if (token === undefined && bound !== undefined && trustCursor !== true) {
      assertAfterBound(name, fields, bound, this.#direction);
    }
    const received = { items, fields, start, response };
    return { ...received, news: position.newsOf(received) };
  }

  /** The next page with records that were not handed out; `undefined` where it is proved that there is none. */
  async #nextPage(
    position: ListPosition,
    ahead: Promise<Received<Item>> | undefined,
  ): Promise<Received<Item> | undefined> {
    const first = await (ahead ?? this.#request(position, this.#startAt(position)));
    if (position.evidenceOf(first) === "more") return first;
    if (position.isAtStart) return this.#isContinued ? undefined : orNone(await this.#request(position, "after"));
    return this.#query.trustCursor === true ? undefined : this.#proveEnd(position, first);
  }

  /** An empty page ends the list only where the last record is still shown: a machine that lags behind, or fails once, does not show it. */
  async #proveEnd(position: ListPosition, first: Received<Item>): Promise<Received<Item> | undefined> {
    const wasEmpty = first.start === "after";
    let received = wasEmpty ? await this.#request(position, "overlap") : first;
    if (position.isOneOfDescending) return this.#afterFirst(position, received);
    if (position.evidenceOf(received) === "none") {
      await this.#pause();
      received = await this.#request(position, position.again);
    }
    const evidence = position.evidenceOf(received);
    if (evidence === "more") return received;
    if (evidence === "end" && (wasEmpty || position.canShowEnd)) return undefined;
    // From a list with a filter its last record may rightly have gone.
    if (evidence === "none" && (received.news.length > 0 || !this.#isFiltered))
      this.#fail(lastNotShown, "paging_end_unproved");
    return orNone(await this.#request(position, "after"));
  }

  /** Of a descending list of one record. Where newer ones have taken its place on the page, it has to be the oldest of all. */
  async #afterFirst(position: ListPosition, again: Received<Item>): Promise<Received<Item> | undefined> {
    const evidence = position.evidenceOf(again);
    if (evidence === "more") return again;
    position.isWhole = evidence === "end";
    if (position.isWhole) return undefined;
    const received = await this.#request(position, "after");
    if (received.news.length > 0 || this.#isFiltered) return orNone(received);
    const paging = {
      ...toPagingValues(this.#query, this.#direction, undefined),
      _sort: this.#byToken("asc").join(","),
    };
    const [oldest] = (await this.#read(paging)).data;
    if (oldest === undefined || !position.wasRead(oldest)) this.#fail(lastNotShown, "paging_end_unproved");
    return undefined;
  }

  async #pause(): Promise<void> {
    const deadline = new Deadline({ signal: this.#options.signal });
    try {
      // The request after it tells of the signal.
      await deadline.sleep(againAfterMs).catch(() => {});
    } finally {
      deadline.finish();
    }
  }

  /** Where a caller continues upwards, that there is nothing new is no surprise. */
  get #isContinued(): boolean {
    const { after, trustCursor } = this.#query;
    return trustCursor === true || (this.#direction === "up" && after !== undefined);
  }

  /** The order of the tokens, whatever the list is sorted by: one that grew says nothing of when its record was created. */
  #byToken(order: "asc" | "desc"): NonNullable<ParsedListQuery<Item>["sort"]> {
    const { sort = [], cursor } = this.#query;
    if (cursor === undefined) return [`pagingToken.${order}`];
    return sort.map((term) => term.replace(/\.desc$/, `.${order}`) as typeof term);
  }

  get #isFiltered(): boolean {
    return Object.values(this.#query.filter ?? {}).some((value) => value !== undefined);
  }

  #assertAfter(position: ListPosition, { fields, start, news }: Received<Item>): void {
    const { name } = this.#operation;
    const { last } = position;
    if (last === undefined) return;
    if (start === "after") assertAfter(name, fields, last, this.#direction, this.#query.trustCursor === true);
    else assertNoneAgain(name, cursorFieldsOf(news, this.#tokenOf, this.#direction).ids, last.ids);
  }

  /** Of a page that shows no order, nothing that lies before it may have been passed over. */
  async #assertOrder(position: ListPosition): Promise<void> {
    const { unproved } = position;
    if (unproved === undefined) return;
    const { page, before } = unproved;
    const isShown =
      this.#direction === "down" && (await this.#followsFirst(position, before?.tokens[0], page.tokens[0]));
    if (!isShown) await this.#assertNoneSkipped(page, before);
    position.unproved = undefined;
  }

  /**
   * Whether the second record of a descending list follows the first: a machine that does not know the first one knows of none between
   * them. False where newer ones fill the page.
   */
  async #followsFirst(position: ListPosition, first: string | undefined, second: string | undefined): Promise<boolean> {
    if (first === undefined || second === undefined) return false;
    const { _size, ...bounds } = toPagingValues(this.#query, this.#direction, undefined);
    const paging = { ...bounds, _size: position.sizeOf("overlap", _size) };
    for (let attempt = 0; ; attempt++) {
      const tokens = (await this.#read(paging)).data.map(this.#tokenOf);
      const next = tokens.includes(first) ? tokens[tokens.indexOf(first) + 1] : undefined;
      if (next === second) return true;
      if (this.#isBetween(first, next, second)) this.#fail(passedOver, "paging_end_unproved");
      const isOlder = tokens.every((token) => token !== undefined && leadsOn(first, token, this.#direction));
      if (!isOlder || (attempt > 0 && this.#isFiltered)) return false;
      if (attempt > 0) this.#fail(lastNotShown, "paging_end_unproved");
      await this.#pause();
    }
  }

  /** What a list shows only when it was read: that it was sorted, and what went to the beginning of a descending one. */
  async *#atEnd(position: ListPosition): AsyncGenerator<Page<Item>, void, undefined> {
    const { first, pages, isOrderShown } = position;
    const { sort, trustCursor = false } = this.#query;
    if (first === undefined || sort === undefined || trustCursor) return;
    const above = this.#direction === "down" ? await this.#above(position) : undefined;
    if (above?.every((item) => position.wasRead(item))) return;
    // A service that sorts only what it cut out gives one page, of the wrong end.
    if (pages === 1 && isOrderShown) await this.#assertNoneSkipped(first, undefined);
    if (above !== undefined) yield* this.#unreadOf(above, position);
    else if (this.#direction === "down") yield* this.#unreadAbove(position);
  }

  /** What stands above the second record of a descending list; `undefined` where it fills a page, or the machine does not know the first one. */
  async #above(position: ListPosition): Promise<readonly Item[] | undefined> {
    const second = position.head[1];
    if (second === undefined) return position.isWhole ? [] : undefined;
    const paging = toPagingValues(this.#query, this.#direction, undefined);
    const _size = position.sizeOf("further back", this.#query.size);
    const { data } = await this.#read({ ...paging, _after: second, _size });
    return position.isAllAbove(data) ? data : undefined;
  }

  /**
   * The records above a descending list that were not read: their tokens grew meanwhile, or they are new, which nothing tells for sure.
   * Upwards, past what was on top when the list was read to its end, and on to a short page, since what moves goes ahead of this. They are
   * handed out when all have been read: while a reader takes its time with one, others come.
   */
  async *#unreadAbove(position: ListPosition): AsyncGenerator<Page<Item>, void, undefined> {
    const after = position.head.at(-1) ?? "";
    const size = position.sizeOf("further back", this.#query.size);
    const query = { ...this.#query, sort: this.#byToken("asc"), after, size };
    const upwards = directionOf(query.sort);
    const bounds = toPagingValues(query, upwards, undefined);
    const newest = await this.#read({ ...bounds, _size: 1, _sort: this.#byToken("desc").join(",") });
    const [top] = newest.data.map(this.#tokenOf);
    const unread: Page<Item>[] = [];
    for (let attempt = 0; attempt < 2; attempt++) {
      if (attempt > 0) await this.#pause();
      let isShown = position.head.length < 2;
      let pagesPast = 0;
      const up = new ListPosition(upwards, this.#tokenOf);
      const above = new Listing(this.#client, this.#operation, this.#ids, query, this.#options, up);
      for await (const { items } of above.pages()) {
        isShown ||= items.some((item) => position.wasInList(item));
        unread.push(...this.#unreadOf(items, position));
        const { tokens } = up.last ?? { tokens: [] };
        const isShort = position.isShorter(tokens.length);
        if (top !== undefined && leadsOn(tokens.at(-1) ?? "", top, upwards)) continue;
        pagesPast += 1;
        if (isShown && (isShort || pagesPast > mostPagesPast)) return yield* unread;
      }
      if (isShown) return yield* unread;
    }
    if (!this.#isFiltered) this.#fail(lastNotShown, "paging_end_unproved");
    yield* unread;
  }

  *#unreadOf(items: readonly Item[], position: ListPosition): Generator<Page<Item>, void, undefined> {
    const unread = items.filter((item) => !position.wasRead(item));
    for (const item of unread) position.noteAbove(item);
    if (unread.length > 0) yield new Page(unread, () => undefined, this.#direction);
  }

  #toPage({ news, fields }: Received<Item>): Page<Item> {
    return new Page(news, () => this.#next(fields), this.#direction);
  }

  #read(paging: PagingValues, options = this.#options): Promise<WithResponse<Item[]>> {
    const input = { paging, query: this.#query.filter };
    return this.#client.call(this.#operation, this.#ids, input, options).withResponse();
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
    const isBetween = (token: string | undefined) => this.#isBetween(last, token, first);
    const tokens = data.map(this.#tokenOf);
    // With this record among them, the service ignores the bound, or includes it.
    if (tokens.length === 0 || (tokens.includes(first) && !tokens.some(isBetween))) return;
    // They may have come since, or be listed late. Then they come first when the page is read again.
    const again = await this.#read(paging);
    if (!isBetween(again.data.map(this.#tokenOf)[0])) this.#fail(describeSkipped(this.#query.sort));
    if (this.#direction === "down" && last !== undefined) this.#fail(passedOver, "paging_end_unproved");
  }

  /** @param before `undefined` for the beginning of the list. */
  #isBetween(before: string | undefined, token: string | undefined, after: string): boolean {
    if (token === undefined || !leadsOn(token, after, this.#direction)) return false;
    return before === undefined || leadsOn(before, token, this.#direction);
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
      if (error instanceof ApiError && isRefusedQuestion(error.status)) return "refused" as const;
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
    const { data: after } = await this.#read({ _size, _after: token, _before });
    if (after.length > 0) return false;
    const { data: ahead } = await this.#read({ _size, _after, _before: token });
    return ahead.length === 0;
  }

  readonly #readById = async (sort: IdOrder, size: number | undefined): Promise<readonly Item[]> => {
    const { after, before } = this.#query;
    return (await this.#read({ _size: size, _after: after, _before: before, _sort: sort })).data;
  };

  #fail(message: string, code: ErrorCode = "paging"): never {
    const { name: operation } = this.#operation;
    throw new PagingError(`${operation}: ${message}`, { operation, code });
  }
}

function orNone<Item>(received: Received<Item>): Received<Item> | undefined {
  return received.news.length > 0 ? received : undefined;
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

import { ApiError, type ErrorCode, PagingError } from "../core/errors.js";
import { isRefusedQuestion } from "../wire/response.js";
import { type Direction, Page } from "./page.js";

/** What a page is requested with. */
export interface PageRequest {
  readonly size?: number | undefined;
  readonly sort?: string | undefined;
  readonly after?: string | undefined;
  readonly before?: string | undefined;
}

/** What the reader needs from outside: a request for one page, and a wait. */
export interface ListSource<Item> {
  /** The operation, for messages. */
  readonly name: string;
  /** @param dropped ends a request that was made ahead. */
  ask(request: PageRequest, dropped?: AbortSignal): Promise<readonly Item[]>;
  sleep(ms: number): Promise<void>;
}

export interface ReaderQuery<Item> {
  readonly size?: number | undefined;
  readonly sort?: readonly string[] | undefined;
  /** Sent if the caller gave no `sort`, and left out again if the service refuses it. */
  readonly defaultSort?: string | undefined;
  readonly after?: string | undefined;
  readonly before?: string | undefined;
  readonly isFiltered?: boolean;
  readonly cursor?: ((record: Item) => unknown) | undefined;
  readonly trustCursor?: boolean | undefined;
  /** Requests one page ahead. */
  readonly prefetch?: boolean | undefined;
  /** The caller's, which ends a page that was requested ahead, too. */
  readonly signal?: AbortSignal | undefined;
}

const errors = {
  repeated: ["paging", "a record appears twice on one page."],
  unnamed: ["paging", "a record has neither an id nor a paging token."],
  inexact: ["paging", "an id or a paging token is a number that JavaScript can't represent exactly."],
  someTokens: ["paging", "some records of a page have no paging token, or cursor didn't return a non-empty string."],
  noToken: [
    "paging_no_token",
    "records have no pagingToken, so there is no next page. Pass cursor, a function that returns a record's token, or a filter that leaves one page.",
  ],
  sort: [
    "paging_sort",
    'paging tokens may not follow this sort, so a second page could skip records. Use sort: "pagingToken.desc" for newest first, or a filter that leaves one page.',
  ],
  order: [
    "paging_order",
    "the tokens of a page run against sort, so the service doesn't sort as asked. Leave sort out.",
  ],
  oneToken: ["paging_end_unproved", "all records of a page have one paging token. Ask for a larger size."],
  cursorIgnored: [
    "paging_cursor_ignored",
    "the service gave the same page again, so it ignores the cursor. Ask for a size that fits the whole list.",
  ],
  sortIgnored: [
    "paging_sort_ignored",
    "other records come before the first one, so the service sorts only the page that it cut out. Leave sort out.",
  ],
  endUnproved: [
    "paging_end_unproved",
    "the service no longer shows the last record that it listed, so nothing proves that the list ends there. Read it again.",
  ],
} as const satisfies Record<string, readonly [ErrorCode, string]>;

/** On the first page, a proof that the page is the whole list overcomes these. */
const provable: ReadonlySet<string> = new Set([errors.noToken[0], errors.sort[0], errors.oneToken[0]]);

const waitsMs = [250, 500, 1000, 2000];
const wholeNumber = /^-?\d+$/;

/**
 * Reads every record of a list once, or fails with an error that says what to do (docs/lists.md).
 *
 * Tokens are opaque. Each page after the first overlaps the page before it by one record, which must be shown again. That works
 * whether or not the service's bounds are inclusive, and detects a replica that lags, a cache, and a cursor that is ignored.
 */
export class ListReader<Item> {
  readonly #source: ListSource<Item>;
  readonly #query: ReaderQuery<Item>;
  readonly #seen = new Set<string>();
  #sort: string | undefined;
  #direction: Direction;
  /** A list without a sort whose service turned out to list newest first. */
  #isTurned = false;
  #longest = 0;
  #pagesWithoutNews = 0;

  constructor(source: ListSource<Item>, query: ReaderQuery<Item>) {
    this.#source = source;
    this.#query = query;
    this.#sort = query.sort?.join(",") ?? query.defaultSort;
    this.#direction = query.sort?.[0]?.endsWith(".desc") ? "down" : "up";
  }

  /** The first page, as the caller asked for it. */
  async first(): Promise<readonly Item[]> {
    try {
      return await this.#request({});
    } catch (error) {
      const isRefused = error instanceof ApiError && error.status === 400;
      if (!isRefused || this.#query.sort !== undefined || this.#sort === undefined) throw error;
      this.#sort = undefined;
    }
    return await this.#request({});
  }

  /** A page that isn't read on from. */
  single(items: readonly Item[]): Page<Item> {
    const fresh = items.filter((item) => !this.#isOnBound(item));
    return this.#toPage(fresh, items, this.#obstacleAfter(items));
  }

  /**
   * Every page with new records.
   *
   * @throws {PagingError} if the list can't be read to its end without losing records.
   */
  async *pages(): AsyncGenerator<Page<Item>, void, undefined> {
    const { prefetch, signal } = this.#query;
    const drop = prefetch ? new AbortController() : undefined;
    const onAbort = () => drop?.abort(signal?.reason);
    if (prefetch) signal?.addEventListener("abort", onAbort);
    try {
      const head = this.#distinct(await this.first());
      let items = head;
      for (let isFirst = true; items.length > 0; isFirst = false) {
        const obstacle = this.#obstacleAfter(items);
        const page = this.#toPage(this.#take(items), items, obstacle);
        const isAhead = drop !== undefined && obstacle === undefined;
        const ahead = isAhead ? this.#request(this.#boundAt(this.#startAfter(items).token), drop.signal) : undefined;
        ahead?.catch(() => {});
        if (page.items.length > 0) yield page;
        if (obstacle !== undefined) {
          if (!isFirst || !provable.has(obstacle.code)) throw obstacle;
          return yield* this.#provenWhole(obstacle);
        }
        const following = await this.#following(items, isFirst, ahead);
        if (following === "end") return yield* this.#above(head, isFirst);
        if (following === "repeated") return yield* this.#provenWhole(this.#error("cursorIgnored"));
        items = following;
      }
    } finally {
      drop?.abort();
      signal?.removeEventListener("abort", onAbort);
    }
  }

  /** The page after this one; "end"; or "repeated" if the service gives the same page again. */
  async #following(
    items: readonly Item[],
    isFirst: boolean,
    ahead: Promise<readonly Item[]> | undefined,
  ): Promise<readonly Item[] | "end" | "repeated"> {
    const { token, isOverlap } = this.#startAfter(items);
    let page = this.#distinct(await (ahead ?? this.#request(this.#boundAt(token))));
    for (let attempt = 0; ; attempt++) {
      const verdict = this.#judge(page, items, isFirst, isOverlap);
      if (verdict === "more" || (verdict === "gap" && this.#query.isFiltered && attempt > 0)) return page;
      if (verdict === "end" || verdict === "repeated") return verdict;
      if (verdict === "unproved" && attempt === 0 && isFirst && this.#query.sort === undefined) {
        const other = await this.#turned(items, token, isOverlap);
        if (other !== undefined) return other;
      }
      if (verdict === "unproved" && this.#query.isFiltered) {
        // The last record may rightly have left a filtered list.
        const rest = this.#distinct(await this.#request(this.#boundAt(this.#tokenOf(items.at(-1)) ?? token)));
        return this.#hasNews(rest) ? rest : "end";
      }
      const waitMs = waitsMs[attempt];
      if (waitMs === undefined) throw this.#error("endUnproved");
      await this.#source.sleep(waitMs);
      page = this.#distinct(await this.#request(this.#boundAt(token)));
    }
  }

  /**
   * What a page says about the records after the page before it. A gap: it has new records, but doesn't show the last one. Then the
   * last one has moved, or, in a descending list, the page comes from a replica that doesn't know the records between.
   */
  #judge(
    page: readonly Item[],
    before: readonly Item[],
    isFirst: boolean,
    isOverlap: boolean,
  ): "more" | "gap" | "end" | "repeated" | "unproved" {
    const ids = page.map((item) => this.#keyOf(item));
    const [start, last] = [this.#keyOf(before[0]), this.#keyOf(before.at(-1))];
    const isGap = this.#direction === "down" && isOverlap && !ids.includes(last);
    if (this.#hasNews(page)) return isGap ? "gap" : "more";
    if (!isOverlap && page.length <= 1) return "end";
    if (!ids.includes(last)) return "unproved";
    if (ids[0] === start && ids.length === before.length) {
      // Two records and inclusive bounds. After the first page, the cursor isn't ignored.
      return ids.length <= 2 ? "end" : isFirst ? "repeated" : "unproved";
    }
    if (ids.at(-1) === last) return ids[0] === start ? "unproved" : "end";
    // Records that moved fill the page behind the last one.
    return ++this.#pagesWithoutNews <= 3 ? "more" : "unproved";
  }

  /** Asks once in the other direction, in case the service lists newest first if it isn't told how to sort. */
  async #turned(
    items: readonly Item[],
    token: string,
    isOverlap: boolean,
  ): Promise<readonly Item[] | "end" | undefined> {
    this.#isTurned = true;
    this.#direction = "down";
    const other = this.#distinct(await this.#request(this.#boundAt(token)));
    const verdict = this.#judge(other, items, true, isOverlap);
    if (verdict === "more") return other;
    if (verdict === "end") return "end";
    this.#isTurned = false;
    this.#direction = "up";
    return undefined;
  }

  /**
   * Records that came or moved above the beginning of a descending list while it was read. They are handed out last. A full page of
   * them above a single page means that the service sorts only what it cut out: the list began at its wrong end.
   */
  async *#above(head: readonly Item[], isSinglePage: boolean): AsyncGenerator<Page<Item>, void, undefined> {
    const after = this.#tokenOf(head[0]);
    if (this.#direction === "up" || this.#isTurned || this.#query.trustCursor || after === undefined) return;
    let page = this.#distinct(await this.#request({ after }));
    for (let pagesWithoutNews = 0; pagesWithoutNews < 4; pagesWithoutNews++) {
      const isFull = page.length >= Math.max(3, this.#longest);
      const fresh = this.#take(page);
      if (isSinglePage && isFull && fresh.length === page.length) throw this.#error("sortIgnored");
      if (fresh.length > 0) {
        pagesWithoutNews = 0;
        yield new Page(fresh, this.#direction);
      }
      if (!isFull) return;
      page = this.#distinct(await this.#request({ after, before: this.#startAfter(page).token }));
    }
    throw this.#error("endUnproved");
  }

  /**
   * Proves that the first page is the whole list: sorted by id from both ends, the list shows the same records in opposite orders,
   * and fewer than asked for.
   *
   * @throws the given error if that fails.
   */
  async *#provenWhole(error: PagingError): AsyncGenerator<Page<Item>, void, undefined> {
    for (let attempt = 0; attempt < 2; attempt++) {
      const size = Math.max(2 * this.#seen.size, 20) + 1;
      const [up, down] = [await this.#askSorted("id.asc", size, error), await this.#askSorted("id.desc", size, error)];
      const ids = up.map((item) => this.#keyOf(item));
      const opposite = down.map((item) => this.#keyOf(item)).reverse();
      const isWhole =
        ids.length < size &&
        ids.length >= this.#seen.size &&
        ids.length === opposite.length &&
        ids.every((id, index) => id === opposite[index]);
      const fresh = isWhole ? up.filter((item) => this.#isNew(item)) : [];
      if (isWhole && fresh.length === 0) return;
      if (isWhole && this.#query.sort === undefined) {
        return yield new Page(this.#take(fresh), this.#direction);
      }
    }
    throw error;
  }

  async #askSorted(sort: string, size: number, error: PagingError): Promise<readonly Item[]> {
    try {
      return this.#distinct(await this.#request({ sort, size }));
    } catch (cause) {
      throw cause instanceof ApiError && isRefusedQuestion(cause.status) ? error : cause;
    }
  }

  /** Requests a page; the caller's own bounds, size, and order count unless `request` has others. */
  #request(request: PageRequest, dropped?: AbortSignal): Promise<readonly Item[]> {
    const { size, after, before } = this.#query;
    return this.#source.ask({ size, sort: this.#sort, after, before, ...request }, dropped);
  }

  #distinct(items: readonly Item[]): readonly Item[] {
    const ids = new Set(items.map((item) => this.#keyOf(item)));
    if (ids.size < items.length) throw this.#error("repeated");
    return items;
  }

  #boundAt(token: string): PageRequest {
    return this.#direction === "up" ? { after: token } : { before: token };
  }

  /** The next page starts at the last record but one, so that it shows the last one again. */
  #startAfter(items: readonly Item[]): { readonly token: string; readonly isOverlap: boolean } {
    const last = this.#tokenOf(items.at(-1));
    for (let index = items.length - 2; index >= 0; index--) {
      const token = this.#tokenOf(items[index]);
      if (token !== undefined && token !== last) return { token, isOverlap: true };
    }
    return { token: last ?? "", isOverlap: false };
  }

  /** Why the list can't continue after a page. */
  #obstacleAfter(items: readonly Item[]): PagingError | undefined {
    if (items.length === 0) return undefined;
    const tokens = items.map((item) => this.#tokenOf(item));
    const { cursor, sort: [term] = [], trustCursor } = this.#query;
    if (tokens.includes(undefined)) {
      const hasNone = cursor === undefined && tokens.every((token) => token === undefined);
      return this.#error(hasNone ? "noToken" : "someTokens");
    }
    if (trustCursor) return undefined;
    if (term !== undefined && !this.#isTokenOrder(term, items, tokens)) return this.#error("sort");
    if (tokens.length > 1 && new Set(tokens).size === 1) return this.#error("oneToken");
    return term !== undefined && isAgainst(tokens, this.#direction) ? this.#error("order") : undefined;
  }

  /** Whether a list can have several pages in this order: that of its tokens. */
  #isTokenOrder(term: string, items: readonly Item[], tokens: readonly (string | undefined)[]): boolean {
    const field = term.replace(/\.(?:asc|desc)$/, "");
    if (this.#query.cursor === undefined) return field === "pagingToken";
    return items.every((item, index) => textOf(fieldOf(item, field)) === tokens[index]);
  }

  #tokenOf(item: Item | undefined): string | undefined {
    if (item === undefined) return undefined;
    const { cursor } = this.#query;
    const token = cursor === undefined ? fieldOf(item, "pagingToken") : cursor(item);
    return this.#exact(token);
  }

  /** What tells a record from all others. */
  #keyOf(item: Item | undefined): string {
    const key = item === undefined ? undefined : (this.#exact(fieldOf(item, "id")) ?? this.#tokenOf(item));
    if (key === undefined) throw this.#error("unnamed");
    return key;
  }

  #exact(value: unknown): string | undefined {
    if (typeof value !== "number" || Number.isSafeInteger(value)) return textOf(value);
    throw this.#error("inexact");
  }

  #isNew(item: Item): boolean {
    return !this.#seen.has(this.#keyOf(item)) && !this.#isOnBound(item);
  }

  /** The caller's own bounds are exclusive, even if the service's are not. */
  #isOnBound(item: Item): boolean {
    const { after, before } = this.#query;
    if (after === undefined && before === undefined) return false;
    const token = this.#tokenOf(item);
    return token !== undefined && (token === after || token === before);
  }

  #hasNews(items: readonly Item[]): boolean {
    return items.some((item) => this.#isNew(item));
  }

  /** The records that were not handed out before; from now on they were. */
  #take(items: readonly Item[]): readonly Item[] {
    const fresh = items.filter((item) => this.#isNew(item));
    for (const item of fresh) this.#seen.add(this.#keyOf(item));
    this.#longest = Math.max(this.#longest, items.length);
    if (fresh.length > 0) this.#pagesWithoutNews = 0;
    return fresh;
  }

  #toPage(fresh: readonly Item[], items: readonly Item[], obstacle: PagingError | undefined): Page<Item> {
    const next = obstacle?.code === "paging_no_token" ? undefined : (obstacle ?? this.#tokenOf(items.at(-1)));
    return new Page(fresh, this.#direction, next);
  }

  #error(kind: keyof typeof errors): PagingError {
    const [code, message] = errors[kind];
    const { name: operation } = this.#source;
    return new PagingError(`${operation}: ${message}`, { operation, code });
  }
}

/** Whether tokens that are whole numbers move against the direction, as numbers and as texts. */
function isAgainst(tokens: readonly (string | undefined)[], direction: Direction): boolean {
  const texts = tokens.map(String);
  if (!texts.every((token) => wholeNumber.test(token))) return false;
  const moves = <Value>(values: readonly Value[]) =>
    values.every((value, index) => {
      const previous = values[index - 1] ?? value;
      return direction === "up" ? previous <= value : previous >= value;
    });
  return !moves(texts) && !moves(texts.map(BigInt));
}

function fieldOf(item: unknown, field: string): unknown {
  return (item as Readonly<Record<string, unknown>>)[field];
}

/** A token or id as text: a string that isn't empty, or a whole number that JavaScript holds exactly. */
export function textOf(value: unknown): string | undefined {
  if (Number.isSafeInteger(value)) return String(value);
  return typeof value === "string" && value !== "" ? value : undefined;
}

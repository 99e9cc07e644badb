import type { PagingValues } from "../api/api-client.js";
import type { ListQuery } from "../api/list-query.js";
import type { RequestOptions } from "../api/request-options.js";
import { ApiError, type ErrorCode, PagingError } from "../core/errors.js";
import { isRefusedQuestion } from "../wire/response.js";
import { type Direction, Page } from "./page.js";

/** Requests pages and waits for the reader. */
export interface ListSource<Item> {
  /** The operation, for messages. */
  readonly name: string;
  /** @param dropped ends a request that was made ahead. */
  ask(paging: PagingValues, dropped?: AbortSignal): Promise<readonly Item[]>;
  sleep(ms: number): Promise<void>;
}

export interface ReaderQuery<Item>
  extends Omit<ListQuery<Item, never>, "sort" | "filter" | "cursor">,
    Pick<RequestOptions, "signal"> {
  readonly sort?: readonly string[] | undefined;
  /** Sent if the caller gave no `sort`, and left out again if the service refuses it. */
  readonly defaultSort?: string | undefined;
  readonly isFiltered?: boolean;
  readonly cursor?: ((record: Item) => unknown) | undefined;
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
const provable: ReadonlySet<string> = new Set(
  [errors.noToken, errors.sort, errors.oneToken, errors.cursorIgnored].map(([code]) => code),
);

const waitsMs = [250, 500, 1000, 2000];
const wholeNumber = /^-?\d+$/;

/** A page as the reader compares it with others. */
interface Shown<Item> {
  readonly items: readonly Item[];
  readonly ids: readonly string[];
  readonly tokens: Tokens;
}

type Tokens = readonly (string | undefined)[];

/**
 * Reads every record of a list once, or fails with an error that says what to do (docs/lists.md).
 *
 * Tokens are opaque. Each page after the first overlaps the page before it by one record, which must be shown again. That works
 * whether or not the service's bounds are inclusive, and detects a replica that lags, a cache, and a cursor that is ignored.
 */
export class ListReader<Item> {
  readonly #source: ListSource<Item>;
  readonly #query: ReaderQuery<Item>;
  /** The ids of all records that were handed out. */
  readonly #seen: Set<string>;
  #sort: string | undefined;
  #direction: Direction;
  #longest = 0;
  #pagesWithoutNews = 0;

  constructor(source: ListSource<Item>, query: ReaderQuery<Item>, seen = new Set<string>()) {
    this.#source = source;
    this.#query = query;
    this.#seen = seen;
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
      return await this.#request({});
    }
  }

  /** A page that the reading doesn't continue from. */
  single(items: readonly Item[]): Page<Item> {
    const tokens = items.map((item) => this.#tokenOf(item));
    return this.#toPage(items, tokens, this.#obstacleAfter(items, tokens));
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
      const head = this.#show(await this.first());
      let page = head;
      while (page.items.length > 0) {
        const isFirst = page === head;
        const obstacle = this.#obstacleAfter(page.items, page.tokens);
        const fresh = this.#take(page.items, page.ids);
        const isAhead = drop !== undefined && obstacle === undefined;
        const ahead = isAhead ? this.#continue(startAfter(page.tokens).token, drop.signal) : undefined;
        ahead?.catch(() => {});
        if (fresh.length > 0) yield this.#toPage(fresh, page.tokens, obstacle);
        const next = obstacle ?? (await this.#following(page, isFirst, ahead));
        if (next === "end") return yield* this.#above(head, isFirst);
        if (next instanceof PagingError) {
          if (!isFirst || !provable.has(next.code)) throw next;
          return yield* this.#provenWhole(next);
        }
        page = next;
      }
    } finally {
      drop?.abort();
      signal?.removeEventListener("abort", onAbort);
    }
  }

  /** The page after this one, the end, or an error if the service gives the same page again. */
  async #following(
    page: Shown<Item>,
    isFirst: boolean,
    ahead: Promise<readonly Item[]> | undefined,
  ): Promise<Shown<Item> | "end" | PagingError> {
    const { sort, isFiltered } = this.#query;
    const { token, isOverlap } = startAfter(page.tokens);
    for (let attempt = 0; ; attempt++) {
      const next = this.#show(await ((attempt === 0 && ahead) || this.#continue(token)));
      const verdict = this.#judge(next, page, isFirst, isOverlap);
      if (verdict === "more" || (verdict === "gap" && isFiltered && attempt > 0)) return next;
      if (verdict === "end") return verdict;
      if (verdict === "repeated") return this.#error("cursorIgnored");
      if (verdict === "unproved" && attempt === 0 && isFirst && sort === undefined) {
        // The service may list newest first if it isn't told how to sort.
        this.#direction = "down";
        const other = this.#show(await this.#continue(token));
        const turned = this.#judge(other, page, true, isOverlap);
        if (turned === "more") return other;
        if (turned === "end") return turned;
        this.#direction = "up";
      }
      if (verdict === "unproved" && isFiltered) {
        // The last record may rightly have left a filtered list.
        const rest = this.#show(await this.#continue(page.tokens.at(-1) ?? token));
        return this.#hasNews(rest.ids) ? rest : "end";
      }
      const waitMs = waitsMs[attempt];
      if (waitMs === undefined) throw this.#error("endUnproved");
      await this.#source.sleep(waitMs);
    }
  }

  /**
   * Decides what a page says about the records after the page before it. A gap has new records, but doesn't show the last one. The
   * last one has moved, or, in a descending list, a replica that lags doesn't know the records in between.
   */
  #judge(
    { ids }: Shown<Item>,
    { ids: before }: Shown<Item>,
    isFirst: boolean,
    isOverlap: boolean,
  ): "more" | "gap" | "end" | "repeated" | "unproved" {
    const last = before.at(-1) ?? "";
    const isShown = ids.includes(last);
    const isSameStart = ids[0] === before[0];
    if (this.#hasNews(ids)) return this.#direction === "down" && isOverlap && !isShown ? "gap" : "more";
    if (!isOverlap && ids.length <= 1) return "end";
    if (!isShown) return "unproved";
    if (isSameStart && ids.length === before.length) {
      // Two records and inclusive bounds. After the first page, the cursor isn't ignored.
      return ids.length <= 2 ? "end" : isFirst ? "repeated" : "unproved";
    }
    if (ids.at(-1) === last) return isSameStart ? "unproved" : "end";
    // Records that moved fill the page behind the last one.
    return ++this.#pagesWithoutNews <= 3 ? "more" : "unproved";
  }

  /**
   * Records that were added above the beginning of a descending list while it was read. They are read upward, as a list of their own.
   * A full page of them above a single page means that the service sorts only what it cut out.
   */
  async *#above({ tokens: [after] }: Shown<Item>, isSinglePage: boolean): AsyncGenerator<Page<Item>, void, undefined> {
    const { sort: [term = ""] = [], trustCursor, ...query } = this.#query;
    if (!term.endsWith(".desc") || trustCursor || after === undefined) return;
    const sort = [term.replace(/desc$/, "asc")];
    for await (const page of new ListReader(this.#source, { ...query, sort, after }, this.#seen).pages()) {
      if (isSinglePage && page.items.length >= Math.max(3, this.#longest)) throw this.#error("sortIgnored");
      yield new Page(page.items, "down");
    }
  }

  /**
   * Proves that the first page is the whole list. Sorted by id from both ends, the list must show the same records in opposite
   * orders, and fewer than asked for.
   *
   * @throws the given error if that fails.
   */
  async *#provenWhole(error: PagingError): AsyncGenerator<Page<Item>, void, undefined> {
    const ask = async (sort: string, size: number) => this.#show(await this.#request({ _sort: sort, _size: size }));
    try {
      for (let attempt = 0; attempt < 2; attempt++) {
        const size = Math.max(2 * this.#seen.size, 20) + 1;
        const [{ items, ids }, down] = [await ask("id.asc", size), await ask("id.desc", size)];
        const isOpposite = JSON.stringify(ids) === JSON.stringify(down.ids.toReversed());
        if (!isOpposite || ids.length >= size || ids.length < this.#seen.size) continue;
        if (!this.#hasNews(ids)) return;
        if (this.#query.sort === undefined) return yield new Page(this.#take(items, ids), this.#direction);
      }
    } catch (cause) {
      throw cause instanceof ApiError && isRefusedQuestion(cause.status) ? error : cause;
    }
    throw error;
  }

  #continue(token: string, dropped?: AbortSignal): Promise<readonly Item[]> {
    return this.#request(this.#direction === "up" ? { _after: token } : { _before: token }, dropped);
  }

  /**
   * Requests a page. The caller's own bounds, size, and order count unless `request` has others. Its bounds are exclusive, even if
   * the service's are not.
   */
  async #request(request: PagingValues, dropped?: AbortSignal): Promise<readonly Item[]> {
    const { size, after, before } = this.#query;
    const paging = { _size: size, _sort: this.#sort, _after: after, _before: before };
    const items = await this.#source.ask({ ...paging, ...request }, dropped);
    if (after === undefined && before === undefined) return items;
    return items.filter((item) => {
      const token = this.#tokenOf(item);
      return token === undefined || (token !== after && token !== before);
    });
  }

  #show(items: readonly Item[]): Shown<Item> {
    const tokens = items.map((item) => this.#tokenOf(item));
    const ids = items.map((item, index) => {
      const id = this.#exact(fieldOf(item, "id")) ?? tokens[index];
      if (id === undefined) throw this.#error("unnamed");
      return id;
    });
    if (new Set(ids).size < ids.length) throw this.#error("repeated");
    return { items, ids, tokens };
  }

  /** Why the list can't continue after a page. */
  #obstacleAfter(items: readonly Item[], tokens: Tokens): PagingError | undefined {
    const { cursor, sort: [term] = [], trustCursor } = this.#query;
    if (tokens.includes(undefined)) {
      const hasNone = cursor === undefined && tokens.every((token) => token === undefined);
      return this.#error(hasNone ? "noToken" : "someTokens");
    }
    if (trustCursor || tokens.length === 0) return undefined;
    if (term !== undefined) {
      // A list can have several pages in the order of its tokens.
      const field = term.replace(/\.(?:asc|desc)$/, "");
      const isTokenOrder = items.every((item, index) => textOf(fieldOf(item, field)) === tokens[index]);
      if (!isTokenOrder) return this.#error("sort");
    }
    if (tokens.length > 1 && new Set(tokens).size === 1) return this.#error("oneToken");
    return term !== undefined && isAgainst(tokens, this.#direction) ? this.#error("order") : undefined;
  }

  #tokenOf(item: Item): string | undefined {
    const { cursor } = this.#query;
    return this.#exact(cursor === undefined ? fieldOf(item, "pagingToken") : cursor(item));
  }

  #exact(value: unknown): string | undefined {
    if (typeof value === "number" && !Number.isSafeInteger(value)) throw this.#error("inexact");
    return textOf(value);
  }

  #hasNews(ids: readonly string[]): boolean {
    return ids.some((id) => !this.#seen.has(id));
  }

  /** Returns the records that weren't handed out before, and remembers them. */
  #take(items: readonly Item[], ids: readonly string[]): readonly Item[] {
    const fresh = items.filter((_, index) => !this.#seen.has(ids[index] ?? ""));
    for (const id of ids) this.#seen.add(id);
    this.#longest = Math.max(this.#longest, items.length);
    if (fresh.length > 0) this.#pagesWithoutNews = 0;
    return fresh;
  }

  #toPage(fresh: readonly Item[], tokens: Tokens, obstacle: PagingError | undefined): Page<Item> {
    const next = obstacle?.code === "paging_no_token" ? undefined : (obstacle ?? tokens.at(-1));
    return new Page(fresh, this.#direction, next);
  }

  #error(kind: keyof typeof errors): PagingError {
    const [code, message] = errors[kind];
    const { name: operation } = this.#source;
    return new PagingError(`${operation}: ${message}`, { operation, code });
  }
}

/** The next page starts at the last record but one, so that it shows the last one again. */
function startAfter(tokens: Tokens): { readonly token: string; readonly isOverlap: boolean } {
  const last = tokens.at(-1) ?? "";
  const token = tokens.findLast((each) => each !== undefined && each !== last);
  return { token: token ?? last, isOverlap: token !== undefined };
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

/** A token or id as text. It may be a string that isn't empty, or a whole number that JavaScript holds exactly. */
export function textOf(value: unknown): string | undefined {
  if (Number.isSafeInteger(value)) return String(value);
  return typeof value === "string" && value !== "" ? value : undefined;
}

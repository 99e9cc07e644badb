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

/** Reads one list. `pages` can be called once. */
export interface ListReader<Item> {
  /** The first page, as the caller asked for it. */
  first(): Promise<readonly Item[]>;
  /** A page that the reading doesn't continue from. */
  single(items: readonly Item[]): Page<Item>;
  /**
   * Every page with new records.
   *
   * @throws {PagingError} if the list can't be read to its end without losing records.
   */
  pages(): AsyncGenerator<Page<Item>, void, undefined>;
}

/**
 * Reads every record of a list once, or fails with an error that says what to do (docs/lists.md).
 *
 * Tokens are opaque. Each page after the first overlaps the page before it by one record, which must be shown again. That works
 * whether or not the service's bounds are inclusive, and detects a replica that lags, a cache, and a cursor that is ignored.
 */
export function listReader<Item>(source: ListSource<Item>, query: ReaderQuery<Item>): ListReader<Item> {
  const seen = new Set<string>();
  const { size, after, before, cursor, trustCursor, isFiltered, prefetch, signal } = query;
  const [term] = query.sort ?? [];
  const isDescending = term?.endsWith(".desc") === true;
  let sort = query.sort?.join(",") ?? query.defaultSort;
  let direction: Direction = isDescending ? "down" : "up";
  let longest = 0;
  let pagesWithoutNews = 0;

  return { first, single, pages };

  async function first(): Promise<readonly Item[]> {
    try {
      return await request({});
    } catch (error) {
      const isRefused = error instanceof ApiError && error.status === 400;
      if (!isRefused || query.sort !== undefined || sort === undefined) throw error;
      sort = undefined;
      return await request({});
    }
  }

  function single(items: readonly Item[]): Page<Item> {
    const tokens = items.map(tokenOf);
    const fresh = items.filter((_, index) => !isOnBound(tokens[index]));
    return toPage(fresh, tokens, obstacleAfter(items, tokens));
  }

  async function* pages(): AsyncGenerator<Page<Item>, void, undefined> {
    const drop = new AbortController();
    const onAbort = () => drop.abort(signal?.reason);
    if (prefetch) signal?.addEventListener("abort", onAbort);
    try {
      const head = show(await first());
      let page = head;
      while (page.items.length > 0) {
        const isFirst = page === head;
        const obstacle = obstacleAfter(page.items, page.tokens);
        const fresh = take(page);
        const isAhead = prefetch && obstacle === undefined;
        const ahead = isAhead ? requestFrom(startAfter(page.tokens).token, drop.signal) : undefined;
        ahead?.catch(() => {});
        if (fresh.length > 0) yield toPage(fresh, page.tokens, obstacle);
        const next = obstacle ?? (await following(page, isFirst, ahead));
        if (next === "end") return yield* above(head, isFirst);
        if (next instanceof PagingError) {
          if (!isFirst || !provable.has(next.code)) throw next;
          return yield* provenWhole(next);
        }
        page = next;
      }
    } finally {
      drop.abort();
      signal?.removeEventListener("abort", onAbort);
    }
  }

  /** The page after this one, the end, or an error if the service gives the same page again. */
  async function following(
    page: Shown<Item>,
    isFirst: boolean,
    ahead: Promise<readonly Item[]> | undefined,
  ): Promise<Shown<Item> | "end" | PagingError> {
    const { token, isOverlap } = startAfter(page.tokens);
    for (let attempt = 0; ; attempt++) {
      const next = show(await ((attempt === 0 && ahead) || requestFrom(token)));
      const verdict = judge(next, page, isFirst, isOverlap);
      if (verdict === "more" || (verdict === "gap" && isFiltered && attempt > 0)) return next;
      if (verdict === "end") return verdict;
      if (verdict === "repeated") return problem("cursorIgnored");
      if (verdict === "unproved" && attempt === 0 && isFirst && term === undefined) {
        // The service may list newest first if it isn't told how to sort.
        direction = "down";
        const other = show(await requestFrom(token));
        const turned = judge(other, page, true, isOverlap);
        if (turned === "more") return other;
        if (turned === "end") return turned;
        direction = "up";
      }
      if (verdict === "unproved" && isFiltered) {
        // The last record may rightly have left a filtered list.
        const rest = show(await requestFrom(page.tokens.at(-1) ?? token));
        return hasNews(rest.ids) ? rest : "end";
      }
      const waitMs = waitsMs[attempt];
      if (waitMs === undefined) throw problem("endUnproved");
      await source.sleep(waitMs);
    }
  }

  /**
   * Decides what a page says about the records after the page before it. A gap has new records, but doesn't show the last one. The
   * last one has moved, or, in a descending list, a replica that lags doesn't know the records in between.
   */
  function judge(
    { ids }: Shown<Item>,
    { ids: previous }: Shown<Item>,
    isFirst: boolean,
    isOverlap: boolean,
  ): "more" | "gap" | "end" | "repeated" | "unproved" {
    const last = previous.at(-1) ?? "";
    const isShown = ids.includes(last);
    const isSameStart = ids[0] === previous[0];
    if (hasNews(ids)) return direction === "down" && isOverlap && !isShown ? "gap" : "more";
    if (!isOverlap && ids.length <= 1) return "end";
    if (!isShown) return "unproved";
    if (isSameStart && ids.length === previous.length) {
      // Two records and inclusive bounds. After the first page, the cursor isn't ignored.
      return ids.length <= 2 ? "end" : isFirst ? "repeated" : "unproved";
    }
    if (ids.at(-1) === last) return isSameStart ? "unproved" : "end";
    // Records that moved fill the page behind the last one.
    return ++pagesWithoutNews <= 3 ? "more" : "unproved";
  }

  /**
   * Records that were added above the beginning of a descending list while it was read. They are handed out last. A full page of them
   * above a single page means that the service sorts only what it cut out.
   */
  async function* above(head: Shown<Item>, isSinglePage: boolean): AsyncGenerator<Page<Item>, void, undefined> {
    const [top] = head.tokens;
    if (!isDescending || trustCursor || top === undefined) return;
    let page = show(await request({ _after: top }));
    for (pagesWithoutNews = 0; pagesWithoutNews < 4; pagesWithoutNews++) {
      const isFull = page.items.length >= Math.max(3, longest);
      const fresh = take(page);
      if (isSinglePage && isFull && fresh.length === page.items.length) throw problem("sortIgnored");
      if (fresh.length > 0) yield new Page(fresh, direction);
      if (!isFull) return;
      page = show(await request({ _after: top, _before: startAfter(page.tokens).token }));
    }
    throw problem("endUnproved");
  }

  /**
   * Proves that the first page is the whole list. Sorted by id from both ends, the list must show the same records in opposite
   * orders, and fewer than asked for.
   *
   * @throws the given error if that fails.
   */
  async function* provenWhole(error: PagingError): AsyncGenerator<Page<Item>, void, undefined> {
    try {
      for (let attempt = 0; attempt < 2; attempt++) {
        const _size = Math.max(2 * seen.size, 20) + 1;
        const up = show(await request({ _sort: "id.asc", _size }));
        const down = show(await request({ _sort: "id.desc", _size }));
        const isOpposite = JSON.stringify(up.ids) === JSON.stringify(down.ids.toReversed());
        if (!isOpposite || up.ids.length >= _size || up.ids.length < seen.size) continue;
        if (!hasNews(up.ids)) return;
        if (term === undefined) return yield new Page(take(up), direction);
      }
    } catch (cause) {
      throw cause instanceof ApiError && isRefusedQuestion(cause.status) ? error : cause;
    }
    throw error;
  }

  function requestFrom(token: string, dropped?: AbortSignal): Promise<readonly Item[]> {
    return request(direction === "up" ? { _after: token } : { _before: token }, dropped);
  }

  /** Requests a page. The caller's own bounds, size, and order count unless `paging` has others. */
  function request(paging: PagingValues, dropped?: AbortSignal): Promise<readonly Item[]> {
    return source.ask({ _size: size, _sort: sort, _after: after, _before: before, ...paging }, dropped);
  }

  function show(items: readonly Item[]): Shown<Item> {
    const tokens = items.map(tokenOf);
    const ids = items.map((item, index) => {
      const id = exact(fieldOf(item, "id")) ?? tokens[index];
      if (id === undefined) throw problem("unnamed");
      return id;
    });
    if (new Set(ids).size < ids.length) throw problem("repeated");
    // Records on the caller's own bounds are never handed out.
    for (const [index, id] of ids.entries()) if (isOnBound(tokens[index])) seen.add(id);
    return { items, ids, tokens };
  }

  /** Why the list can't continue after a page. */
  function obstacleAfter(items: readonly Item[], tokens: Tokens): PagingError | undefined {
    if (tokens.includes(undefined)) {
      const hasNone = cursor === undefined && tokens.every((token) => token === undefined);
      return problem(hasNone ? "noToken" : "someTokens");
    }
    if (trustCursor || tokens.length === 0) return undefined;
    if (term !== undefined) {
      // A list can have several pages in the order of its tokens.
      const field = term.replace(/\.(?:asc|desc)$/, "");
      const isTokenOrder = items.every((item, index) => textOf(fieldOf(item, field)) === tokens[index]);
      if (!isTokenOrder) return problem("sort");
    }
    if (tokens.length > 1 && new Set(tokens).size === 1) return problem("oneToken");
    return term !== undefined && isAgainst(tokens, direction) ? problem("order") : undefined;
  }

  function tokenOf(item: Item): string | undefined {
    return exact(cursor === undefined ? fieldOf(item, "pagingToken") : cursor(item));
  }

  /** The caller's own bounds are exclusive, even if the service's are not. */
  function isOnBound(token: string | undefined): boolean {
    return token !== undefined && (token === after || token === before);
  }

  function exact(value: unknown): string | undefined {
    if (typeof value === "number" && !Number.isSafeInteger(value)) throw problem("inexact");
    return textOf(value);
  }

  function hasNews(ids: readonly string[]): boolean {
    return ids.some((id) => !seen.has(id));
  }

  /** Returns the records that weren't handed out before, and remembers them. */
  function take({ items, ids }: Shown<Item>): readonly Item[] {
    const fresh = items.filter((_, index) => !seen.has(ids[index] ?? ""));
    for (const id of ids) seen.add(id);
    longest = Math.max(longest, items.length);
    if (fresh.length > 0) pagesWithoutNews = 0;
    return fresh;
  }

  function toPage(fresh: readonly Item[], tokens: Tokens, obstacle: PagingError | undefined): Page<Item> {
    const next = obstacle?.code === "paging_no_token" ? undefined : (obstacle ?? tokens.at(-1));
    return new Page(fresh, direction, next);
  }

  function problem(kind: keyof typeof errors): PagingError {
    const [code, message] = errors[kind];
    return new PagingError(`${source.name}: ${message}`, { operation: source.name, code });
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

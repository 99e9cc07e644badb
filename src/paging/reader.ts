import type { PagingValues } from "../api/api-client.js";
import type { ListQuery } from "../api/list-query.js";
import type { ApiPromise, RequestOptions, WithResponse } from "../api/request-options.js";
import { onAbort } from "../core/deadline.js";
import { ApiError, type ErrorCode, PagingError } from "../core/errors.js";
import { isRefusedQuestion } from "../wire/response.js";
import { type Direction, Page } from "./page.js";

/** Requests pages and waits for the reader. */
export interface ListSource<Item> {
  /** The operation, for messages. */
  readonly name: string;
  /** @param dropped ends a request that was made ahead. */
  ask(paging: PagingValues, dropped?: AbortSignal): ApiPromise<readonly Item[]>;
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
const provable: ReadonlySet<ErrorCode> = new Set([
  "paging_no_token",
  "paging_sort",
  "paging_end_unproved",
  "paging_cursor_ignored",
]);

const waitsMs = [250, 500, 1000, 2000];
const wholeNumber = /^-?\d+$/;

/** A record as the reader reads it. */
type Identified = Readonly<Record<string, unknown>>;

/** A page as the reader compares it with others. A token is empty if the record has none. */
interface Shown<Item> {
  readonly items: readonly Item[];
  readonly ids: readonly string[];
  readonly tokens: readonly string[];
}

export type ListReader<Item> = ReturnType<typeof listReader<Item>>;

/**
 * Reads every record of a list once, or fails with an error that says what to do (docs/lists.md).
 *
 * Tokens are opaque. Each page after the first overlaps the page before it by one record, which must be shown again. That works
 * whether or not the service's bounds are inclusive, and detects a replica that lags, a cache, and a cursor that is ignored.
 */
export function listReader<Item>(source: ListSource<Item>, query: ReaderQuery<Item>) {
  const seen = new Set<string>();
  const { size, before, cursor, trustCursor, isFiltered, prefetch, signal } = query;
  const [field, way] = query.sort?.[0]?.split(".") ?? [];
  const isDescending = way === "desc";
  let { after } = query;
  let sort = query.sort?.join(",") ?? query.defaultSort;
  let direction: Direction = isDescending ? "down" : "up";
  let isAbove = false;
  let pagesWithoutNews = 0;

  return { first, pages };

  /** The first page alone. */
  async function first(): Promise<WithResponse<Page<Item>>> {
    const { data, response } = await requestFirst();
    const page = show(data);
    return { data: toPage(take(page), page, obstacleAfter(page)), response };
  }

  /**
   * Every page with new records. You can call it once.
   *
   * @throws {PagingError} if the list can't be read to its end without losing records.
   */
  async function* pages(): AsyncGenerator<Page<Item>, void, undefined> {
    const drop = new AbortController();
    const stopListening = signal && onAbort(signal, () => drop.abort());
    try {
      const head = show((await requestFirst()).data);
      const fullSize = Math.max(3, head.items.length);
      let page = head;
      while (page.items.length > 0) {
        const isFirst = page === head;
        const obstacle = obstacleAfter(page);
        const fresh = take(page);
        const isAhead = prefetch && obstacle === undefined;
        const ahead = isAhead ? requestFrom(startAfter(page).token, drop.signal) : undefined;
        ahead?.catch(() => {});
        if (fresh.length > 0) yield toPage(fresh, page, obstacle);
        if (isAbove && page.items.length < fullSize) return;
        const next = obstacle ?? (await following(page, isFirst, ahead));
        if (next instanceof PagingError) {
          if (!isFirst || !provable.has(next.code)) throw next;
          return yield* provenWhole(next);
        }
        if (next === "end") {
          if (!isDescending || trustCursor || isAbove) return;
          // Records that were added above the beginning in the meantime are handed out last.
          after = head.tokens[0];
          isAbove = true;
          page = show(await request({}));
          const isUnsorted = isFirst && page.items.length >= fullSize && !page.ids.some((id) => seen.has(id));
          if (isUnsorted) throw problem("sortIgnored");
        } else page = next;
      }
    } finally {
      drop.abort();
      stopListening?.();
    }
  }

  /** The page after this one, the end, or an error if the service gives the same page again. */
  async function following(
    page: Shown<Item>,
    isFirst: boolean,
    ahead: Promise<readonly Item[]> | undefined,
  ): Promise<Shown<Item> | "end" | PagingError> {
    const { token, isOverlap } = startAfter(page);
    const [start, last = ""] = [page.ids[0], page.ids.at(-1)];
    for (let attempt = 0; ; attempt++) {
      const next = show(await ((attempt === 0 && ahead) || requestFrom(token)));
      const verdict = judge(next);
      if (verdict !== undefined) return verdict;
      const isGap = hasNews(next);
      if (isGap && isFiltered && attempt > 0) return next;
      if (attempt === 0 && isFirst && field === undefined) {
        // The service may list newest first if it isn't told how to sort.
        direction = "down";
        const turned = judge(show(await requestFrom(token)));
        if (turned !== undefined && !(turned instanceof PagingError)) return turned;
        direction = "up";
      }
      if (!isGap && isFiltered) {
        // The last record may rightly have left a filtered list.
        const rest = show(await requestFrom(page.tokens.at(-1) ?? token));
        return hasNews(rest) ? rest : "end";
      }
      const waitMs = waitsMs[attempt];
      if (waitMs === undefined) throw problem("endUnproved");
      await source.sleep(waitMs);
    }

    /** What a page says about the records after the last one, or undefined if it has to be requested again. */
    function judge(next: Shown<Item>): Shown<Item> | "end" | PagingError | undefined {
      const { ids } = next;
      const isShown = ids.includes(last);
      // The last one has moved, or, in a descending list, a replica that lags doesn't know the records in between.
      if (hasNews(next)) return direction === "down" && isOverlap && !isShown ? undefined : next;
      if (!isOverlap && ids.length <= 1) return "end";
      if (!isShown) return undefined;
      if (ids[0] === start && ids.length === page.ids.length) {
        // Two records and inclusive bounds. After the first page, the cursor isn't ignored.
        return ids.length <= 2 ? "end" : isFirst ? problem("cursorIgnored") : undefined;
      }
      if (ids.at(-1) === last && ids[0] !== start) return "end";
      // Records that moved fill the page behind the last one.
      return ++pagesWithoutNews <= 3 ? next : undefined;
    }
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
        if (!hasNews(up)) return;
        if (field === undefined) return yield new Page(take(up), direction);
      }
    } catch (cause) {
      throw isRefused(cause) ? error : cause;
    }
    throw error;
  }

  /** As the caller asked for it. */
  async function requestFirst(): Promise<WithResponse<readonly Item[]>> {
    try {
      return await request({}).withResponse();
    } catch (error) {
      if (!isRefused(error) || query.sort !== undefined || sort === undefined) throw error;
      sort = undefined;
      return await request({}).withResponse();
    }
  }

  function requestFrom(token: string, dropped?: AbortSignal): Promise<readonly Item[]> {
    return request(direction === "up" ? { _after: token } : { _before: token }, dropped);
  }

  /** Requests a page. The caller's own bounds, size, and order count unless `paging` has others. */
  function request(paging: PagingValues, dropped?: AbortSignal): ApiPromise<readonly Item[]> {
    return source.ask({ _size: size, _sort: sort, _after: after, _before: before, ...paging }, dropped);
  }

  function show(items: readonly Item[]): Shown<Item> {
    const ids: string[] = [];
    const tokens: string[] = [];
    for (const item of items as readonly (Item & Identified)[]) {
      const token = exact(cursor === undefined ? item.pagingToken : cursor(item));
      const id = exact(item.id) || token;
      // Records on the caller's own bounds are never handed out.
      if (token === after || token === before) seen.add(id);
      ids.push(id);
      tokens.push(token);
    }
    if (ids.includes("")) throw problem("unnamed");
    if (new Set(ids).size < ids.length) throw problem("repeated");
    return { items, ids, tokens };
  }

  function exact(value: unknown): string {
    if (typeof value === "number" && !Number.isSafeInteger(value)) throw problem("inexact");
    return textOf(value) ?? "";
  }

  function hasNews({ ids }: Shown<Item>): boolean {
    return ids.some((id) => !seen.has(id));
  }

  /** Returns the records that weren't handed out before, and remembers them. */
  function take({ items, ids }: Shown<Item>): readonly Item[] {
    const fresh = items.filter((_, index) => seen.size < seen.add(ids[index] ?? "").size);
    if (fresh.length > 0) pagesWithoutNews = 0;
    return fresh;
  }

  /** Why the list can't continue after a page. */
  function obstacleAfter({ items, tokens }: Shown<Item>): PagingError | undefined {
    const [token] = tokens;
    const isSame = tokens.every((each) => each === token);
    if (tokens.includes("")) return problem(isSame && cursor === undefined ? "noToken" : "someTokens");
    if (trustCursor) return undefined;
    // A list can have several pages in the order of its tokens.
    const isToken = (item: Item, index: number) => textOf((item as Identified)[field ?? ""]) === tokens[index];
    if (field !== undefined && !items.every(isToken)) return problem("sort");
    if (isSame && tokens.length > 1) return problem("oneToken");
    return field !== undefined && isAgainst(tokens, direction) ? problem("order") : undefined;
  }

  function toPage(fresh: readonly Item[], { tokens }: Shown<Item>, obstacle: PagingError | undefined): Page<Item> {
    const hasNext = !isAbove && obstacle?.code !== "paging_no_token";
    return new Page(fresh, direction, hasNext ? (obstacle ?? tokens.at(-1)) : undefined);
  }

  function problem(kind: keyof typeof errors): PagingError {
    const [code, message] = errors[kind];
    return new PagingError(`${source.name}: ${message}`, { operation: source.name, code });
  }
}

/** The next page starts at the last record but one, so that it shows the last one again. */
function startAfter({ tokens }: Shown<unknown>): { readonly token: string; readonly isOverlap: boolean } {
  const last = tokens.at(-1) ?? "";
  const token = tokens.findLast((each) => each !== last);
  return { token: token ?? last, isOverlap: token !== undefined };
}

/** Whether tokens that are whole numbers move against the direction, as numbers and as texts. */
function isAgainst(tokens: readonly string[], direction: Direction): boolean {
  const inOrder = direction === "up" ? tokens : tokens.toReversed();
  const isRising = (values: readonly (string | bigint)[]) =>
    values.every((value, index) => (values[index - 1] ?? value) <= value);
  return inOrder.every((token) => wholeNumber.test(token)) && !isRising(inOrder) && !isRising(inOrder.map(BigInt));
}

/** Whether the service refuses the question, such as a sort. */
export function isRefused(error: unknown): boolean {
  return error instanceof ApiError && isRefusedQuestion(error.status);
}

/** A token or id as text. It may be a string that isn't empty, or a whole number that JavaScript holds exactly. */
export function textOf(value: unknown): string | undefined {
  if (typeof value === "string") return value === "" ? undefined : value;
  return Number.isSafeInteger(value) ? String(value) : undefined;
}

import type { ApiClient, PagingValues } from "../api/api-client.js";
import type { TypedOperation } from "../api/operation.js";
import type { RequestOptions } from "../api/request-options.js";
import { clock } from "../core/clock.js";
import { ApiError, PagingError, UnexpectedResponseError } from "../core/errors.js";
import { isRefusedQuestion } from "../wire/response.js";
import { Listing } from "./listing.js";
import { textOf } from "./reader.js";

/** What a reading by time needs of a record. */
export interface DatedRecord {
  readonly id: string;
  readonly createdAt: string;
  readonly pagingToken: string;
}

export interface NewestFirstOptions extends Pick<RequestOptions, "signal" | "headers"> {
  /** Records created then or later are wanted: milliseconds since 1970, or `-Infinity` for all. */
  readonly since: number;
  /** How far the clocks of this machine and of the service's machines can differ. */
  readonly clockSkewMs: number;
  /** How many records a page has. Default: 100. */
  readonly size?: number | undefined;
  /** Ends a reading by token after so many records. Default: no limit. */
  readonly maxRecords?: number | undefined;
  /** The operators of the service state that a later record has a higher token, within `clockSkewMs`. Default: false. */
  readonly tokensFollowTime?: boolean | undefined;
  /** Reads to the end of the list if nothing proves that no wanted record is left. Default: false. */
  readonly toTheEnd?: boolean | undefined;
}

/** How a reading ended. Only a complete reading proves that a record isn't there. */
export type ReadingEnd =
  | { readonly complete: true }
  | { readonly complete: false; readonly reason: "time_bound" | "max_records" }
  | { readonly complete: false; readonly reason: "paging"; readonly error: PagingError }
  | { readonly complete: false; readonly reason: "refused"; readonly error: ApiError };

type ListOperation<Item> = TypedOperation<string, readonly string[], never, Item[]>;

/**
 * Gives the records back to a time, page by page, newest first as far as the service can sort. A record can come more than once,
 * and older ones can come too. Stop the loop at any page; the return value says whether the reading was complete.
 *
 * Tokens don't have to follow time, so the list is read by time if one page is enough, and by token otherwise.
 *
 * @throws {CrossBorderError} on failures that can pass, such as a timeout or a 503.
 */
export async function* newestFirst<Item extends DatedRecord>(
  client: ApiClient,
  operation: ListOperation<Item>,
  options: NewestFirstOptions,
): AsyncGenerator<readonly Item[], ReadingEnd, undefined> {
  const reading = new Reading(client, operation, options);
  try {
    if (yield* reading.byTime()) return { complete: true };
    return yield* reading.byToken();
  } catch (error) {
    if (error instanceof PagingError) return { complete: false, reason: "paging", error };
    if (error instanceof ApiError && error.status < 500) return { complete: false, reason: "refused", error };
    throw error;
  }
}

const sortByTime = "createdAt.desc";
const sortByToken = "pagingToken.desc";

class Reading<Item extends DatedRecord> {
  readonly #client: ApiClient;
  readonly #operation: ListOperation<Item>;
  readonly #options: NewestFirstOptions;
  readonly #size: number;
  readonly #request: RequestOptions;
  /** Records created before this time aren't wanted. */
  readonly #boundMs: number;
  /** Records created after this time may be listed between two requests. */
  readonly #settledMs: number;
  #ignoresSort = false;

  constructor(client: ApiClient, operation: ListOperation<Item>, options: NewestFirstOptions) {
    this.#client = client;
    this.#operation = operation;
    this.#options = options;
    const { since, clockSkewMs, size = 100, signal, headers } = options;
    this.#size = size;
    this.#request = { signal, headers };
    this.#boundMs = since - clockSkewMs;
    this.#settledMs = clock.wallMs() - clockSkewMs;
  }

  /** One page of the newest records, then a larger one. Returns whether it proved complete. */
  async *byTime(): AsyncGenerator<readonly Item[], boolean, undefined> {
    for (const size of [this.#size, 10 * this.#size]) {
      const page = await this.#ask({ _sort: sortByTime, _size: size });
      const [first, last] = [page?.[0], page?.at(-1)];
      if (page === undefined || first === undefined || last === undefined) return false;
      yield page;
      if (!isNewestFirst(page)) {
        this.#ignoresSort = isNewestFirst([...page].reverse());
        return false;
      }
      const oldestMs = createdMsOf(last);
      if (oldestMs < this.#boundMs && oldestMs < createdMsOf(first)) {
        // A service that sorts only what it cut out has newer records here.
        const above = { _sort: sortByTime, _after: textOf(first.pagingToken), _size: size };
        return yield* this.#provesNoneMissed(page, [above], oldestMs);
      }
      if (page.length >= size) continue;
      const token = textOf(last.pagingToken);
      const below = { _sort: sortByTime, _before: token, _size: size };
      // What the page lacks is older than all of it, so it comes first.
      return yield* this.#provesNoneMissed(page, [below, { _sort: "createdAt.asc", _after: token, _size: size }]);
    }
    return false;
  }

  /** The list by descending token, or in the service's own order if it can't be sorted. */
  async *byToken(): AsyncGenerator<readonly Item[], ReadingEnd, undefined> {
    try {
      if (!this.#ignoresSort) return yield* this.#list([sortByToken]);
    } catch (error) {
      // A sort that is ignored can look like a list that is out of order, or like a cursor that is.
      if (!(error instanceof PagingError) && !isRefused(error)) throw error;
    }
    return yield* this.#list(undefined);
  }

  async *#list(
    sort: readonly [typeof sortByToken] | undefined,
  ): AsyncGenerator<readonly Item[], ReadingEnd, undefined> {
    const { maxRecords = Number.POSITIVE_INFINITY, tokensFollowTime, toTheEnd } = this.#options;
    const listing = new Listing(this.#client, this.#operation, [], { sort, size: this.#size }, this.#request);
    let count = 0;
    let top: readonly Item[] | undefined;
    for await (const { items } of listing.pages()) {
      yield items;
      top ??= items;
      count += items.length;
      if (count >= maxRecords) return { complete: false, reason: "max_records" };
      if (sort === undefined || !items.every((record) => createdMsOf(record) < this.#boundMs)) continue;
      const above = { _sort: sortByToken, _after: textOf(top[0]?.pagingToken), _size: this.#size };
      const isProved = tokensFollowTime && (yield* this.#provesNoneMissed(top, [above], oldestMsOf(top)));
      if (isProved) return { complete: true };
      if (!toTheEnd) return { complete: false, reason: "time_bound" };
    }
    return { complete: true };
  }

  /**
   * Asks for what a page should have shown. Gives what it lacks, and returns whether that can only have come since.
   *
   * @param oldestMs records that aren't newer than this may be missing; if it's left out, the page has to be the whole list.
   */
  async *#provesNoneMissed(
    page: readonly Item[],
    checks: readonly PagingValues[],
    oldestMs = Number.NEGATIVE_INFINITY,
  ): AsyncGenerator<readonly Item[], boolean, undefined> {
    const shown = new Set(page.map(keyOf));
    const isWhole = oldestMs === Number.NEGATIVE_INFINITY;
    // If the page is the whole list, only newer records can be missing.
    const settledMs = isWhole ? Math.max(this.#settledMs, ...page.slice(0, 1).map(createdMsOf)) : this.#settledMs;
    // All but the last record lie on one side of it or the other.
    let isShownAgain = page.length === 1 || !isWhole;
    for (const paging of checks) {
      const records = (paging._after ?? paging._before) === undefined ? undefined : await this.#ask(paging);
      if (records === undefined) return false;
      const missed = records.filter((record) => !shown.has(keyOf(record)));
      if (missed.length > 0) yield missed;
      const newer = missed.filter((record) => !(createdMsOf(record) <= oldestMs));
      const isSettled = (record: Item) => !(createdMsOf(record) > settledMs);
      if (newer.length >= page.length || newer.some(isSettled)) return false;
      isShownAgain ||= missed.length < records.length;
    }
    return isShownAgain;
  }

  /** `undefined` if the service refuses the question, or its response can't be read. */
  async #ask(paging: PagingValues): Promise<readonly Item[] | undefined> {
    try {
      return await this.#client.call(this.#operation, [], { paging }, this.#request);
    } catch (error) {
      if (isRefused(error) || error instanceof UnexpectedResponseError) return undefined;
      throw error;
    }
  }
}

function isNewestFirst(page: readonly DatedRecord[]): boolean {
  let before = Number.POSITIVE_INFINITY;
  return page.every((record) => {
    const createdMs = createdMsOf(record);
    const isInOrder = createdMs <= before;
    before = createdMs;
    return isInOrder;
  });
}

function oldestMsOf(page: readonly DatedRecord[]): number {
  return Math.min(...page.map(createdMsOf));
}

function isRefused(error: unknown): boolean {
  return error instanceof ApiError && isRefusedQuestion(error.status);
}

export function createdMsOf({ createdAt }: Pick<DatedRecord, "createdAt">): number {
  return parseCreatedAt(createdAt);
}

/** What tells one record from the others. */
export function keyOf({ id, pagingToken }: Pick<DatedRecord, "id" | "pagingToken">): string | undefined {
  return textOf(id) ?? textOf(pagingToken);
}

/** Day, time, fraction, and zone, as ISO 8601 and SQL print them. */
const pattern = /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d)(:\d\d)?(?:[.,](\d+))? ?(Z|UTC|GMT|[+-]\d\d(?::?\d\d)?)?$/i;

/**
 * Milliseconds since 1970 of a record's `createdAt`; `NaN` if it can't be read. A time without a zone is UTC. Digits beyond
 * milliseconds are cut off.
 */
export function parseCreatedAt(value: unknown): number {
  if (typeof value !== "string") return Number.NaN;
  const [, day, minute, second = ":00", fraction = "", zone = "Z"] = pattern.exec(value.trim()) ?? [];
  if (day === undefined) return Number.NaN;
  return Date.parse(`${day}T${minute}${second}.${fraction.slice(0, 3).padEnd(3, "0")}${isoZone(zone)}`);
}

/** `+00`, `+0000`, and `UTC` as `Date.parse` takes them. */
function isoZone(zone: string): string {
  const [, hours, minutes = "00"] = /^([+-]\d\d):?(\d\d)?$/.exec(zone) ?? [];
  return hours === undefined ? "Z" : `${hours}:${minutes}`;
}

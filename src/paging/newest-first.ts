import type { ApiClient, PagingValues } from "../api/api-client.js";
import type { TypedOperation } from "../api/operation.js";
import type { RequestOptions } from "../api/request-options.js";
import { clock } from "../core/clock.js";
import { ApiError, PagingError, UnexpectedResponseError } from "../core/errors.js";
import { listRecords } from "./listing.js";
import { isRefused, textOf } from "./reader.js";

/** The fields that a reading by time needs. */
export interface DatedRecord {
  readonly id: string;
  readonly createdAt: string;
  readonly pagingToken: string;
}

export interface NewestFirstOptions extends Pick<RequestOptions, "signal" | "headers"> {
  /** Gives the records created then or later, in milliseconds since 1970, or all for `-Infinity`. */
  readonly since: number;
  /** How far the clocks of this machine and of the service's machines can differ. */
  readonly clockSkewMs: number;
  /** How many records a page has. Default: 100. */
  readonly size?: number | undefined;
  /** Ends a reading by token after so many records. Default: no limit. */
  readonly maxRecords?: number | undefined;
  /** The operators of the service state that a later record has a higher token, within `clockSkewMs`. Default: false. */
  readonly tokensFollowTime?: boolean | undefined;
  /** Reads to the end of the list if nothing proves that no record is left. Default: false. */
  readonly toTheEnd?: boolean | undefined;
}

/** How a reading ended. Only a complete reading proves that a record isn't there. */
export type ReadingEnd =
  | { readonly complete: true }
  | { readonly complete: false; readonly reason: "time_bound" | "max_records" }
  | { readonly complete: false; readonly reason: "failed"; readonly error: PagingError | ApiError };

/**
 * Gives the records back to a time, page by page, newest first as far as the service can sort. A record can come more than once,
 * and older ones can come too. You can stop the loop at any page. The return value says whether the reading was complete.
 *
 * Tokens don't have to follow time, so the list is read by time if one page is enough, and by token otherwise.
 *
 * @throws {CrossBorderError} on failures that can pass, such as a timeout or a 503.
 */
export async function* newestFirst<Item extends DatedRecord>(
  client: ApiClient,
  operation: TypedOperation<string, readonly string[], never, Item[]>,
  options: NewestFirstOptions,
): AsyncGenerator<readonly Item[], ReadingEnd, undefined> {
  const { since, clockSkewMs, size = 100, tokensFollowTime, toTheEnd, signal, headers } = options;
  const { maxRecords = Number.POSITIVE_INFINITY } = options;
  const request = { signal, headers };
  /** Records created before this time are too old. */
  const boundMs = since - clockSkewMs;
  /** Records created after this time may be listed between two requests. */
  const startMs = clock.wallMs() - clockSkewMs;
  let ignoresSort = false;

  try {
    if (yield* byTime()) return { complete: true };
    try {
      if (!ignoresSort) return yield* list("pagingToken.desc");
    } catch (error) {
      // A sort that is ignored can look like a list that is out of order, or like a cursor that is.
      if (!(error instanceof PagingError) && !isRefused(error)) throw error;
    }
    return yield* list(undefined);
  } catch (error) {
    const isLasting = error instanceof PagingError || (error instanceof ApiError && error.status < 500);
    if (!isLasting) throw error;
    return { complete: false, reason: "failed", error };
  }

  /** One page of the newest records, then a larger one. Returns whether it proved complete. */
  async function* byTime() {
    const _sort = "createdAt.desc";
    for (const _size of [size, 10 * size]) {
      const page = await ask({ _sort, _size });
      if (page === undefined || page.length === 0) return false;
      yield page;
      const times = page.map(createdMsOf);
      if (!isDescending(times)) {
        ignoresSort = isDescending(times.toReversed());
        return false;
      }
      const oldestMs = times.at(-1) ?? Number.NaN;
      if (oldestMs < boundMs && oldestMs !== times[0]) {
        // A service that sorts only what it cut out has newer records here.
        return yield* provesNoneMissed(page, [{ _sort, _after: tokenOf(page[0]), _size }], oldestMs);
      }
      if (page.length >= _size) continue;
      const last = tokenOf(page.at(-1));
      // Records that the page lacks are older than all of it, so they are listed first.
      const oldestFirst = { _sort: "createdAt.asc", _after: last, _size };
      return yield* provesNoneMissed(page, [{ _sort, _before: last, _size }, oldestFirst]);
    }
    return false;
  }

  /** The list by descending token, or in the service's own order if it can't be sorted. */
  async function* list(sort: "pagingToken.desc" | undefined) {
    let count = 0;
    let top: readonly Item[] | undefined;
    for await (const { items } of listRecords(client, operation, [], { sort, size }, request).pages()) {
      yield items;
      top ??= items;
      count += items.length;
      if (count >= maxRecords) return { complete: false, reason: "max_records" } as const;
      if (sort === undefined || !items.every((record) => createdMsOf(record) < boundMs)) continue;
      const above = { _sort: sort, _after: tokenOf(top[0]), _size: size };
      const oldestMs = Math.min(...top.map(createdMsOf));
      if (tokensFollowTime && (yield* provesNoneMissed(top, [above], oldestMs))) break;
      if (!toTheEnd) return { complete: false, reason: "time_bound" } as const;
    }
    return { complete: true } as const;
  }

  /**
   * Requests what a page should have shown. Gives the records that it lacks, and returns whether they can only be newer.
   *
   * @param oldestMs records that aren't newer than this may be missing. If it's left out, the page has to be the whole list.
   */
  async function* provesNoneMissed(page: readonly Item[], checks: readonly PagingValues[], oldestMs?: number) {
    const shown = new Set(page.map(keyOf));
    const isWhole = oldestMs === undefined;
    // Records that a whole list lacks must be newer than all of it.
    const settledMs = Math.max(startMs, ...(isWhole ? page.map(createdMsOf) : []));
    // Of a whole list, all records but the last lie on one side of it or the other.
    let isShownAgain = page.length === 1 || !isWhole;
    for (const paging of checks) {
      // Without tokens there is nothing to ask with.
      const hasBound = (paging._after ?? paging._before) !== undefined;
      const records = hasBound ? await ask(paging) : undefined;
      if (records === undefined) return false;
      const missed = records.filter((record) => !shown.has(keyOf(record)));
      if (missed.length > 0) yield missed;
      const newerMs = missed.map(createdMsOf).filter((ms) => isWhole || !(ms <= oldestMs));
      if (newerMs.length >= page.length || !newerMs.every((ms) => ms > settledMs)) return false;
      isShownAgain ||= missed.length < records.length;
    }
    return isShownAgain;
  }

  /** `undefined` if the service refuses the question, or its response can't be read. */
  async function ask(paging: PagingValues): Promise<readonly Item[] | undefined> {
    try {
      return await client.call(operation, [], { paging }, request);
    } catch (error) {
      if (isRefused(error) || error instanceof UnexpectedResponseError) return undefined;
      throw error;
    }
  }
}

function tokenOf(record: DatedRecord | undefined): string | undefined {
  return textOf(record?.pagingToken);
}

/** A time that can't be read is in no order. */
function isDescending(times: readonly number[]): boolean {
  return times.every((ms, index) => ms <= (times[index - 1] ?? Number.POSITIVE_INFINITY));
}

/** Tells one record from the others. */
export function keyOf({ id, pagingToken }: Pick<DatedRecord, "id" | "pagingToken">): string | undefined {
  return textOf(id) ?? textOf(pagingToken);
}

/** Day, time, fraction, and zone, as ISO 8601 and SQL print them. */
const pattern =
  /^(\d{4}-\d\d-\d\d)[T ](\d\d:\d\d(?::\d\d)?)(?:[.,](\d{1,3})\d*)? ?(?:Z|UTC|GMT|([+-]\d\d)(?::?(\d\d))?)?$/i;

/**
 * Milliseconds since 1970 of a record's `createdAt`, or `NaN` if it can't be read. A time without a zone is UTC. Digits beyond
 * milliseconds are cut off.
 */
export function createdMsOf({ createdAt }: { readonly createdAt: unknown }): number {
  if (typeof createdAt !== "string") return Number.NaN;
  const [, day, time, fraction = "", hours = "+00", minutes = "00"] = pattern.exec(createdAt.trim()) ?? [];
  return Date.parse(`${day}T${time}${hours}:${minutes}`) + Number(fraction.padEnd(3, "0"));
}

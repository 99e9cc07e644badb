import { apiClientOf } from "../../api/api-client.js";
import type { CrossBorderClient } from "../../client.js";
import { PagingError } from "../../errors/errors.js";
import type { ClientEvents } from "../../events/client-events.js";
import { equalAmounts } from "../../money.js";
import { compareTokens, nonEmptyText } from "../../paging/cursor-order.js";
import type { Listing } from "../../paging/listing.js";
import { type PaymentEvent, watchPayments } from "../../reconcile/index.js";
import { retryDelayMs } from "../../reconcile/retry-delay.js";
import { readCursor } from "../../reconcile/watch-cursor.js";
import { type Payment, payments } from "../../resources/payments.js";
import { clock } from "../../timing/clock.js";
import { Deadline } from "../../timing/deadline.js";
import { parseObject } from "../../wire/parse-json-object.js";
import { isPassingStatus } from "../../wire/status.js";
import { readLines } from "../files.js";
import type { Terminal } from "../terminal.js";
import type { ListedRecord } from "./formats.js";

/** Records that came, and where to go on once they are written. */
export interface News {
  readonly records: readonly ListedRecord[];
  readonly mark: string;
}

export interface FollowOptions {
  readonly everyMs: number;
  readonly signal: AbortSignal;
  /** The mark of what was written last; `undefined` at the beginning. */
  readonly mark: string | undefined;
  /** Ids of records that were written before, where they may come again. */
  readonly written: ReadonlySet<string>;
}

export interface FollowPaymentsOptions extends FollowOptions {
  /** Only payments after this paging token. */
  readonly startAfter: string | undefined;
  readonly size: number | undefined;
  readonly filter: Readonly<Record<string, string>> | undefined;
}

/**
 * Payments as they are listed, each once, in pages. Those that are listed late come too: see `watchPayments`.
 *
 * Filters are compared here, since a watch has to see every payment.
 */
export async function* followPayments(
  client: CrossBorderClient,
  { everyMs, signal, mark, written, startAfter, size, filter = {} }: FollowPaymentsOptions,
): AsyncGenerator<News, void, undefined> {
  const start = mark === undefined ? { startAfter } : { after: mark };
  const rereadEveryMs = Math.min(everyMs * rereadAfterPolls, 2 ** 31 - 1);
  const events = watchPayments(client, { ...start, everyMs, rereadEveryMs, size, signal });
  for await (const page of pagesOf(events)) {
    const created = page.filter(({ type, payment }) => type === "created" && !written.has(payment.id));
    const records = created.map(({ payment }): ListedRecord => ({ ...payment }));
    yield { records: records.filter((record) => fits(record, filter)), mark: page.at(-1)?.cursor ?? "" };
  }
}

/** The default of `watchPayments`. */
const rereadAfterPolls = 30;

/** Whether a record passes filters that are compared here, and not by the service. */
export function fits(record: ListedRecord, filter: Readonly<Record<string, string>>): boolean {
  return Object.entries(filter).every(([name, wanted]) => {
    const value = record[name];
    return payments.list.record[name as keyof Payment] === "decimal"
      ? equalAmounts(value, wanted)
      : String(value) === wanted;
  });
}

/** Events that are there together come together: a page of them costs one write. */
async function* pagesOf(
  events: AsyncIterableIterator<PaymentEvent>,
): AsyncGenerator<readonly PaymentEvent[], void, undefined> {
  let next = events.next();
  try {
    for (;;) {
      const first = await next;
      if (first.done) return;
      const page: PaymentEvent[] = [first.value];
      next = events.next();
      while (page.length < mostInPage) {
        const result = await Promise.race([next, turnOfEventLoop()]);
        if (result === undefined || result.done) break;
        page.push(result.value);
        next = events.next();
      }
      yield page;
    }
  } finally {
    // A reader that stops is not told what the watch met meanwhile.
    next.catch(() => {});
    await events.return?.();
  }
}

const mostInPage = 500;

function turnOfEventLoop(): Promise<undefined> {
  return new Promise((resolve) => setImmediate(() => resolve(undefined)));
}

/**
 * What comes to any other list. Its records have no time of creation, so nothing tells where a new one is listed: the whole list is read
 * each time, and what has an id that was not there before is new.
 */
export async function* followList(
  open: (signal: AbortSignal) => Listing<ListedRecord>,
  { everyMs, signal, written }: FollowOptions,
): AsyncGenerator<News, void, undefined> {
  const seen = new Set(written);
  const deadline = new Deadline({ signal });
  let failures = 0;
  let hasBeenRead = false;
  try {
    for (;;) {
      try {
        for await (const { items } of open(deadline.signal).pages()) {
          const records = items.filter((record) => !seen.has(idOf(record)));
          for (const record of records) seen.add(idOf(record));
          if (records.length > 0) yield { records, mark: "" };
        }
        [hasBeenRead, failures] = [true, 0];
        await deadline.sleep(everyMs);
      } catch (error) {
        const delayMs = delayAfter(error, failures, hasBeenRead ? everyMs : undefined);
        if (delayMs === undefined) throw error;
        failures += 1;
        await deadline.sleep(delayMs);
      }
    }
  } catch (error) {
    // Once it is stopped, an error is how it ends.
    if (!signal.aborted) throw error;
  } finally {
    deadline.finish();
  }
}

/** A list that changes while it is read may be in order the next time. */
function delayAfter(error: unknown, failures: number, everyMs: number | undefined): number | undefined {
  const isPassing = !(error instanceof PagingError) || error.code === "paging_end_unproved";
  if (!isPassing) return failures < 3 ? everyMs : undefined;
  return retryDelayMs(error, failures, Math.random, clock.wallMs());
}

function idOf(record: ListedRecord): string {
  const id = nonEmptyText(record.id);
  if (id !== undefined) return id;
  throw new PagingError("a record has no id, so nothing tells whether it is new: the list can't be followed");
}

/**
 * Ids of records in an NDJSON file that a follower could hand out again: of payments those that its cursor does not leave behind, of other
 * lists all.
 */
export async function writtenIds(
  path: string,
  terminal: Terminal,
  client: CrossBorderClient,
  cursor: string | undefined,
): Promise<ReadonlySet<string>> {
  const after = cursor === undefined ? undefined : readCursor(apiClientOf(client)?.baseUrl ?? "", cursor).after;
  const ids = new Set<string>();
  for await (const line of readLines(path, terminal)) {
    const { id, pagingToken } = parseObject(line) ?? {};
    const isAfter = after === undefined || typeof pagingToken !== "string" || compareTokens(pagingToken, after) > 0;
    if (typeof id === "string" && isAfter) ids.add(id);
  }
  return ids;
}

/** Tells once of each outage, and of its end: a follower waits for as long as it takes. */
export function outageReports({ stderr, showsProgress }: Terminal): ClientEvents {
  const clearLine = showsProgress ? "\r\x1b[K" : "";
  let isAway = false;
  return {
    failure({ operation, code, status }) {
      if (isAway || code === "aborted" || isRefusal(status)) return;
      isAway = true;
      const why = status === undefined ? code : `${code}, status ${status}`;
      stderr.write(
        `${clearLine}cross-border: ${operation} failed (${why}); it is tried again for as long as that can help\n`,
      );
    },
    response({ status }) {
      if (!isAway || status >= 400) return;
      isAway = false;
      stderr.write(`${clearLine}cross-border: the service is there again\n`);
    },
  };
}

/** Whether the service refused the request for good. The error itself says what is wrong. */
function isRefusal(status = 0): boolean {
  return status >= 400 && status !== 403 && !isPassingStatus(status);
}

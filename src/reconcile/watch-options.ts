import type { ApiClient } from "../api/api-client.js";
import { type RequestOptions, requestOptions } from "../api/request-options.js";
import { InvalidArgumentError } from "../errors/errors.js";
import {
  isPositiveInteger,
  isText,
  isWholeFrom,
  type OptionTable,
  parseOptions,
  withDefaults,
} from "../options/option-table.js";
import type { WindowMark } from "./payment-window.js";
import { readCursor } from "./watch-cursor.js";

/** How `watchPayments` watches. */
export interface WatchOptions {
  /** The `cursor` of the last event that was processed. Default: none, which hands out every payment there is. */
  readonly after?: string | undefined;
  /**
   * Where to begin without a cursor: only payments after this paging token, such as the `page.next` of a list that was read before. Not
   * together with `after`. Default: the beginning of the list.
   */
  readonly startAfter?: string | undefined;
  /** How often new payments are asked for, in milliseconds. Default: 10,000. */
  readonly everyMs?: number | undefined;
  /** How long a payment is read again after its creation, in milliseconds. Default: 86,400,000, a day. */
  readonly rereadForMs?: number | undefined;
  /** How often the payments of that time are read again, in milliseconds. Default: 300,000, five minutes. */
  readonly rereadEveryMs?: number | undefined;
  /** How many payments are asked for at a time. Default: 100. */
  readonly size?: number | undefined;
  /** Ends the watch. It is no error: the loop is simply over. */
  readonly signal?: AbortSignal | undefined;
  /** Sent with every request. */
  readonly headers?: RequestOptions["headers"];
}

export interface WatchSettings {
  readonly mark: WindowMark;
  readonly everyMs: number;
  readonly rereadForMs: number;
  readonly rereadEveryMs: number;
  readonly size: number;
  readonly signal: AbortSignal | undefined;
  readonly headers: RequestOptions["headers"];
}

const milliseconds = {
  accepts: isWholeFrom(1, 2 ** 31 - 1),
  wanted: "a whole number of milliseconds, from 1 to 2147483647",
};

/** Every option, with its default and its line in docs/reconcile.md. One that is missing here does not compile. */
export const watchOptions = {
  after: {
    accepts: isText,
    wanted: "the cursor of an event: a string that is not empty",
    documentedDefault: "none: every payment there is",
    documentation: "the `cursor` of the last event that was processed",
  },
  startAfter: {
    accepts: isText,
    wanted: "a paging token: a string that is not empty",
    documentedDefault: "the beginning",
    documentation: "where to begin without a cursor: only payments after this paging token",
  },
  everyMs: { ...milliseconds, default: 10_000, documentation: "how often new payments are asked for" },
  rereadForMs: {
    ...milliseconds,
    default: 86_400_000,
    documentation: "how long a payment is read again after its creation",
  },
  rereadEveryMs: {
    ...milliseconds,
    default: 300_000,
    documentation: "how often the payments of that time are read again",
  },
  size: {
    accepts: isPositiveInteger,
    wanted: "a whole number above 0",
    default: 100,
    documentation: "how many payments are asked for at a time",
  },
  signal: {
    ...requestOptions.signal,
    documentedDefault: "none",
    documentation: "ends the watch, as `break` does: the loop is over, and nothing is thrown",
  },
  headers: { ...requestOptions.headers, documentedDefault: "none", documentation: "sent with every request" },
} satisfies OptionTable<WatchOptions>;

/** @throws {InvalidArgumentError} that names the option, what was found and what is wanted. */
export function toWatchSettings({ baseUrl }: ApiClient, given: WatchOptions): WatchSettings {
  const refuse = (message: string) => new InvalidArgumentError(`watchPayments: ${message}`);
  const parsed = parseOptions(watchOptions, given, "the options", refuse);
  const { after, startAfter, ...rest } = withDefaults<WatchOptions, typeof watchOptions>(watchOptions, parsed);
  if (after !== undefined && startAfter !== undefined) {
    throw refuse("after and startAfter exclude each other: with a cursor, the watch continues where that one ends");
  }
  const mark = after === undefined ? { after: startAfter, stretches: [] } : readCursor(baseUrl, after);
  return { ...rest, headers: { ...rest.headers }, mark };
}

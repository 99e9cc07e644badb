import type { ApiClient } from "../api/api-client.js";
import { type RequestOptions, requestOptions } from "../api/request-options.js";
import { clock } from "../core/clock.js";
import { describeValue } from "../core/describe.js";
import { InvalidArgumentError } from "../core/errors.js";
import {
  type CheckTable,
  isBoolean,
  isPositiveInteger,
  isText,
  isWholeFrom,
  parseOptions,
  withDefaults,
} from "../core/parse.js";
import type { Period } from "./read-payments.js";
import { WatchState } from "./watch-state.js";

/** Which payments `listPayments` gives. */
export interface ListPaymentsOptions {
  /** The first instant of the period, as a `Date` or ISO 8601 with a time zone. */
  readonly from: string | Date;
  /** The first instant after the period. Default: none, so the period is still open. */
  readonly to?: string | Date | undefined;
  /** How many payments are requested at a time. Default: 100. */
  readonly size?: number | undefined;
  /**
   * States that later payments have higher paging tokens, within a minute. Ask the operators of the service. With it, a read ends
   * early and doesn't reach the end of the list. Default: false.
   */
  readonly tokensFollowTime?: boolean | undefined;
  /** Sent with every request. */
  readonly headers?: RequestOptions["headers"];
  /** Ends the list with an `AbortedError`. */
  readonly signal?: AbortSignal | undefined;
}

/** What `reconcilePayments` compares. */
export interface ReconcileOptions extends Pick<ListPaymentsOptions, "from" | "size" | "tokensFollowTime" | "headers"> {
  /** The first instant after the period, which must not be in the future. Default: a day after `from`. */
  readonly to?: string | Date | undefined;
  /**
   * How far your booking and the creation of its payment can lie apart, in milliseconds. So far on either side of the period, entries and
   * payments are partners, and not missing themselves. Default: 3,600,000, an hour.
   */
  readonly slackMs?: number | undefined;
  /** Your gateway as payments name it, or all its names. Payments of other gateways are ignored. You need it if those are listed. */
  readonly senderGatewayId?: string | readonly string[] | undefined;
  /** Ends the comparison with an `AbortedError`. */
  readonly signal?: AbortSignal | undefined;
}

/** How `watchPayments` watches. */
export interface WatchOptions extends Pick<ListPaymentsOptions, "size" | "tokensFollowTime" | "headers"> {
  /** The `cursor` of the last event that you processed. Default: none, which returns every payment. */
  readonly after?: string | undefined;
  /**
   * If there is no cursor, only payments created at this time or later are returned. A `Date`, or ISO 8601 with a time zone.
   * Default: all payments.
   */
  readonly since?: string | Date | undefined;
  /** How often new payments are requested, in milliseconds. Default: 10,000. */
  readonly everyMs?: number | undefined;
  /** How often all remembered payments are read again, in milliseconds. Default: 300,000, five minutes. */
  readonly rereadEveryMs?: number | undefined;
  /** How many payments are remembered, with their statuses: 1 to 500. Default: 500. */
  readonly remember?: number | undefined;
  /** Ends the watch. The loop then ends without an error. */
  readonly signal?: AbortSignal | undefined;
}

const day = 86_400_000;

const timeOption = {
  accepts: (value: unknown) => typeof value === "string" || isDate(value),
  expected: "a Date, or ISO 8601 with a time zone",
} as const;

const milliseconds = {
  accepts: isWholeFrom(1, 2 ** 31 - 1),
  expected: "a whole number of milliseconds, from 1 to 2147483647",
};

const from = {
  ...timeOption,
  isRequired: true,
} as const;

const readingOptions = {
  size: {
    accepts: isPositiveInteger,
    expected: "a whole number above 0",
    default: 100,
  },
  tokensFollowTime: {
    accepts: isBoolean,
    expected: "true or false",
    default: false,
  },
  headers: requestOptions.headers,
} satisfies CheckTable<Pick<ListPaymentsOptions, "size" | "tokensFollowTime" | "headers">>;

/** Every option of `listPayments`, with its default. They are in docs/statement.md. */
export const listPaymentsOptions = {
  from,
  to: {
    ...timeOption,
  },
  ...readingOptions,
  signal: requestOptions.signal,
} satisfies CheckTable<ListPaymentsOptions>;

/** Every option of `reconcilePayments`, with its default. They are in docs/statement.md. */
export const reconcileOptions = {
  from,
  to: {
    ...timeOption,
  },
  slackMs: {
    accepts: isWholeFrom(0, 366 * day),
    expected: "a whole number of milliseconds, from 0 to those of a year",
    default: 3_600_000,
  },
  senderGatewayId: {
    accepts: (value) => isText(value) || (Array.isArray(value) && value.length > 0 && value.every(isText)),
    expected: "the id of a gateway, or an array of its names",
  },
  ...readingOptions,
  signal: requestOptions.signal,
} satisfies CheckTable<ReconcileOptions>;

/** Every option of `watchPayments`, with its default. They are in docs/reconcile.md. */
export const watchOptions = {
  after: {
    accepts: isText,
    expected: "the cursor of an event: a string that is not empty",
  },
  since: {
    ...timeOption,
  },
  everyMs: {
    ...milliseconds,
    default: 10_000,
  },
  rereadEveryMs: {
    ...milliseconds,
    default: 300_000,
  },
  remember: {
    accepts: isWholeFrom(1, 500),
    expected: "a whole number from 1 to 500",
    default: 500,
  },
  ...readingOptions,
  signal: requestOptions.signal,
} satisfies CheckTable<WatchOptions>;

export function toListSettings(given: ListPaymentsOptions) {
  const refuse = refusing("listPayments");
  const parsed = parseOptions<ListPaymentsOptions>(listPaymentsOptions, given, "the options", refuse);
  const { from, to, headers, ...rest } = withDefaults(listPaymentsOptions, parsed);
  return { ...rest, period: parsePeriod(from, to, Number.POSITIVE_INFINITY, refuse), headers: { ...headers } };
}

export type ListSettings = ReturnType<typeof toListSettings>;

export function toReconcileSettings(given: ReconcileOptions) {
  const refuse = refusing("reconcilePayments");
  const parsed = parseOptions<ReconcileOptions>(reconcileOptions, given, "the options", refuse);
  const { from, to, slackMs, senderGatewayId, headers, ...rest } = withDefaults(reconcileOptions, parsed);
  const period = parsePeriod(from, to, day, refuse);
  if (period.toMs > clock.wallMs())
    throw refuse("to must not lie in the future: payments of the period may still be made");
  const ids = typeof senderGatewayId === "string" ? [senderGatewayId] : senderGatewayId;
  return {
    ...rest,
    period,
    /** The period, with the slack on either side. */
    widened: { fromMs: period.fromMs - slackMs, toMs: period.toMs + slackMs },
    senderGatewayIds: ids && new Set(ids),
    headers: { ...headers },
  };
}

export type ReconcileSettings = ReturnType<typeof toReconcileSettings>;

export function toWatchSettings({ baseUrl }: Pick<ApiClient, "baseUrl">, given: WatchOptions) {
  const refuse = refusing("watchPayments");
  const parsed = parseOptions<WatchOptions>(watchOptions, given, "the options", refuse);
  const { after, since, headers, remember, ...rest } = withDefaults(watchOptions, parsed);
  if (after !== undefined && since !== undefined) {
    throw refuse("after and since exclude each other: with a cursor, the watch continues where that one ends");
  }
  const sinceMs = since === undefined ? undefined : parseTime("since", since, refuse);
  const state =
    after === undefined ? new WatchState(remember, sinceMs) : WatchState.ofCursor(after, baseUrl, remember, refuse);
  return { ...rest, state, headers: { ...headers } };
}

export type WatchSettings = ReturnType<typeof toWatchSettings>;

type Refuse = (problem: string) => InvalidArgumentError;

function refusing(caller: string): Refuse {
  return (problem) => new InvalidArgumentError(`${caller}: ${problem}`);
}

function parsePeriod(from: unknown, to: unknown, lengthMs: number, refuse: Refuse): Period {
  const fromMs = parseTime("from", from, refuse);
  const toMs = to === undefined ? fromMs + lengthMs : parseTime("to", to, refuse);
  if (fromMs >= toMs) throw refuse("from must lie before to");
  return { fromMs, toMs };
}

/** A point in time with its zone. `Date.parse` alone would read others in the zone of this machine. */
const zoned = /^\d{4}-\d\d-\d\dT\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)$/;

/** Parses a time that the caller gave into milliseconds since 1970. */
export function parseTime(name: string, value: unknown, refuse: (problem: string) => Error): number {
  const isZoned = typeof value === "string" && zoned.test(value) && isDay(value.slice(0, 10));
  const ms = isDate(value) ? Number(value) : isZoned ? Date.parse(value) : Number.NaN;
  if (!Number.isNaN(ms)) return ms;
  throw refuse(
    `${name} must be a Date, or ISO 8601 with a time zone such as "2026-01-31T00:00:00Z"; got ${describeValue(value)}`,
  );
}

/** Whether it is a `Date` of any realm. For example, Node's `Date` isn't Jest's. */
function isDate(value: unknown): boolean {
  return Object.prototype.toString.call(value) === "[object Date]";
}

/** Whether the calendar has the day: `Date.parse` takes 30 February for 2 March. */
function isDay(day: string): boolean {
  const ms = Date.parse(`${day}T00:00:00Z`);
  return !Number.isNaN(ms) && new Date(ms).toISOString().startsWith(day);
}

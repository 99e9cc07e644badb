import { type ApiClient, apiClientOf } from "../api/api-client.js";
import type { RequestOptions } from "../api/request-options.js";
import { clock } from "../core/clock.js";
import { type Deadline, Ended } from "../core/deadline.js";
import {
  AbortedError,
  ApiError,
  ConnectionError,
  type ErrorCode,
  InvalidArgumentError,
  PagingError,
  TimeoutError,
  TokenError,
  UnexpectedResponseError,
} from "../core/errors.js";
import { type Backoff, maxRetryAfterMs, nextDelayMs } from "../core/retry.js";
import { newestFirst } from "../paging/newest-first.js";
import { type Payment, payments } from "../resources/payments.js";
import { isPassingStatus } from "../wire/response.js";

/**
 * The `CrossBorderClient` that reads the payments.
 *
 * You can't implement it yourself. Any other object is refused.
 */
export interface PaymentsClient {
  close(): Promise<void>;
}

/** @throws {InvalidArgumentError} if it isn't a client of this package. */
export function requireApiClient(caller: string, client: PaymentsClient): ApiClient {
  const api = apiClientOf(client);
  if (api === undefined) throw new InvalidArgumentError(`${caller}: the client must be a CrossBorderClient`);
  return api;
}

/** From when (inclusive) until when (exclusive), in milliseconds since 1970. */
export interface Period {
  readonly fromMs: number;
  readonly toMs: number;
}

/** A time that can't be read belongs to every period. */
export function isWithin(ms: number, { fromMs, toMs }: Period): boolean {
  return !(ms < fromMs || ms >= toMs);
}

export interface PaymentReading {
  /** Payments created then or later, in milliseconds since 1970. */
  readonly since: number;
  readonly size?: number | undefined;
  readonly tokensFollowTime?: boolean | undefined;
  readonly headers?: RequestOptions["headers"];
  /** How many failures in a row are retried. */
  readonly maxRetries: number;
  /** Settles for the time bound, although it may not prove that the reading is complete. */
  readonly isQuick?: boolean;
}

const clockSkewMs = 60_000;

/**
 * Gives the payments back to a time, each of them at least once. After a failure that can pass, the reading starts again.
 *
 * @throws {CrossBorderError} if the reading can't be completed.
 */
export async function* readPayments(
  client: ApiClient,
  { maxRetries, isQuick = false, ...options }: PaymentReading,
  deadline: Deadline,
): AsyncGenerator<readonly Payment[], void, undefined> {
  for (let failures = 0; ; failures += 1) {
    try {
      const query = { ...options, clockSkewMs, toTheEnd: !isQuick, signal: deadline.signal };
      const end = yield* newestFirst(client, payments.list, query);
      if (end.complete || end.reason === "time_bound") return;
      throw "error" in end ? end.error : new PagingError(`${payments.list.name}: the reading isn't complete`);
    } catch (error) {
      const delayMs = failures < maxRetries ? retryDelayMs(error, failures, Math.random, clock.wallMs()) : undefined;
      if (delayMs === undefined) throw error;
      await deadline.sleep(delayMs).catch(throwAborted);
    }
  }
}

export function throwAborted(error: unknown): never {
  if (!(error instanceof Ended)) throw error;
  throw new AbortedError(`${payments.list.name}: the caller's signal ended the reading, which isn't complete`);
}

const backoff: Backoff = { baseMs: 1000, capMs: 60_000 };

/** A record that can't be read stays that way, and so does a gap in a list. */
const maxUnreadable = 10;
const maxUnproved = 3;

/** Codes of an identity server that is away or busy. */
const passingTokenErrors: ReadonlySet<ErrorCode> = new Set([
  "token_endpoint_blocked",
  "token_endpoint_failing",
  "token_endpoint_unreachable",
  "token_response_unreadable",
  "token_source_failed",
  "token_throttled",
]);

/**
 * How long to wait before the next attempt, or `undefined` if it would fail again.
 *
 * @param failures the number of failures in a row before.
 */
export function retryDelayMs(
  error: unknown,
  failures: number,
  random: () => number,
  wallMs: number,
): number | undefined {
  if (!canPass(error, failures)) return undefined;
  return Math.max(nextDelayMs(failures, random, backoff), Math.min(demandedMs(error, wallMs), maxRetryAfterMs));
}

function canPass(error: unknown, failures: number): boolean {
  if (error instanceof TokenError) return passingTokenErrors.has(error.code);
  if (error instanceof ConnectionError) return error.code === "connection_failed";
  if (error instanceof UnexpectedResponseError) return failures < maxUnreadable;
  if (error instanceof PagingError) return error.code === "paging_end_unproved" && failures < maxUnproved;
  if (!(error instanceof ApiError)) return error instanceof TimeoutError;
  // A 403 without the service's own message is from a firewall or proxy, and can pass like an outage.
  return error.status === 403 ? error.serviceMessage === undefined : isPassingStatus(error.status);
}

/** What the service, or the identity server, asked to wait. */
function demandedMs(error: unknown, wallMs: number): number {
  if (error instanceof ApiError) return error.retryAfterMs ?? 0;
  return error instanceof TokenError ? Math.max(0, (error.heldUntilMs ?? 0) - wallMs) : 0;
}

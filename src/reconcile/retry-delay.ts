import {
  ApiError,
  ConnectionError,
  type ErrorCode,
  PagingError,
  TimeoutError,
  TokenError,
  UnexpectedResponseError,
} from "../errors/errors.js";
import { type Backoff, nextDelayMs } from "../timing/backoff.js";
import { longestAskedMs } from "../timing/retry-after.js";
import { isPassingStatus } from "../wire/status.js";

export const backoff: Backoff = { baseMs: 1000, capMs: 60_000 };

/** A record that can't be read stays so: after so many tries it is a definite problem. */
const mostUnreadable = 10;

/** A machine that lags behind catches up, and a cache runs out. What has gone from the list stays so. */
const mostUnproved = 10;

/** Codes of an identity server that is away, or busy. */
const passingTokenErrors: ReadonlySet<ErrorCode> = new Set([
  "token_endpoint_blocked",
  "token_endpoint_failing",
  "token_endpoint_unreachable",
  "token_response_unreadable",
  "token_source_failed",
  "token_throttled",
]);

/**
 * How long to wait before a read is tried again; `undefined` where it would fail again: the service refuses it, or something has to be set
 * up in another way.
 *
 * @param failures how often it failed in a row before.
 */
export function retryDelayMs(
  error: unknown,
  failures: number,
  random: () => number,
  wallMs: number,
): number | undefined {
  if (!isPassing(error, failures)) return undefined;
  return Math.max(nextDelayMs(failures, random, backoff), Math.min(demandedMs(error, wallMs), longestAskedMs));
}

function isPassing(error: unknown, failures: number): boolean {
  if (error instanceof TokenError) return passingTokenErrors.has(error.code);
  if (error instanceof ConnectionError) return error.code === "connection_failed";
  if (error instanceof UnexpectedResponseError) return failures < mostUnreadable;
  if (error instanceof PagingError) return error.code === "paging_end_unproved" && failures < mostUnproved;
  if (error instanceof ApiError) return canPass(error);
  return error instanceof TimeoutError;
}

/** Without the service's own words, a 403 is that of a firewall or a proxy, which can come and go with an outage. */
function canPass({ status, serviceMessage }: ApiError): boolean {
  if (status === 403) return serviceMessage === undefined;
  return isPassingStatus(status);
}

/** What the service, or the identity server, asked to wait. */
function demandedMs(error: unknown, wallMs: number): number {
  if (error instanceof ApiError) return error.retryAfterMs ?? 0;
  return error instanceof TokenError ? Math.max(0, (error.heldUntilMs ?? 0) - wallMs) : 0;
}

import { later, leftMs, now, type Timestamp } from "../core/clock.js";
import { nextDelayMs } from "../core/retry.js";
import type { GrantFailure } from "./token-error.js";

export interface Token {
  readonly value: string;
  /** Absent if the response gave none: such a token is used until the service refuses it. */
  readonly lifetimeMs?: number;
  readonly expiresAt?: Timestamp;
  /** How long before its expiry it is renewed. */
  readonly leewayMs: number;
}

/**
 * A token whose lifetime counts from before its request was sent: the server's own count can only have started later.
 *
 * @param leewayMs default: 5 s or a tenth of the lifetime, whichever is less. At most half of the lifetime: with one longer than the
 *   lifetime, every call would request a token.
 */
export function toToken(value: string, sentAt: Timestamp, lifetimeMs: number | undefined, leewayMs?: number): Token {
  if (lifetimeMs === undefined) return { value, leewayMs: 0 };
  return {
    value,
    lifetimeMs,
    expiresAt: later(sentAt, lifetimeMs),
    leewayMs: leewayMs === undefined ? Math.min(5000, lifetimeMs / 10) : Math.min(leewayMs, lifetimeMs / 2),
  };
}

/** How long a token can still be used, by whichever clock has less; 0 or below if there is none, or once it has expired. */
export function leftOfToken(token: Token | undefined): number {
  if (token === undefined) return 0;
  return token.expiresAt === undefined ? Number.POSITIVE_INFINITY : leftMs(token.expiresAt, now());
}

/** In the last second of a token, calls wait for the next one: this one could expire before it arrives. */
export const lastPartMs = 1000;

export function isThrottled({ class: kind }: Pick<GrantFailure, "class">): boolean {
  return kind === "throttled" || kind === "throttled-by-another";
}

/** The longest wait that the `Retry-After` of a 429 can cause. */
export const longestAskedMs = 300_000;
/** The client is back within this time of an endpoint that was away or blocked the request. */
export const longestPauseMs = 3000;

/**
 * How long no token is requested after a failure that passes: as long as `Retry-After` says, up to 300 s if the endpoint throttles, and
 * 3 s otherwise. Without `Retry-After` it's a backoff with jitter, from 0.1 s to at most 20 s or 3 s.
 *
 * @param failures how many requests in a row had failed before.
 */
export function backOffMs(
  failure: Pick<GrantFailure, "class" | "retryAfterMs">,
  failures: number,
  random: () => number,
): number {
  const [askedMs, capMs] = isThrottled(failure) ? [longestAskedMs, 20_000] : [longestPauseMs, longestPauseMs];
  const { retryAfterMs = 0 } = failure;
  return retryAfterMs > 0 ? Math.min(askedMs, retryAfterMs) : nextDelayMs(failures, random, { baseMs: 200, capMs });
}

/** How long there is no login after `refusals` refused ones in a row, since identity providers lock accounts: 1 min, then 2, 4, … 60. */
export function refusedHoldMs(refusals: number): number {
  return Math.min(3_600_000, 60_000 * 2 ** (refusals - 1));
}

/**
 * How long no token is renewed because of a 401 after `renewals` of them in a row. A token that the service has never accepted suggests a
 * wrong audience or clocks that differ: 10 s, then 20, 40, … 300. Tokens that were accepted before may have been revoked: five of them
 * in a row are replaced at once.
 */
export function rejectedHoldMs(renewals: number, wasAccepted: boolean): number {
  const suspicious = wasAccepted ? renewals - 5 : renewals;
  return suspicious < 1 ? 0 : Math.min(300_000, firstRejectedHoldMs * 2 ** (suspicious - 1));
}

export const firstRejectedHoldMs = 10_000;

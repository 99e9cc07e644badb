import { nextDelayMs } from "../timing/backoff.js";
import { later, leftMs, type Timestamp } from "../timing/timestamp.js";
import type { GrantFailure } from "./grant-failure.js";

/** An access token and its lifetime. */
export interface Token {
  readonly value: string;
  /** Absent where the response gave no lifetime: such a token is used until the service refuses it. */
  readonly expiresAt?: Timestamp;
  /** How long before its expiry it is renewed. */
  readonly leewayMs: number;
}

/**
 * A token whose lifetime counts from before its request was sent: the server's own count can only have started later.
 *
 * @param leewayMs default: 5 s or a tenth of the lifetime, whichever is less. A given leeway is cut to half of the lifetime:
 *   with one longer than the lifetime, every call would request a token.
 */
export function toToken(value: string, sentAt: Timestamp, lifetimeMs: number | undefined, leewayMs?: number): Token {
  if (lifetimeMs === undefined) return { value, leewayMs: 0 };
  return {
    value,
    expiresAt: later(sentAt, lifetimeMs),
    leewayMs: leewayMs === undefined ? Math.min(5000, lifetimeMs / 10) : Math.min(leewayMs, lifetimeMs / 2),
  };
}

/** Whether a token is about to expire, by whichever clock has less time left. */
export function needsRenewal({ expiresAt, leewayMs }: Token, at: Timestamp): boolean {
  return expiresAt !== undefined && leftMs(expiresAt, at) <= leewayMs;
}

/** Whether a token is of no use any more. */
export function isExpired({ expiresAt }: Token, at: Timestamp): boolean {
  return expiresAt !== undefined && leftMs(expiresAt, at) <= 0;
}

/** How long there is no login after one was refused: identity servers lock accounts. */
export const refusedHoldMs = 60_000;

/** The longest hold that a `Retry-After` can cause. */
export const longestHoldMs = 300_000;

/**
 * How long the token endpoint is left alone after it asked for that or failed: as long as `Retry-After` says, up to 300 s, or
 * else a backoff.
 *
 * @param failures how many requests in a row had failed before.
 */
export function backOffMs(
  { retryAfterMs }: Pick<GrantFailure, "retryAfterMs">,
  failures: number,
  random: () => number,
): number {
  if (retryAfterMs !== undefined && retryAfterMs > 0) return Math.min(longestHoldMs, retryAfterMs);
  return jitteredMs(failures, random);
}

/** The pause before a request that was not sent is repeated. */
export function repeatPauseMs(random: () => number): number {
  return jitteredMs(0, random);
}

/** The pause before a login that may have arrived is repeated: at least 1 s, for servers that count logins. */
export function longRepeatPauseMs(random: () => number): number {
  return 1000 + nextDelayMs(0, random, { baseMs: 500, capMs: 500 });
}

/** Between 100 and 200 ms at first, twice as much after each failure, up to 20 s. Never 0, which would be no hold. */
function jitteredMs(failures: number, random: () => number): number {
  const halfMs = Math.min(10_000, 100 * 2 ** failures);
  return halfMs + nextDelayMs(0, random, { baseMs: halfMs, capMs: halfMs });
}

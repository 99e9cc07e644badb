import { nextDelayMs } from "../timing/backoff.js";
import { later, leftMs as msLeft, type Timestamp } from "../timing/timestamp.js";
import type { GrantFailure } from "./grant-failure.js";

/** An access token and the time that it has. */
export interface Token {
  readonly value: string;
  /** Absent where the response named no lifetime: such a token is used until the service refuses it. */
  readonly expiresAt?: Timestamp;
  /** How long before its expiry it is renewed. */
  readonly leewayMs: number;
}

/**
 * A token whose lifetime counts from the moment before its request was sent: the server's own count can only have begun later.
 *
 * @param leewayMs by default 5 s or a tenth of the lifetime, whichever is less. A leeway of one's own takes at most half of the
 *   lifetime, since with more than the whole of it every call would ask for a token.
 */
export function toToken(value: string, sentAt: Timestamp, lifetimeMs: number | undefined, leewayMs?: number): Token {
  if (lifetimeMs === undefined) return { value, leewayMs: 0 };
  return {
    value,
    expiresAt: later(sentAt, lifetimeMs),
    leewayMs: leewayMs === undefined ? Math.min(5000, lifetimeMs / 10) : Math.min(leewayMs, lifetimeMs / 2),
  };
}

/** Milliseconds until a token expires, by whichever clock has less; not above 0 once it has. */
export function leftMs({ expiresAt }: Token, nowWallMs: number, nowMonotonicMs: number): number {
  if (expiresAt === undefined) return Number.POSITIVE_INFINITY;
  return msLeft(expiresAt, { wallMs: nowWallMs, monotonicMs: nowMonotonicMs });
}

/** Whether a token needs no renewal yet. */
export function isLive(token: Token, nowWallMs: number, nowMonotonicMs: number): boolean {
  return leftMs(token, nowWallMs, nowMonotonicMs) > token.leewayMs;
}

/** How long nobody logs in after a login was refused: identity servers lock accounts. */
export const refusedHoldMs = 60_000;

/** The longest hold that a `Retry-After` can bring about. */
export const longestHoldMs = 300_000;

/**
 * How long the token endpoint is left alone after it asked for that or failed: what `Retry-After` says, up to 300 s, else a
 * backoff.
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

/** The pause before a request that never left is tried again. */
export function repeatPauseMs(random: () => number): number {
  return jitteredMs(0, random);
}

/** The pause before a login that may have arrived is tried again: at least 1 s, for servers that count logins. */
export function longRepeatPauseMs(random: () => number): number {
  return 1000 + nextDelayMs(0, random, { baseMs: 500, capMs: 500 });
}

/** Between 100 and 200 ms at first, twice that after each failure, up to 20 s. A hold of nothing would be none. */
function jitteredMs(failures: number, random: () => number): number {
  const halfMs = Math.min(10_000, 100 * 2 ** failures);
  return halfMs + nextDelayMs(0, random, { baseMs: halfMs, capMs: halfMs });
}

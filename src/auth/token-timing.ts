import { nextDelayMs } from "../timing/backoff.js";
import { later, leftMs, type Timestamp } from "../timing/timestamp.js";
import type { GrantFailure } from "./grant-failure.js";

export interface Token {
  readonly value: string;
  /** Absent where the response gave no lifetime: such a token is used until the service refuses it. */
  readonly expiresAt?: Timestamp;
  /** Absent where the lifetime is. */
  readonly lifetimeMs?: number;
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
    lifetimeMs,
    leewayMs: leewayMs === undefined ? Math.min(5000, lifetimeMs / 10) : Math.min(leewayMs, lifetimeMs / 2),
  };
}

/** How long a token can still be used, by whichever clock has less; 0 or below once it is of no use any more. */
export function leftOfToken({ expiresAt }: Token, at: Timestamp): number {
  return expiresAt === undefined ? Number.POSITIVE_INFINITY : leftMs(expiresAt, at);
}

/**
 * How much of a token has to be left where it is wanted for `validForMs`; with less it is renewed. Where a new token would last no
 * longer either, or hardly, it is half of the lifetime: otherwise every call would request a token.
 */
export function wantedOfToken({ lifetimeMs }: Token, validForMs: number): number {
  if (lifetimeMs === undefined) return 0;
  return validForMs <= lifetimeMs * 0.9 ? validForMs : lifetimeMs / 2;
}

/** In the last second of a token calls wait for the next one: this one could expire on its way. */
export const lastPartMs = 1000;

/** The longest hold that a `Retry-After` can cause. */
export const longestHoldMs = 300_000;

/**
 * How long the token endpoint is left alone after it asked for that or failed: as long as `Retry-After` says, up to 300 s, or
 * else a backoff. It begins at 0.1 s at least and doubles, up to 3 s where the endpoint is away, so that the client is back
 * within 3 s of the server, and up to 20 s where it throttles.
 *
 * @param failures how many requests in a row had failed before.
 */
export function backOffMs(
  failure: Pick<GrantFailure, "class" | "retryAfterMs">,
  failures: number,
  random: () => number,
): number {
  const { retryAfterMs } = failure;
  if (retryAfterMs !== undefined && retryAfterMs > 0) return Math.min(longestHoldMs, retryAfterMs);
  const capMs = failure.class === "throttled" ? 20_000 : 3000;
  // Never 0, which would be no hold.
  return leastBackOffMs + nextDelayMs(failures, random, { baseMs: leastBackOffMs, capMs: capMs - leastBackOffMs });
}

const leastBackOffMs = 100;

/**
 * How long there is no login after one was refused, since identity servers lock accounts: 1 min, then 2, 4, … 60.
 *
 * @param refusals in a row, this one included.
 */
export function refusedHoldMs(refusals: number): number {
  return Math.min(3_600_000, 60_000 * 2 ** (refusals - 1));
}

/**
 * How long no token is renewed because of a 401 after the last renewal for that reason. A token that the service has never
 * accepted suggests a wrong audience, or clocks apart: 10 s, then 20, 40, … 300. Tokens that were accepted and refused soon
 * afterwards may have been revoked: a few of them in a row are replaced at once.
 *
 * @param renewals for that reason in a row.
 */
export function rejectedHoldMs(renewals: number, wasAccepted: boolean): number {
  const suspicious = wasAccepted ? renewals - 5 : renewals;
  return suspicious < 1 ? 0 : Math.min(300_000, firstRejectedHoldMs * 2 ** (suspicious - 1));
}

/** Tokens that last longer than this and the last hold begin a new count of renewals after a 401. */
export const firstRejectedHoldMs = 10_000;

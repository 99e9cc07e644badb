import { later, leftMs, type Timestamp } from "../core/clock.js";

export interface Token {
  readonly value: string;
  /** Absent if the response gave no lifetime: such a token is used until the service refuses it. */
  readonly expiresAt?: Timestamp;
  /** How long before its expiry it is renewed. */
  readonly leewayMs: number;
}

/**
 * A token whose lifetime counts from before its request was sent: the server's own count can only have started later.
 *
 * @param leewayMs default: 5 s or a tenth of the lifetime, whichever is less. At most half of the lifetime: with one longer than
 *   the lifetime, every call would request a token.
 */
export function toToken(value: string, sentAt: Timestamp, lifetimeMs: number | undefined, leewayMs?: number): Token {
  if (lifetimeMs === undefined) return { value, leewayMs: 0 };
  return {
    value,
    expiresAt: later(sentAt, lifetimeMs),
    leewayMs: leewayMs === undefined ? Math.min(5000, lifetimeMs / 10) : Math.min(leewayMs, lifetimeMs / 2),
  };
}

/** How long a token can still be used, by whichever clock has less; 0 or below once it has expired. */
export function leftOfToken({ expiresAt }: Token, at: Timestamp): number {
  return expiresAt === undefined ? Number.POSITIVE_INFINITY : leftMs(expiresAt, at);
}

/** In the last second of a token calls wait for the next one: this one could expire on its way. */
export const lastPartMs = 1000;

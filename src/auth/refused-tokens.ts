import { leftMs, now, type Timestamp } from "../timing/timestamp.js";
import { firstRejectedHoldMs, rejectedHoldMs } from "./token-timing.js";

/** What the service said of access tokens: which it accepted last, which it refused last, and how often in a row. */
export class RefusedTokens {
  #accepted: string | undefined;
  #refused: string | undefined;
  /** How many renewals in a row a 401 caused. */
  #renewals = 0;
  #lastRenewal: Timestamp | undefined;

  get last(): string | undefined {
    return this.#refused;
  }

  accept(token: string): void {
    this.#accepted = token;
  }

  refuse(token: string): void {
    this.#refused = token;
  }

  /**
   * Counts a renewal because of a 401, unless tokens are refused again and again.
   *
   * @returns how long this token is not to be replaced, in milliseconds; 0 where it may be.
   */
  beginRenewal(token: string): number {
    const wasAccepted = this.#accepted === token;
    if (this.#lastRenewal !== undefined) {
      const ageMs = -leftMs(this.#lastRenewal, now());
      const quietMs = firstRejectedHoldMs + rejectedHoldMs(this.#renewals, true);
      if (wasAccepted && ageMs > quietMs) this.#renewals = 0;
      const heldMs = rejectedHoldMs(this.#renewals, wasAccepted) - ageMs;
      if (heldMs > 0) return heldMs;
    }
    this.#renewals += 1;
    this.#lastRenewal = now();
    return 0;
  }
}

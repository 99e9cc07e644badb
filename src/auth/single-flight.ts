import { waitUntil } from "#platform";
import { later, leftMs, now, type Timestamp } from "../core/clock.js";

/** One piece of work at a time. All callers share its result, and it continues if one of them gives up. */
export class SingleFlight<T> {
  readonly #limitMs: number;
  #flight: { readonly limit: Timestamp; readonly result: Promise<T> } | undefined;

  /** @param limitMs within which the work ends, by timers of its own. */
  constructor(limitMs: number) {
    this.#limitMs = limitMs;
  }

  /** The work that hasn't ended. */
  get current(): Promise<T> | undefined {
    // Workers can drop work, and its timers, with the request that began it. Elsewhere it continues, however late it is.
    const isLost = waitUntil !== undefined && this.#flight !== undefined && leftMs(this.#flight.limit, now()) <= 0;
    if (isLost) this.#flight = undefined;
    return this.#flight?.result;
  }

  /** Joins the current work, or starts it. */
  join(work: () => Promise<T>): Promise<T> {
    if (this.current !== undefined) return this.current;
    const result = work().finally(() => {
      if (this.#flight === flight) this.#flight = undefined;
    });
    const flight = { limit: later(now(), this.#limitMs), result };
    this.#flight = flight;
    waitUntil?.(result);
    return result;
  }
}

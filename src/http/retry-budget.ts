import { clock } from "../core/clock.js";

/**
 * Bounds the retries of a whole client, so that a long outage doesn't multiply its requests. Each retry takes one. Each success
 * returns a fifth, and each second returns one, so a single call always has its retries.
 */
export class RetryBudget {
  readonly #capacity: number;
  #left: number;
  #countedMs = clock.monotonicMs();

  /** @param capacity enough for ten calls a second during an outage of some seconds. */
  constructor(capacity = 200) {
    this.#capacity = capacity;
    this.#left = capacity;
  }

  /** Takes one retry. Returns false if none is left. */
  take(): boolean {
    const nowMs = clock.monotonicMs();
    this.#add((nowMs - this.#countedMs) / 1000);
    this.#countedMs = nowMs;
    if (this.#left < 1) return false;
    this.#left -= 1;
    return true;
  }

  /** To be called when a call has succeeded. */
  giveBack(): void {
    this.#add(0.2);
  }

  #add(retries: number): void {
    this.#left = Math.min(this.#capacity, this.#left + retries);
  }
}

/**
 * A token bucket that bounds the retries of a whole client, so that an outage does not set off a storm of requests: each retry takes
 * from it, each success gives a little back. While nothing succeeds, calls are soon tried once only.
 */
export class RetryBudget {
  readonly #capacity: number;
  #left: number;

  constructor(capacity = 100) {
    this.#capacity = capacity;
    this.#left = capacity;
  }

  /** Takes the price of one retry; false when the bucket does not hold it. */
  take(): boolean {
    if (this.#left < retryPrice) return false;
    this.#left -= retryPrice;
    return true;
  }

  /** To be called when a call has succeeded. */
  giveBack(): void {
    if (this.#left < this.#capacity) this.#left += 1;
  }
}

const retryPrice = 5;

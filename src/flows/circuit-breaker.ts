import { clock } from "../core/clock.js";
import { counted } from "../core/describe.js";
import { CrossBorderError } from "../core/errors.js";

/** When the money of new payments is no longer asked for, and for how long. */
export interface CircuitBreakerOptions {
  /** After how many payments in a row whose outcome is unknown. Default: 5. */
  readonly opensAfter?: number | undefined;
  /** How long the first pause lasts, in milliseconds; each one after it twice as long, up to 10 min. Default: 30,000. */
  readonly pauseMs?: number | undefined;
}

/**
 * Stops `takeFunds` while one payment after the other ends unknown: a wrong route, or a firewall's new rule, must not hold the money of
 * a thousand senders. After a pause one payment is let through; a definite response to any ends it.
 */
export class CircuitBreaker {
  readonly #opensAfter: number;
  readonly #firstPauseMs: number;
  /** How many outcomes in a row were unknown. */
  #unknown = 0;
  #open: OpenCircuit | undefined;

  constructor({ opensAfter = 5, pauseMs = 30_000 }: CircuitBreakerOptions = {}) {
    this.#opensAfter = opensAfter;
    this.#firstPauseMs = pauseMs;
  }

  get isOpen(): boolean {
    return this.#open !== undefined;
  }

  /**
   * To be called before a flow is stored whose money would then be asked for: what is refused here need not be refused later.
   *
   * @throws {CrossBorderError} `flow_circuit_open`
   */
  assertMayBegin(): void {
    if (this.#open === undefined) return;
    const leftMs = this.#open.probeAtMs - clock.monotonicMs();
    if (leftMs > 0) throw toOpenError(this.#unknown, leftMs);
  }

  /**
   * To be called before the money of a payment is asked for. After a pause only the first who calls it is let through.
   *
   * @throws {CrossBorderError} `flow_circuit_open`
   */
  assertClosed(): void {
    this.assertMayBegin();
    const open = this.#open;
    if (open === undefined) return;
    // A payment that is let through may never be sent: then another one is, a pause later.
    open.probeAtMs = clock.monotonicMs() + open.pauseMs;
    open.isProbing = true;
  }

  /** To be called after each request that may have been sent. @param unknown whether no definite response came. */
  note(unknown: boolean): void {
    if (!unknown) {
      this.#unknown = 0;
      this.#open = undefined;
      return;
    }
    this.#unknown += 1;
    if (this.#open === undefined) {
      if (this.#unknown >= this.#opensAfter) this.#open = this.#pause(this.#firstPauseMs);
      return;
    }
    // Those that were under way when it opened say nothing new.
    if (this.#open.isProbing) this.#open = this.#pause(Math.min(longestPauseMs, 2 * this.#open.pauseMs));
  }

  #pause(pauseMs: number): OpenCircuit {
    return { pauseMs, probeAtMs: clock.monotonicMs() + pauseMs, isProbing: false };
  }
}

/** The longest pause, unless the first one is longer. */
const longestPauseMs = 600_000;

interface OpenCircuit {
  readonly pauseMs: number;
  /** No payment is let through before this time of the monotonic clock. */
  probeAtMs: number;
  isProbing: boolean;
}

function toOpenError(unknown: number, leftMs: number): CrossBorderError {
  const seconds = Math.ceil(leftMs / 1000);
  return new CrossBorderError(
    `the last ${counted(unknown, "payment")} got no definite response: no money is taken for another one before the next is tried in ${seconds} s. Check the route to the service, and held()`,
    { code: "flow_circuit_open" },
  );
}

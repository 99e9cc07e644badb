interface Stall {
  readonly fromMs: number;
  readonly toMs: number;
}

const tickMs = 5;

/**
 * Watches how late this process's own event loop is. What settles late only because nothing at all could run (a loaded
 * machine, a garbage collection) is no lateness of the code under test.
 */
export class LoopLag {
  readonly #stalls: Stall[] = [];
  readonly #timer: NodeJS.Timeout;
  #lastMs = performance.now();

  constructor() {
    this.#timer = setInterval(() => this.#tick(), tickMs);
    this.#timer.unref();
  }

  /** How much of the time between two moments of `performance.now()` the loop stood still. */
  betweenMs(fromMs: number, toMs: number): number {
    // One that is still going on: the whole round of the loop, however many callbacks it is made of.
    let sum = overlapMs({ fromMs: this.#lastMs + tickMs, toMs: performance.now() }, fromMs, toMs);
    // The newest stalls are the ones that are asked for.
    for (let index = this.#stalls.length - 1; index >= 0; index--) {
      const stall = this.#stalls[index];
      if (stall === undefined || stall.toMs < fromMs) break;
      sum += overlapMs(stall, fromMs, toMs);
    }
    return sum;
  }

  /** How late something was that had to settle by `deadlineMs`, without the time in which the loop stood still. */
  latenessMs(deadlineMs: number, settledMs: number): number {
    if (settledMs <= deadlineMs) return 0;
    return settledMs - deadlineMs - this.betweenMs(deadlineMs, settledMs);
  }

  stop(): void {
    clearInterval(this.#timer);
  }

  #tick(): void {
    const nowMs = performance.now();
    const dueMs = this.#lastMs + tickMs;
    if (nowMs > dueMs) this.#stalls.push({ fromMs: dueMs, toMs: nowMs });
    this.#lastMs = nowMs;
  }
}

function overlapMs(stall: Stall, fromMs: number, toMs: number): number {
  return Math.max(0, Math.min(stall.toMs, toMs) - Math.max(stall.fromMs, fromMs));
}

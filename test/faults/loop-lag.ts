interface Stall {
  readonly fromMs: number;
  readonly toMs: number;
}

const tickMs = 5;

/**
 * Measures how late this process's own event loop is. What settles late only because nothing could run (a busy machine, a
 * garbage collection) is not the fault of the code under test.
 */
export class LoopLag {
  readonly #stalls: Stall[] = [];
  readonly #timer: NodeJS.Timeout;
  #lastMs = performance.now();

  constructor() {
    this.#timer = setInterval(() => this.#tick(), tickMs);
    this.#timer.unref();
  }

  /** How long the loop was blocked between two times of `performance.now()`. */
  betweenMs(fromMs: number, toMs: number): number {
    // A block that has not ended: the whole turn of the loop, however many callbacks it has.
    let sum = overlapMs({ fromMs: this.#lastMs + tickMs, toMs: performance.now() }, fromMs, toMs);
    // Only the newest blocks are of interest.
    for (let index = this.#stalls.length - 1; index >= 0; index--) {
      const stall = this.#stalls[index];
      if (stall === undefined || stall.toMs < fromMs) break;
      sum += overlapMs(stall, fromMs, toMs);
    }
    return sum;
  }

  /** How late something settled that was due by `deadlineMs`, without the time in which the loop was blocked. */
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

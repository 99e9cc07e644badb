import { clock } from "../core/clock.js";

/** How many flows may be busy at a time. One that waits makes room for another. */
export class Slots {
  /** How many flows could continue, and wait for a slot. */
  queued = 0;
  readonly #limit: number;
  #busy = 0;
  /** Those that wait for a slot, the one that has waited longest first. */
  readonly #queue: (() => void)[] = [];

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Resolves when the caller has a slot. */
  async enter(): Promise<void> {
    if (this.#busy >= this.#limit) await new Promise<void>((resolve) => this.#queue.push(resolve));
    else this.#busy += 1;
  }

  leave(): void {
    const next = this.#queue.shift();
    if (next === undefined) this.#busy -= 1;
    else next();
  }

  /** Gives the caller's slot back if work takes longer than this. Once the work has ended, the caller has a slot again. */
  async lend<T>(work: () => Promise<T>, patienceMs: number): Promise<T> {
    let hasLeft = false;
    const leave = (): void => {
      hasLeft = true;
      this.leave();
    };
    const timer = patienceMs > 0 ? clock.setTimer(leave, patienceMs) : undefined;
    if (timer === undefined) leave();
    else clock.unrefTimer(timer);
    try {
      return await work();
    } finally {
      clock.clearTimer(timer);
      if (hasLeft) {
        this.queued += 1;
        await this.enter();
        this.queued -= 1;
      }
    }
  }
}

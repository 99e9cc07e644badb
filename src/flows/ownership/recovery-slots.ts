import { clock } from "../../timing/clock.js";

/**
 * How many flows may be busy at a time. One that waits makes room for another: a payment that is looked for again in ten minutes keeps
 * no other from being paid now.
 */
export class RecoverySlots {
  #limit: number;
  #busy = 0;
  /** Flows that come back from a wait, the one that waited longest first. */
  readonly #queue: (() => void)[] = [];
  #onChange = () => {};

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** How many flows wait for a slot. */
  get queued(): number {
    return this.#queue.length;
  }

  tryEnter(): boolean {
    if (this.#busy >= this.#limit) return false;
    this.#busy += 1;
    return true;
  }

  /** Resolves when the caller has a slot. */
  async enter(): Promise<void> {
    if (this.tryEnter()) return;
    await new Promise<void>((resolve) => this.#queue.push(resolve));
  }

  leave(): void {
    const next = this.#queue.shift();
    if (next === undefined) this.#busy -= 1;
    else next();
    this.#onChange();
  }

  /** Gives the caller's slot back while work takes longer than `patienceMs`. Once the work has ended, the caller has a slot again. */
  async lend<T>(work: () => Promise<T> | T, patienceMs: number): Promise<T> {
    let hasLeft = false;
    const timer = clock.setTimer(() => {
      hasLeft = true;
      this.leave();
    }, patienceMs);
    clock.unrefTimer(timer);
    try {
      return await work();
    } finally {
      clock.clearTimer(timer);
      if (hasLeft) await this.enter();
    }
  }

  /** Lets all in: a flow that is to stop does little more than that. */
  open(): void {
    this.#limit = Number.POSITIVE_INFINITY;
    for (const next of this.#queue.splice(0)) next();
    this.#onChange();
  }

  /** Resolves when a slot is given back, or all are let in. One caller at a time can wait for that. */
  left(): Promise<void> {
    return new Promise((resolve) => {
      this.#onChange = resolve;
    });
  }
}

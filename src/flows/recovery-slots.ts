/**
 * How many flows may be busy at a time. One that waits makes room for another: a payment that is looked for again in ten minutes keeps
 * no other from being paid now.
 */
export class RecoverySlots {
  #limit: number;
  #busy = 0;
  /** Whoever comes back from a wait, the one that waited longest first. */
  readonly #queue: (() => void)[] = [];
  #onChange = () => {};

  constructor(limit: number) {
    this.#limit = limit;
  }

  /** Takes a slot if one is free. */
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

  /** Gives a slot back. */
  leave(): void {
    const next = this.#queue.shift();
    if (next === undefined) this.#busy -= 1;
    else next();
    this.#onChange();
  }

  /** Lets all in: whoever is to stop does little more than that. */
  open(): void {
    this.#limit = Number.POSITIVE_INFINITY;
    for (const next of this.#queue.splice(0)) {
      this.#busy += 1;
      next();
    }
  }

  /** Resolves when a slot is given back. One caller at a time can wait for that. */
  left(): Promise<void> {
    return new Promise((resolve) => {
      this.#onChange = resolve;
    });
  }
}

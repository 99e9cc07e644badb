/** Counts the calls under way, so that a client that closes can wait for them. Those of a derived client count for both. */
export class InFlight {
  readonly #parent: InFlight | undefined;
  #count = 0;
  #onNone: (() => void) | undefined;

  constructor(parent?: InFlight) {
    this.#parent = parent;
  }

  begin(): void {
    this.#parent?.begin();
    this.#count += 1;
  }

  end(): void {
    this.#count -= 1;
    if (this.#count === 0) this.#onNone?.();
    this.#parent?.end();
  }

  /** Resolves when there are none. Call it when no call begins any more. */
  none(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#count === 0) resolve();
      else this.#onNone = resolve;
    });
  }
}

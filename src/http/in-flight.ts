/** Counts the calls under way, so that a client that closes can wait for them. */
export class InFlight {
  #count = 0;
  #onNone: (() => void) | undefined;

  begin(): void {
    this.#count += 1;
  }

  end(): void {
    this.#count -= 1;
    if (this.#count === 0) this.#onNone?.();
  }

  /** Resolves when there are none. Call it when no call begins any more. */
  none(): Promise<void> {
    return new Promise((resolve) => {
      if (this.#count === 0) resolve();
      else this.#onNone = resolve;
    });
  }
}

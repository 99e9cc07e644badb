/** Lets work on the same key wait for its turn, first in, first out; work on different keys goes on at the same time. */
export class KeyTurns {
  readonly #last = new Map<string, Promise<unknown>>();

  take<T>(key: string, work: () => Promise<T>): Promise<T> {
    const before = this.#last.get(key);
    const mine = before === undefined ? work() : before.then(work, work);
    this.#last.set(key, mine);
    const end = (): void => {
      if (this.#last.get(key) === mine) this.#last.delete(key);
    };
    void mine.then(end, end);
    return mine;
  }

  async idle(): Promise<void> {
    while (this.#last.size > 0) await Promise.allSettled(this.#last.values());
  }
}

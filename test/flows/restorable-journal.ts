import { type Journal, MemoryJournal } from "cross-border-payments/flow";
import { boundJournal } from "./bound-journal.js";

/** A journal that can be restored to what it was after any of its writes, as from a backup. */
export class RestorableJournal {
  readonly journal: Journal;
  #current = new MemoryJournal();
  #writes: ((journal: Journal) => Promise<unknown>)[] = [];

  constructor() {
    const write = <T>(work: (journal: Journal) => Promise<T>): Promise<T> => {
      this.#writes.push(work);
      return work(this.#current);
    };
    this.journal = boundJournal(this.#current, {
      begin: (...args) => write((journal) => journal.begin(...args)),
      acquire: (...args) => write((journal) => journal.acquire(...args)),
      acquireAbandoned: (...args) => write((journal) => journal.acquireAbandoned(...args)),
      renew: (...args) => write((journal) => journal.renew(...args)),
      write: (...args) => write((journal) => journal.write(...args)),
      replaceQuote: (...args) => write((journal) => journal.replaceQuote(...args)),
      release: (...args) => write((journal) => journal.release(...args)),
      read: (...args) => this.#current.read(...args),
      list: (...args) => this.#current.list(...args),
      counts: (...args) => this.#current.counts(...args),
    });
  }

  /** How many writes there were. */
  get count(): number {
    return this.#writes.length;
  }

  /** Forgets all but the first `count` writes. Returns what goes back to how it was, and forgets what was written since. */
  async restore(count: number): Promise<() => Promise<void>> {
    const before = this.#writes;
    await this.#become(before.slice(0, count));
    return () => this.#become(before);
  }

  async #become(writes: readonly ((journal: Journal) => Promise<unknown>)[]): Promise<void> {
    this.#writes = [...writes];
    this.#current = new MemoryJournal();
    for (const work of this.#writes) await work(this.#current);
  }
}

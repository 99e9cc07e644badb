import { type Journal, JournalError } from "cross-border-payments/flow";
import { boundJournal } from "./bound-journal.js";

type Write = Parameters<Journal["write"]>;

export const unanswered = () => new JournalError("the connection broke", { stored: "unknown" });

/** A journal whose writes of one phase time out: their first copy stays on its way until it is let go, and a repetition overtakes it. */
export class LateJournal {
  readonly journal: Journal;
  /** Every write that was handed over. */
  readonly writes: Write[] = [];
  readonly #store: Journal;
  readonly #onTheirWay: Write[] = [];

  constructor(store: Journal, isLate: (phase: string) => boolean) {
    this.#store = store;
    const delayed = new Set<string>();
    this.journal = boundJournal(store, {
      write: async (...args) => {
        this.writes.push(args);
        const [, { revision }, { phase }] = args;
        const name = `${revision}`;
        if (!isLate(phase) || delayed.has(name)) return store.write(...args);
        delayed.add(name);
        this.#onTheirWay.push(args);
        throw unanswered();
      },
    });
  }

  /** Lets all copies that are on their way arrive, the newest first, and says how many there were. */
  async arrive(): Promise<number> {
    const arriving = this.#onTheirWay.splice(0).reverse();
    for (const args of arriving) await this.#store.write(...args);
    return arriving.length;
  }
}

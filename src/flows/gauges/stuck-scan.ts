import { isStuckEntry, type StoredFlows, unsettledEntries } from "../flow-status.js";
import type { JournalEntry } from "../journal.js";

/** What a scan found so far. */
export interface StuckCount {
  readonly stuck: number;
  readonly unreadable: number;
}

/** So many flows are looked into by one reading: each is decrypted. */
const mostRead = 200;

const none: StuckCount = { stuck: 0, unreadable: 0 };

/**
 * Counts flows that are stuck, which only their content tells. One reading looks into some flows, and the next one goes on where it ended:
 * where more are open than that, the count is that of the whole scan before, or of this one where that is more already.
 */
export class StuckScan {
  readonly #context: StoredFlows;
  #entries: AsyncGenerator<JournalEntry, void, undefined> | undefined;
  #whole = none;
  #part = none;

  constructor(context: StoredFlows) {
    this.#context = context;
  }

  async read(): Promise<StuckCount> {
    this.#entries ??= unsettledEntries(this.#context);
    try {
      for (let read = 0; read < mostRead; read += 1) {
        const next = await this.#entries.next();
        if (next.done === true) return this.#restart(this.#part);
        this.#part = await this.#add(this.#part, next.value);
      }
    } catch (error) {
      this.#restart(this.#whole);
      throw error;
    }
    return {
      stuck: Math.max(this.#whole.stuck, this.#part.stuck),
      unreadable: Math.max(this.#whole.unreadable, this.#part.unreadable),
    };
  }

  #restart(whole: StuckCount): StuckCount {
    this.#whole = whole;
    this.#part = none;
    this.#entries = undefined;
    return whole;
  }

  async #add({ stuck, unreadable }: StuckCount, entry: JournalEntry): Promise<StuckCount> {
    try {
      const isStuck = await isStuckEntry(this.#context, entry);
      return { stuck: stuck + (isStuck ? 1 : 0), unreadable };
    } catch {
      return { stuck, unreadable: unreadable + 1 };
    }
  }
}

import type { Journal, JournalEntry } from "cross-border-payments/flow";
import { boundJournal } from "./bound-journal.js";

/** The journal as it is after a failover: the same rows, in another incarnation; `undefined` where it can't tell. */
export function inIncarnation(journal: Journal, incarnation: string | undefined): Journal {
  const told = <E extends JournalEntry | undefined>(entry: E): E =>
    entry === undefined ? entry : { ...entry, incarnation };
  return boundJournal(journal, {
    begin: async (...args) => {
      const { entry, created } = await journal.begin(...args);
      return { entry: told(entry), created };
    },
    acquire: async (...args) => told(await journal.acquire(...args)),
    acquireAbandoned: async (...args) => told(await journal.acquireAbandoned(...args)),
    replaceQuote: async (...args) => told(await journal.replaceQuote(...args)),
  });
}

import type { Journal } from "cross-border-payments/flow";

/** A journal that passes everything on to another, but for what is given. */
export function boundJournal(journal: Journal, replaced: Partial<Journal> = {}): Journal {
  return {
    begin: (...args) => journal.begin(...args),
    read: (...args) => journal.read(...args),
    acquire: (...args) => journal.acquire(...args),
    acquireAbandoned: (...args) => journal.acquireAbandoned(...args),
    overlong: (...args) => journal.overlong(...args),
    renew: (...args) => journal.renew(...args),
    write: (...args) => journal.write(...args),
    replaceQuote: (...args) => journal.replaceQuote(...args),
    fenceQuote: (...args) => journal.fenceQuote(...args),
    release: (...args) => journal.release(...args),
    list: (...args) => journal.list(...args),
    counts: (...args) => journal.counts(...args),
    scopes: () => journal.scopes(),
    backlog: () => journal.backlog(),
    prune: (...args) => journal.prune(...args),
    close: () => journal.close(),
    ...replaced,
  };
}

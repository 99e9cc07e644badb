import type { Journal, JournalEntry, LeaseId, ObservedLease, StateId } from "../../flows/journal.js";
import type { HistoryEvent, JournalCall, Told } from "./history.js";

export interface Recording {
  /** Different for each journal that is recorded in one history. */
  readonly client: string;
  /** Called before an operation is handed to the journal, and when it has ended. */
  readonly record: (event: HistoryEvent) => void;
  /** A clock that all clients of the history have in common, and that is never set. */
  readonly nowMs: () => number;
}

/** A journal that records what it is asked for, and what it returns. Counts of flows are not recorded. */
export function recordedJournal(journal: Journal, { client, record, nowMs }: Recording): Journal {
  let count = 0;
  const nextId = (): string => {
    count += 1;
    return `${client}/${count}`;
  };
  const around = async <T>(call: JournalCall, work: () => Promise<T>, tell: (result: T) => Told): Promise<T> => {
    const id = nextId();
    record({ id, client, atMs: nowMs(), call });
    try {
      const result = await work();
      record({ id, atMs: nowMs(), told: tell(result) });
      return result;
    } catch (error) {
      const stored: unknown = Reflect.get(Object(error), "stored");
      record({ id, atMs: nowMs(), failed: stored === "nothing" ? "nothing" : "unknown" });
      throw error;
    }
  };
  const reading = async (work: () => Promise<readonly JournalEntry[]>): Promise<readonly JournalEntry[]> => {
    const startMs = nowMs();
    const entries = await work();
    for (const entry of entries) {
      const id = nextId();
      record({ id, client, atMs: startMs, call: { name: "read", key: entry.key } });
      record({ id, atMs: nowMs(), told: toldEntry(entry) });
    }
    return entries;
  };
  return {
    begin: (key, scope, state, lease) =>
      around(
        { name: "begin", key, scope, state, lease },
        () => journal.begin(key, scope, state, lease),
        ({ created, entry }) => ({ isDone: created, entry }),
      ),
    read: (key) => around({ name: "read", key }, () => journal.read(key), toldEntry),
    acquire: (key, lease, observed) =>
      around(
        { name: "acquire", key, lease, observed: observed && seenOf(observed) },
        () => journal.acquire(key, lease, observed),
        toldEntry,
      ),
    acquireAbandoned: (scope, lease, after) =>
      around(
        { name: "acquireAbandoned", scope, lease, after },
        () => journal.acquireAbandoned(scope, lease, after),
        toldEntry,
      ),
    renew: (key, id, leaseMs) =>
      around({ name: "renew", key, id: leaseOf(id), leaseMs }, () => journal.renew(key, id, leaseMs), toldDone),
    write: (key, id, state, leaseMs) =>
      around(
        { name: "write", key, id: stateOf(id), state, leaseMs },
        () => journal.write(key, id, state, leaseMs),
        toldDone,
      ),
    replaceQuote: (key, id, state, lease, expired) =>
      around(
        { name: "replaceQuote", key, id: stateOf(id), state, lease, expired },
        () => journal.replaceQuote(key, id, state, lease, expired),
        toldEntry,
      ),
    fenceQuote: (key, id, nonce) =>
      around({ name: "fenceQuote", key, id: stateOf(id), nonce }, () => journal.fenceQuote(key, id, nonce), toldEntry),
    release: (key, id) => around({ name: "release", key, id: leaseOf(id) }, () => journal.release(key, id), done),
    prune: (options) => around({ name: "prune", options }, () => journal.prune(options), done),
    list: (query) => reading(() => journal.list(query)),
    overlong: (query) => reading(() => journal.overlong(query)),
    counts: (scope) => journal.counts(scope),
    scopes: () => journal.scopes(),
    backlog: () => journal.backlog(),
    close: () => journal.close(),
  };
}

const done = (): Told => ({ isDone: true });
const toldDone = (isDone: boolean): Told => ({ isDone });
const toldEntry = (entry: JournalEntry | undefined): Told => ({ isDone: entry !== undefined, entry });

// Callers give whole entries, of which only this much is looked at.
const leaseOf = ({ epoch, nonce }: LeaseId): LeaseId => ({ epoch, nonce });
const stateOf = ({ epoch, nonce, revision }: StateId): StateId => ({ epoch, nonce, revision });
const seenOf = (observed: ObservedLease): ObservedLease => ({
  ...stateOf(observed),
  leaseUntilMs: observed.leaseUntilMs,
});

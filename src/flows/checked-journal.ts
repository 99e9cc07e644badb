import type {
  BacklogCount,
  FlowScope,
  Journal,
  JournalEntry,
  JournalQuery,
  JournalState,
  LeaseId,
  LeaseRequest,
  ObservedLease,
  PruneOptions,
  PruneReport,
  ScopeCounts,
  ScopeFilter,
  StateId,
} from "./journal.js";
import {
  assertAfter,
  assertExpired,
  assertKey,
  assertLease,
  assertLeaseId,
  assertLeaseMs,
  assertNonce,
  assertObserved,
  assertPrune,
  assertQuery,
  assertScope,
  assertScopeFilter,
  assertState,
  assertStateId,
  isRepetition,
} from "./journal-arguments.js";

/** What each argument of each method must be: a method whose arguments are not all here does not compile. */
type Checks<Parameters extends readonly unknown[]> = {
  readonly [Index in keyof Parameters]-?: (value: Parameters[Index]) => void;
};

const checks: { readonly [Name in keyof Journal]: Checks<Parameters<Journal[Name]>> } = {
  begin: [assertKey, assertScope, assertState, assertLease],
  read: [assertKey],
  acquire: [assertKey, assertLease, assertObserved],
  acquireAbandoned: [assertScopeFilter, assertLease, assertAfter],
  overlong: [assertQuery],
  renew: [assertKey, assertLeaseId, assertLeaseMs],
  write: [assertKey, assertStateId, assertState, (leaseMs) => leaseMs === undefined || assertLeaseMs(leaseMs)],
  replaceQuote: [assertKey, assertStateId, assertState, assertLease, assertExpired],
  fenceQuote: [assertKey, assertStateId, assertNonce],
  release: [assertKey, assertLeaseId],
  list: [assertQuery],
  counts: [assertScopeFilter],

  scopes: [],
  backlog: [],
  prune: [assertPrune],
  close: [],
};

export const journalMethods: readonly string[] = Object.keys(checks);

/** The journal, whose methods check their arguments first. */
function checked(store: Journal): Journal {
  const methods = Object.entries<readonly ((value: never) => void)[]>(checks).map(([name, assertions]) => [
    name,
    (...given: readonly unknown[]): Promise<unknown> => {
      try {
        // The table has an assertion for each argument, of its type.
        for (let index = 0; index < assertions.length; index += 1) assertions[index]?.(given[index] as never);
        return Reflect.apply(Reflect.get(store, name), store, given);
      } catch (error) {
        return Promise.reject(error);
      }
    },
  ]);
  // Every method of a journal is in the table.
  return Object.fromEntries(methods) as Journal;
}

/** What the journals of this package have in common: their arguments are checked before anything is stored or read. */
export abstract class CheckedJournal implements Journal {
  readonly #store: Journal;

  /**
   * @param store gets arguments that were checked. Its `write` need not know its own repetition.
   * @internal
   */
  constructor(store: Journal) {
    this.#store = checked(store);
  }

  begin(key: string, scope: FlowScope, state: JournalState, lease: LeaseRequest) {
    return this.#store.begin(key, scope, state, lease);
  }

  read(key: string): Promise<JournalEntry | undefined> {
    return this.#store.read(key);
  }

  acquire(key: string, lease: LeaseRequest, observed?: ObservedLease): Promise<JournalEntry | undefined> {
    return this.#store.acquire(key, lease, observed);
  }

  acquireAbandoned(scope: ScopeFilter, lease: LeaseRequest, after: string | undefined) {
    return this.#store.acquireAbandoned(scope, lease, after);
  }

  overlong(query: Omit<JournalQuery, "phase">): Promise<readonly JournalEntry[]> {
    return this.#store.overlong(query);
  }

  renew(key: string, id: LeaseId, leaseMs: number): Promise<boolean> {
    return this.#store.renew(key, id, leaseMs);
  }

  async write(key: string, id: StateId, state: JournalState, leaseMs?: number): Promise<boolean> {
    return (await this.#store.write(key, id, state, leaseMs)) || isRepetition(await this.#store.read(key), id, state);
  }

  replaceQuote(
    key: string,
    seen: StateId,
    state: JournalState,
    lease: LeaseRequest,
    expired: boolean | undefined,
  ): Promise<JournalEntry | undefined> {
    return this.#store.replaceQuote(key, seen, state, lease, expired);
  }

  fenceQuote(key: string, seen: StateId, nonce: string): Promise<JournalEntry | undefined> {
    return this.#store.fenceQuote(key, seen, nonce);
  }

  release(key: string, id: LeaseId): Promise<void> {
    return this.#store.release(key, id);
  }

  list(query: JournalQuery): Promise<readonly JournalEntry[]> {
    return this.#store.list(query);
  }

  counts(scope: ScopeFilter): Promise<Readonly<Record<string, number>>> {
    return this.#store.counts(scope);
  }

  scopes(): Promise<readonly ScopeCounts[]> {
    return this.#store.scopes();
  }

  backlog(): Promise<readonly BacklogCount[]> {
    return this.#store.backlog();
  }

  prune(options: PruneOptions): Promise<PruneReport> {
    return this.#store.prune(options);
  }

  close(): Promise<void> {
    return this.#store.close();
  }
}

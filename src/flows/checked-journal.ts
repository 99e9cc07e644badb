import type {
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

/** What the journals of this package have in common: their arguments are checked before anything is stored or read. */
export abstract class CheckedJournal implements Journal {
  readonly #store: Journal;

  /**
   * @param store gets arguments that are in order. Its `write` need not know its own repetition.
   * @internal
   */
  constructor(store: Journal) {
    this.#store = store;
  }

  async begin(key: string, scope: FlowScope, state: JournalState, lease: LeaseRequest) {
    assertKey(key);
    assertScope(scope);
    assertState(state);
    assertLease(lease);
    return this.#store.begin(key, scope, state, lease);
  }

  async read(key: string): Promise<JournalEntry | undefined> {
    assertKey(key);
    return this.#store.read(key);
  }

  async acquire(key: string, lease: LeaseRequest, observed?: ObservedLease): Promise<JournalEntry | undefined> {
    assertKey(key);
    assertLease(lease);
    assertObserved(observed);
    return this.#store.acquire(key, lease, observed);
  }

  async acquireAbandoned(scope: ScopeFilter, lease: LeaseRequest, after: string | undefined) {
    assertScopeFilter(scope);
    assertLease(lease);
    assertAfter(after);
    return this.#store.acquireAbandoned(scope, lease, after);
  }

  async overlong(query: Omit<JournalQuery, "phase">): Promise<readonly JournalEntry[]> {
    assertQuery(query);
    return this.#store.overlong(query);
  }

  async renew(key: string, id: LeaseId, leaseMs: number): Promise<boolean> {
    assertKey(key);
    assertLeaseId(id);
    assertLeaseMs(leaseMs);
    return this.#store.renew(key, id, leaseMs);
  }

  async write(key: string, id: StateId, state: JournalState, leaseMs?: number): Promise<boolean> {
    assertKey(key);
    assertStateId(id);
    assertState(state);
    if (leaseMs !== undefined) assertLeaseMs(leaseMs);
    return (await this.#store.write(key, id, state, leaseMs)) || isRepetition(await this.#store.read(key), id, state);
  }

  async replaceQuote(
    key: string,
    seen: StateId,
    state: JournalState,
    lease: LeaseRequest,
    expired: boolean | undefined,
  ): Promise<JournalEntry | undefined> {
    assertKey(key);
    assertStateId(seen);
    assertState(state);
    assertLease(lease);
    return this.#store.replaceQuote(key, seen, state, lease, expired);
  }

  async fenceQuote(key: string, seen: StateId, nonce: string): Promise<JournalEntry | undefined> {
    assertKey(key);
    assertStateId(seen);
    assertNonce(nonce);
    return this.#store.fenceQuote(key, seen, nonce);
  }

  async release(key: string, id: LeaseId): Promise<void> {
    assertKey(key);
    assertLeaseId(id);
    return this.#store.release(key, id);
  }

  async list(query: JournalQuery): Promise<readonly JournalEntry[]> {
    assertQuery(query);
    return this.#store.list(query);
  }

  async counts(scope: ScopeFilter): Promise<Readonly<Record<string, number>>> {
    assertScopeFilter(scope);
    return this.#store.counts(scope);
  }

  scopes(): Promise<readonly ScopeCounts[]> {
    return this.#store.scopes();
  }

  async prune(options: PruneOptions): Promise<PruneReport> {
    assertPrune(options);
    return this.#store.prune(options);
  }

  close(): Promise<void> {
    return this.#store.close();
  }
}

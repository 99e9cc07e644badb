import type {
  FlowScope,
  Journal,
  JournalEntry,
  JournalState,
  LeaseId,
  LeaseRequest,
  PruneOptions,
  ScopeFilter,
} from "cross-border-payments/flow";
import type { CrashPoints } from "./crash-points.js";

/**
 * A journal with a crash point before, during and after each of its writes: `write:claimed:before` and so on. An error that is
 * thrown before stands for a disk that stored nothing; one that is thrown after, for a disk that stored everything and then failed.
 */
export class CrashingJournal implements Journal {
  readonly claimTimesMs: number[] = [];
  readonly #journal: Journal;
  readonly #points: CrashPoints;

  constructor(journal: Journal, points: CrashPoints) {
    this.#journal = journal;
    this.#points = points;
  }

  begin(key: string, scope: FlowScope, state: JournalState, lease: LeaseRequest) {
    return this.#around(`begin:${state.phase}`, key, () => this.#journal.begin(key, scope, state, lease));
  }

  read(key: string): Promise<JournalEntry | undefined> {
    return this.#journal.read(key);
  }

  acquire(key: string, lease: LeaseRequest): Promise<JournalEntry | undefined> {
    return this.#around("acquire", key, () => this.#journal.acquire(key, lease));
  }

  async acquireAbandoned(
    scope: ScopeFilter,
    lease: LeaseRequest,
    after: string | undefined,
  ): Promise<JournalEntry | undefined> {
    const entry = await this.#journal.acquireAbandoned(scope, lease, after);
    if (entry !== undefined) this.#points.passDisk("acquireAbandoned:after", entry.key);
    return entry;
  }

  renew(key: string, id: LeaseId, leaseMs: number): Promise<boolean> {
    return this.#around("renew", key, () => this.#journal.renew(key, id, leaseMs));
  }

  async write(key: string, id: LeaseId, state: JournalState, leaseMs?: number): Promise<boolean> {
    const startMs = performance.now();
    const write = () => this.#journal.write(key, id, state, leaseMs);
    const stored = await this.#around(`write:${state.phase}`, key, write);
    if (state.phase === "claimed") this.claimTimesMs.push(performance.now() - startMs);
    return stored;
  }

  replaceQuote(
    key: string,
    seen: LeaseId,
    state: JournalState,
    lease: LeaseRequest,
    expired: boolean | undefined,
  ): Promise<JournalEntry | undefined> {
    const replace = () => this.#journal.replaceQuote(key, seen, state, lease, expired);
    return this.#around(`replace-quote:${state.phase}`, key, replace);
  }

  release(key: string, id: LeaseId): Promise<void> {
    return this.#around("release", key, () => this.#journal.release(key, id));
  }

  list(query: Parameters<Journal["list"]>[0]) {
    return this.#journal.list(query);
  }

  counts(scope: ScopeFilter) {
    return this.#journal.counts(scope);
  }

  prune(options: PruneOptions) {
    return this.#journal.prune(options);
  }

  close(): Promise<void> {
    return this.#journal.close();
  }

  async #around<T>(name: string, key: string, call: () => Promise<T>): Promise<T> {
    this.#points.passDisk(`${name}:before`, key);
    const pending = call();
    if (this.#points.isAt(`${name}:during`, key)) setImmediate(() => this.#points.pass(`${name}:during`, key));
    const result = await pending;
    this.#points.passDisk(`${name}:after`, key);
    return result;
  }
}

import { clock } from "../timing/clock.js";
import { compareKeys } from "./compare-keys.js";
import {
  type FlowScope,
  finalPhases,
  type Journal,
  type JournalEntry,
  type JournalState,
  type LeaseId,
  type LeaseRequest,
  type PruneOptions,
  type PruneReport,
  type ScopeFilter,
} from "./journal.js";
import {
  assertAfter,
  assertKey,
  assertLease,
  assertLeaseId,
  assertLeaseMs,
  assertPrune,
  assertQuery,
  assertScope,
  assertScopeFilter,
  assertState,
} from "./journal-arguments.js";

export interface MemoryJournalOptions {
  /** Milliseconds since 1970; default `Date.now`. */
  readonly nowMs?: () => number;
}

type Stored = Omit<JournalEntry, "isExpired" | "scope"> & { readonly scope: FlowScope };

/**
 * A journal for tests, in the memory of one process. It forgets everything when the process ends: a crash after the request was
 * sent then loses the claim, which is what journals are there to prevent.
 *
 * `close` does nothing, so that a test can end one flow and start another over the same journal.
 */
export class MemoryJournal implements Journal {
  readonly #flows = new Map<string, Stored>();
  readonly #nowMs: () => number;

  constructor(options: MemoryJournalOptions = {}) {
    this.#nowMs = options.nowMs ?? (() => clock.wallMs());
  }

  async begin(
    key: string,
    scope: FlowScope,
    state: JournalState,
    lease: LeaseRequest,
  ): Promise<{ readonly entry: JournalEntry; readonly created: boolean }> {
    assertKey(key);
    assertScope(scope);
    assertState(state);
    assertLease(lease);
    const present = this.#flows.get(key);
    if (present !== undefined) return { entry: this.#toEntry(present), created: false };
    const { service, gateway } = scope;
    const first = { key, scope: { service, gateway }, epoch: 0, createdAtMs: this.#nowMs() };
    return {
      entry: this.#put(this.#leased({ ...first, ...this.#stored(state) }, state.settled, lease)),
      created: true,
    };
  }

  async read(key: string): Promise<JournalEntry | undefined> {
    assertKey(key);
    const flow = this.#flows.get(key);
    return flow === undefined ? undefined : this.#toEntry(flow);
  }

  async acquire(key: string, lease: LeaseRequest): Promise<JournalEntry | undefined> {
    assertKey(key);
    assertLease(lease);
    return this.#lease(this.#flows.get(key), lease);
  }

  async acquireAbandoned(
    scope: ScopeFilter,
    lease: LeaseRequest,
    after: string | undefined,
  ): Promise<JournalEntry | undefined> {
    assertScopeFilter(scope);
    assertLease(lease);
    assertAfter(after);
    const [first] = this.#after(
      after,
      (flow) => !flow.settled && isPresent(flow) && this.#isFree(flow) && isIn(scope, flow),
    );
    return this.#lease(first, lease);
  }

  async renew(key: string, id: LeaseId, leaseMs: number): Promise<boolean> {
    assertLeaseMs(leaseMs);
    const flow = this.#owned(key, id);
    if (flow?.leaseUntilMs === undefined) return false;
    this.#put({ ...flow, leaseUntilMs: this.#nowMs() + leaseMs });
    return true;
  }

  async write(key: string, id: LeaseId, state: JournalState, leaseMs?: number): Promise<boolean> {
    assertState(state);
    if (leaseMs !== undefined) assertLeaseMs(leaseMs);
    const flow = this.#owned(key, id);
    if (flow === undefined || (leaseMs !== undefined && flow.leaseUntilMs === undefined)) return false;
    const extended = leaseMs === undefined ? flow.leaseUntilMs : this.#nowMs() + leaseMs;
    this.#put({ ...flow, ...this.#stored(state), leaseUntilMs: state.settled ? undefined : extended });
    return true;
  }

  async replaceQuote(
    key: string,
    seen: LeaseId,
    state: JournalState,
    lease: LeaseRequest,
    expired: boolean | undefined,
  ): Promise<JournalEntry | undefined> {
    assertState(state);
    assertLease(lease);
    const flow = this.#owned(key, seen);
    if (flow?.phase !== "quoted" || (expired !== undefined && expired !== this.#isExpired(flow))) return undefined;
    return this.#put(this.#leased({ ...flow, ...this.#stored(state) }, state.settled, lease));
  }

  async release(key: string, id: LeaseId): Promise<void> {
    const flow = this.#owned(key, id);
    if (flow !== undefined) this.#put({ ...flow, leaseUntilMs: undefined });
  }

  async list(query: {
    readonly scope: ScopeFilter;
    readonly phase?: string | undefined;
    readonly after?: string | undefined;
    readonly limit: number;
  }): Promise<readonly JournalEntry[]> {
    assertQuery(query);
    const { scope, phase, after, limit } = query;
    const found = this.#after(
      after,
      (flow) => isPresent(flow) && isIn(scope, flow) && (phase ?? flow.phase) === flow.phase,
    );
    return found.slice(0, limit).map((flow) => this.#toEntry(flow));
  }

  async counts(scope: ScopeFilter): Promise<Readonly<Record<string, number>>> {
    assertScopeFilter(scope);
    const counts: Record<string, number> = {};
    for (const flow of this.#flows.values()) {
      if (isPresent(flow) && isIn(scope, flow)) counts[flow.phase] = (counts[flow.phase] ?? 0) + 1;
    }
    return counts;
  }

  async prune(options: PruneOptions): Promise<PruneReport> {
    assertPrune(options);
    const { settledBeforeMs = 0, quotedBeforeMs = 0, keep } = options;
    let settled = 0;
    let quoted = 0;
    for (const flow of [...this.#flows.values()]) {
      if (flow.phase === "quoted" && (flow.expiresAtMs ?? 0) < quotedBeforeMs) {
        this.#flows.delete(flow.key);
        quoted += 1;
      } else if (isFinal(flow) && isPresent(flow) && flow.updatedAtMs < settledBeforeMs) {
        const evidence = keep === "evidence" ? flow.evidence : "";
        this.#put({ ...flow, data: "", evidence, prunedAtMs: this.#nowMs() });
        settled += 1;
      }
    }
    return { settled, quoted };
  }

  async close(): Promise<void> {}

  #stored({ phase, settled, data, evidence, quoteTtlMs }: JournalState) {
    const updatedAtMs = this.#nowMs();
    const expiresAtMs = quoteTtlMs === undefined ? undefined : updatedAtMs + quoteTtlMs;
    return { phase, settled, data, evidence, updatedAtMs, expiresAtMs };
  }

  #owned(key: string, id: LeaseId): Stored | undefined {
    assertKey(key);
    assertLeaseId(id);
    const flow = this.#flows.get(key);
    return flow?.epoch === id.epoch && flow.nonce === id.nonce && isPresent(flow) ? flow : undefined;
  }

  #isFree(flow: Stored): boolean {
    return flow.leaseUntilMs === undefined || flow.leaseUntilMs <= this.#nowMs();
  }

  #isExpired({ expiresAtMs }: Stored): boolean {
    return expiresAtMs !== undefined && expiresAtMs <= this.#nowMs();
  }

  #lease(flow: Stored | undefined, lease: LeaseRequest): JournalEntry | undefined {
    if (flow === undefined || !isPresent(flow) || !this.#isFree(flow)) return undefined;
    return this.#put(this.#leased(flow, false, lease));
  }

  #leased(flow: Omit<Stored, "nonce" | "owner">, settled: boolean, { owner, nonce, leaseMs }: LeaseRequest): Stored {
    const leaseUntilMs = settled ? undefined : this.#nowMs() + leaseMs;
    return { ...flow, epoch: flow.epoch + 1, nonce, owner, leaseUntilMs };
  }

  #after(after: string | undefined, isWanted: (flow: Stored) => boolean): Stored[] {
    const wanted = [...this.#flows.values()].filter((flow) => isWanted(flow) && compareKeys(flow.key, after ?? "") > 0);
    return wanted.sort((one, other) => compareKeys(one.key, other.key));
  }

  #put(flow: Stored): JournalEntry {
    this.#flows.set(flow.key, flow);
    return this.#toEntry(flow);
  }

  #toEntry(flow: Stored): JournalEntry {
    return { ...flow, isExpired: this.#isExpired(flow) };
  }
}

function isPresent({ prunedAtMs }: Stored): boolean {
  return prunedAtMs === undefined;
}

function isFinal({ phase }: Stored): boolean {
  return (finalPhases as readonly string[]).includes(phase);
}

function isIn({ service, gateway }: ScopeFilter, { scope }: Stored): boolean {
  return scope.service === service && (gateway ?? scope.gateway) === scope.gateway;
}

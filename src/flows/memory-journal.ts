import { clock } from "../core/clock.js";
import { InvalidArgumentError } from "../core/errors.js";
import {
  compareKeys,
  type FlowScope,
  finalPhases,
  isIn,
  type Journal,
  type JournalEntry,
  type JournalList,
  type JournalQuery,
  type JournalState,
  type LeaseId,
  type LeaseRequest,
  type PhaseCount,
  type PruneOptions,
  type PruneReport,
  type ScopeFilter,
  type StateId,
} from "./journal.js";

export interface MemoryJournalOptions {
  /** Milliseconds since 1970. Default: `Date.now`. */
  readonly nowMs?: (() => number) | undefined;
}

type Stored = Omit<JournalEntry, "readAtMs">;

const dayMs = 86_400_000;

/**
 * A journal for tests, in the memory of one process. It forgets everything when the process ends, so a crash after the request
 * was sent loses the claim.
 *
 * `close` does nothing, so a test can end one flow and start another with the same journal.
 */
export class MemoryJournal implements Journal {
  readonly #flows = new Map<string, Stored>();
  readonly #nowMs: () => number;

  constructor(options: MemoryJournalOptions = {}) {
    this.#nowMs = options.nowMs ?? (() => clock.wallMs());
  }

  async begin(key: string, scope: FlowScope, state: JournalState, lease: LeaseRequest) {
    assertStorable(key, scope.service, scope.gateway, state.phase, state.data, lease.owner, lease.nonce);
    const present = this.#flows.get(key);
    if (present !== undefined) {
      const isFirst = present.revision === 1 && present.epoch === 1 && present.prunedAtMs === undefined;
      return { entry: this.#toEntry(present), created: isFirst && present.nonce === lease.nonce };
    }
    const first = { key, scope: { ...scope }, createdAtMs: this.#nowMs(), epoch: 1, revision: 1 };
    const entry = this.#put({ ...first, ...this.#stored(state), ...this.#owned(state, lease) });
    return { entry, created: true };
  }

  async read(key: string): Promise<JournalEntry | undefined> {
    const flow = this.#flows.get(key);
    return flow && this.#toEntry(flow);
  }

  async acquire(key: string, lease: LeaseRequest): Promise<JournalEntry | undefined> {
    assertStorable(lease.owner, lease.nonce);
    const flow = this.#present(key);
    if (flow === undefined || flow.phase === "quoted") return undefined;
    if (this.#isFree(flow)) return this.#lend(flow, lease);
    return flow.nonce === lease.nonce ? this.#toEntry(flow) : undefined;
  }

  async acquireAbandoned(scope: ScopeFilter, lease: LeaseRequest, after: string | undefined) {
    const [first] = this.#after(after, (flow) => isIn(scope, flow.scope) && isOpen(flow) && this.#isFree(flow));
    return first && this.#lend(first, lease);
  }

  async renew(key: string, id: LeaseId, leaseMs: number): Promise<boolean> {
    const flow = this.#present(key);
    if (flow?.leaseUntilMs === undefined || !isOf(id, flow)) return false;
    this.#put({ ...flow, leaseUntilMs: this.#nowMs() + leaseMs });
    return true;
  }

  async write(
    key: string,
    id: StateId,
    state: JournalState,
    quote?: { readonly lease: LeaseRequest; readonly inTime: boolean },
  ): Promise<boolean> {
    assertStorable(state.phase, state.data);
    const flow = this.#present(key);
    if (flow === undefined) return false;
    const next = quote ? { epoch: id.epoch + 1, nonce: quote.lease.nonce } : id;
    if (isOf(next, flow) && flow.revision === id.revision + 1 && isSame(flow, state)) return true;
    if (!isOf(id, flow) || flow.revision !== id.revision || (flow.phase === "quoted") !== (quote !== undefined)) {
      return false;
    }
    if (quote?.inTime && (flow.expiresAtMs ?? 0) <= this.#nowMs()) return false;
    const written = { ...flow, ...this.#stored(state), revision: id.revision + 1 };
    if (quote) this.#put({ ...written, epoch: next.epoch, ...this.#owned(state, quote.lease) });
    else this.#put({ ...written, leaseUntilMs: state.settled ? undefined : flow.leaseUntilMs });
    return true;
  }

  async release(key: string, id: LeaseId): Promise<void> {
    const flow = this.#present(key);
    if (flow && isOf(id, flow)) this.#put({ ...flow, leaseUntilMs: undefined });
  }

  async list({ scope, phase, after, limit, counts = false }: JournalQuery): Promise<JournalList> {
    const found = this.#after(after, (flow) => isIn(scope, flow.scope) && (phase ?? flow.phase) === flow.phase);
    return { entries: found.slice(0, limit).map((flow) => this.#toEntry(flow)), counts: counts ? this.#counts() : [] };
  }

  async prune({ settledBeforeMs = 0, quotedBeforeMs = 0 }: PruneOptions): Promise<PruneReport> {
    const nowMs = this.#nowMs();
    const quotesEndedMs = Math.min(quotedBeforeMs, nowMs - dayMs);
    let [settled, quoted] = [0, 0];
    for (const flow of [...this.#flows.values()]) {
      if (flow.phase === "quoted" && (flow.expiresAtMs ?? 0) < quotesEndedMs) {
        this.#flows.delete(flow.key);
        quoted += 1;
      } else if (isFinal(flow) && flow.prunedAtMs === undefined && flow.updatedAtMs < settledBeforeMs) {
        this.#put({ ...flow, data: "", leaseUntilMs: undefined, prunedAtMs: nowMs });
        settled += 1;
      }
    }
    return { settled, quoted };
  }

  async close(): Promise<void> {}

  #stored({ phase, settled, data, quoteTtlMs }: JournalState) {
    const updatedAtMs = this.#nowMs();
    const expiresAtMs = quoteTtlMs === undefined ? undefined : updatedAtMs + quoteTtlMs;
    return { phase, settled, data, updatedAtMs, expiresAtMs };
  }

  #owned(state: JournalState, { owner, nonce, leaseMs }: LeaseRequest) {
    const leaseUntilMs = state.settled || state.phase === "quoted" ? undefined : this.#nowMs() + leaseMs;
    return { owner, nonce, leaseUntilMs };
  }

  #lend(flow: Stored, { owner, nonce, leaseMs }: LeaseRequest): JournalEntry {
    return this.#put({ ...flow, owner, nonce, epoch: flow.epoch + 1, leaseUntilMs: this.#nowMs() + leaseMs });
  }

  #counts(): PhaseCount[] {
    const counts = new Map<string, PhaseCount>();
    for (const flow of this.#flows.values()) {
      if (flow.prunedAtMs !== undefined) continue;
      const { scope, phase, settled, createdAtMs } = flow;
      const name = JSON.stringify([scope.service, scope.gateway, phase, settled]);
      const { flows, unowned, oldestMs } = counts.get(name) ?? { flows: 0, unowned: 0, oldestMs: 0 };
      counts.set(name, {
        ...scope,
        phase,
        settled,
        flows: flows + 1,
        unowned: unowned + (isOpen(flow) && this.#isFree(flow) ? 1 : 0),
        oldestMs: Math.max(oldestMs, this.#nowMs() - createdAtMs),
      });
    }
    return [...counts.values()];
  }

  #present(key: string): Stored | undefined {
    const flow = this.#flows.get(key);
    return flow?.prunedAtMs === undefined ? flow : undefined;
  }

  #isFree({ leaseUntilMs }: Stored): boolean {
    return leaseUntilMs === undefined || leaseUntilMs <= this.#nowMs();
  }

  #after(after = "", isWanted: (flow: Stored) => boolean): Stored[] {
    const wanted = [...this.#flows.values()].filter(
      (flow) => flow.prunedAtMs === undefined && isWanted(flow) && compareKeys(flow.key, after) > 0,
    );
    return wanted.sort((one, other) => compareKeys(one.key, other.key));
  }

  #put(flow: Stored): JournalEntry {
    this.#flows.set(flow.key, flow);
    return this.#toEntry(flow);
  }

  #toEntry(flow: Stored): JournalEntry {
    return { ...flow, scope: { ...flow.scope }, readAtMs: this.#nowMs() };
  }
}

function assertStorable(...texts: readonly string[]): void {
  if (texts.some((text) => /[\0\p{Cs}]/u.test(text))) {
    throw new InvalidArgumentError("MemoryJournal: a journal stores no U+0000, and no lone surrogates");
  }
}

function isOf({ epoch, nonce }: LeaseId, flow: Stored): boolean {
  return flow.epoch === epoch && flow.nonce === nonce;
}

function isSame(flow: Stored, { phase, settled, data }: JournalState): boolean {
  return flow.phase === phase && flow.settled === settled && flow.data === data;
}

function isOpen({ settled, phase }: Stored): boolean {
  return !settled && phase !== "quoted";
}

function isFinal({ phase }: Stored): boolean {
  return (finalPhases as readonly string[]).includes(phase);
}

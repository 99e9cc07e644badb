import { ConfigError } from "../errors/errors.js";
import { type CheckTable, isFunction, parseOptions } from "../options/option-table.js";
import { uniqueId } from "../platform/unique-id.js";
import { clock } from "../timing/clock.js";
import { CheckedJournal } from "./checked-journal.js";
import {
  type BacklogCount,
  type FlowScope,
  finalPhases,
  type Journal,
  type JournalEntry,
  type JournalQuery,
  type JournalState,
  type LeaseId,
  type LeaseRequest,
  type ObservedLease,
  type PruneOptions,
  type PruneReport,
  type ScopeCounts,
  type ScopeFilter,
  type StateId,
} from "./journal.js";
import { compareKeys } from "./state/flow-key.js";

export interface MemoryJournalOptions {
  /** Milliseconds since 1970; default `Date.now`. */
  readonly nowMs?: () => number;
  /** The journal's present incarnation; default: a random one for each journal. */
  readonly incarnation?: string;
}

const journalOptions: CheckTable<MemoryJournalOptions> = {
  nowMs: { accepts: isFunction, wanted: "a function that returns milliseconds since 1970" },
  incarnation: { accepts: (value) => typeof value === "string", wanted: "a string" },
};

type Stored = Omit<JournalEntry, "isExpired" | "isOverlong" | "incarnation">;

/**
 * A journal for tests, in the memory of one process. It forgets everything when the process ends: a crash after the request was
 * sent then loses the claim, which is what journals are there to prevent.
 *
 * `close` does nothing, so that a test can end one flow and start another over the same journal.
 */
export class MemoryJournal extends CheckedJournal {
  constructor(options: MemoryJournalOptions = {}) {
    super(new MemoryStore(options));
  }
}

class MemoryStore implements Journal {
  readonly #flows = new Map<string, Stored>();
  readonly #nowMs: () => number;
  readonly #incarnation: string;

  constructor(options: MemoryJournalOptions) {
    const refuse = (message: string) => new ConfigError(`MemoryJournal: ${message}`);
    const { nowMs, incarnation }: MemoryJournalOptions = parseOptions(journalOptions, options, "the options", refuse);
    this.#nowMs = nowMs ?? (() => clock.wallMs());
    this.#incarnation = incarnation ?? uniqueId();
  }

  async begin(key: string, scope: FlowScope, state: JournalState, lease: LeaseRequest) {
    const present = this.#flows.get(key);
    if (present !== undefined) return { entry: this.#toEntry(present), created: false };
    const { service, gateway } = scope;
    const first = { key, scope: { service, gateway }, epoch: 0, revision: 0, createdAtMs: this.#nowMs() };
    const stored = { ...first, ...this.#stored(first, state) };
    return { entry: this.#lent(this.#leased(stored, state.settled, lease)), created: true };
  }

  async read(key: string): Promise<JournalEntry | undefined> {
    const flow = this.#flows.get(key);
    return flow === undefined ? undefined : this.#toEntry(flow);
  }

  async acquire(key: string, lease: LeaseRequest, observed?: ObservedLease): Promise<JournalEntry | undefined> {
    return this.#lease(this.#flows.get(key), lease, observed);
  }

  async acquireAbandoned(scope: ScopeFilter, lease: LeaseRequest, after: string | undefined) {
    const [first] = this.#after(
      after,
      (flow) => !flow.settled && isPresent(flow) && this.#isFree(flow) && isIn(scope, flow),
    );
    return this.#lease(first, lease);
  }

  async overlong(query: Omit<JournalQuery, "phase">): Promise<readonly JournalEntry[]> {
    const { scope, after, limit } = query;
    const isWanted = (flow: Stored) => !flow.settled && isPresent(flow) && this.#isOverlong(flow) && isIn(scope, flow);
    return this.#after(after, isWanted)
      .slice(0, limit)
      .map((flow) => this.#toEntry(flow));
  }

  async renew(key: string, id: LeaseId, leaseMs: number): Promise<boolean> {
    const flow = this.#owned(key, id);
    if (flow?.leaseUntilMs === undefined) return false;
    this.#put({ ...flow, ...this.#extended(leaseMs) });
    return true;
  }

  async write(key: string, id: StateId, state: JournalState, leaseMs?: number): Promise<boolean> {
    const flow = this.#owned(key, id);
    if (flow?.revision !== id.revision) return false;
    if (leaseMs !== undefined && flow.leaseUntilMs === undefined) return false;
    const { scope = flow.scope, incarnationMark = flow.incarnationMark } = state;
    const written = { ...flow, ...this.#stored(flow, state), scope, incarnationMark };
    const extended = leaseMs === undefined ? undefined : this.#extended(leaseMs);
    this.#put({ ...written, ...(state.settled ? noLease : extended) });
    return true;
  }

  async replaceQuote(
    key: string,
    seen: StateId,
    state: JournalState,
    lease: LeaseRequest,
    expired: boolean | undefined,
  ): Promise<JournalEntry | undefined> {
    const flow = this.#quote(key, seen);
    if (flow === undefined || (expired !== undefined && expired !== this.#isExpired(flow))) return undefined;
    return this.#lent(this.#leased({ ...flow, ...this.#stored(flow, state) }, state.settled, lease));
  }

  async fenceQuote(key: string, seen: StateId, nonce: string): Promise<JournalEntry | undefined> {
    const flow = this.#quote(key, seen);
    return flow && this.#put({ ...flow, epoch: flow.epoch + 1, revision: flow.revision + 1, nonce });
  }

  async release(key: string, id: LeaseId): Promise<void> {
    const flow = this.#owned(key, id);
    if (flow !== undefined) this.#put({ ...flow, ...noLease });
  }

  async list(query: JournalQuery): Promise<readonly JournalEntry[]> {
    const { scope, phase, after, limit } = query;
    const found = this.#after(
      after,
      (flow) => isPresent(flow) && isIn(scope, flow) && (phase ?? flow.phase) === flow.phase,
    );
    return found.slice(0, limit).map((flow) => this.#toEntry(flow));
  }

  async counts(scope: ScopeFilter): Promise<Readonly<Record<string, number>>> {
    const counts: Record<string, number> = {};
    for (const flow of this.#flows.values()) {
      if (isPresent(flow) && isIn(scope, flow)) counts[flow.phase] = (counts[flow.phase] ?? 0) + 1;
    }
    return counts;
  }

  async scopes(): Promise<readonly ScopeCounts[]> {
    const scopes = new Map<string, ScopeCounts>();
    for (const flow of this.#flows.values()) {
      const { service, gateway } = flow.scope;
      const name = JSON.stringify([service, gateway]);
      const { open, held, paid, flows } = scopes.get(name) ?? { open: 0, held: 0, paid: 0, flows: 0 };
      const present = isPresent(flow) ? 1 : 0;
      scopes.set(name, {
        service,
        gateway,
        open: open + (flow.settled ? 0 : present),
        held: held + (flow.phase === "held" ? present : 0),
        paid: paid + (flow.phase === "paid" ? 1 : 0),
        flows: flows + present,
      });
    }
    return [...scopes.values()];
  }

  async backlog(): Promise<readonly BacklogCount[]> {
    const counts = new Map<string, BacklogCount>();
    for (const flow of this.#flows.values()) {
      const { scope, phase, settled, createdAtMs } = flow;
      if (!isPresent(flow) || (settled && phase !== "held")) continue;
      const name = JSON.stringify([scope.service, scope.gateway, phase]);
      const { flows, unowned, oldestMs } = counts.get(name) ?? { flows: 0, unowned: 0, oldestMs: 0 };
      counts.set(name, {
        ...scope,
        phase,
        flows: flows + 1,
        unowned: unowned + (!settled && this.#isFree(flow) ? 1 : 0),
        oldestMs: Math.max(oldestMs, this.#nowMs() - createdAtMs),
      });
    }
    return [...counts.values()];
  }

  async prune(options: PruneOptions): Promise<PruneReport> {
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

  #stored({ revision }: { readonly revision: number }, state: JournalState) {
    const { phase, settled, data, evidence, quoteTtlMs } = state;
    const updatedAtMs = this.#nowMs();
    const expiresAtMs = quoteTtlMs === undefined ? undefined : updatedAtMs + quoteTtlMs;
    return { phase, settled, data, evidence, updatedAtMs, expiresAtMs, revision: revision + 1 };
  }

  #extended(leaseMs: number) {
    return { leaseUntilMs: this.#nowMs() + leaseMs, leaseMs };
  }

  #quote(key: string, seen: StateId): Stored | undefined {
    const flow = this.#owned(key, seen);
    return flow?.phase === "quoted" && flow.revision === seen.revision ? flow : undefined;
  }

  #owned(key: string, id: LeaseId): Stored | undefined {
    const flow = this.#flows.get(key);
    return flow?.epoch === id.epoch && flow.nonce === id.nonce && isPresent(flow) ? flow : undefined;
  }

  #isFree(flow: Stored): boolean {
    return flow.leaseUntilMs === undefined || flow.leaseUntilMs <= this.#nowMs();
  }

  #isOverlong({ leaseUntilMs, leaseMs }: Stored): boolean {
    return leaseUntilMs !== undefined && leaseMs !== undefined && leaseUntilMs > this.#nowMs() + leaseMs;
  }

  #isExpired({ expiresAtMs }: Stored): boolean {
    return expiresAtMs !== undefined && expiresAtMs <= this.#nowMs();
  }

  #lease(flow: Stored | undefined, lease: LeaseRequest, observed?: ObservedLease): JournalEntry | undefined {
    if (flow === undefined || !isPresent(flow)) return undefined;
    if (!this.#isFree(flow) && !isLeasedAs(flow, observed)) return undefined;
    return this.#lent(this.#leased(flow, false, lease));
  }

  #leased(flow: Omit<Stored, "nonce" | "owner">, settled: boolean, { owner, nonce, leaseMs }: LeaseRequest): Stored {
    return { ...flow, ...(settled ? noLease : this.#extended(leaseMs)), epoch: flow.epoch + 1, nonce, owner };
  }

  #lent(flow: Stored): JournalEntry {
    return { ...this.#put(flow), incarnation: this.#incarnation };
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
    return { ...flow, isExpired: this.#isExpired(flow), isOverlong: this.#isOverlong(flow) };
  }
}

const noLease = { leaseUntilMs: undefined, leaseMs: undefined };

function isLeasedAs(flow: Stored, observed: ObservedLease | undefined): boolean {
  return (
    flow.epoch === observed?.epoch &&
    flow.nonce === observed.nonce &&
    flow.revision === observed.revision &&
    flow.leaseUntilMs === observed.leaseUntilMs
  );
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

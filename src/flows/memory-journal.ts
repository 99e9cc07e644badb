import type { Journal, JournalEntry, JournalState, LeaseRequest } from "./journal.js";
import {
  assertAfter,
  assertEpoch,
  assertKey,
  assertLease,
  assertLeaseMs,
  assertQuery,
  assertState,
} from "./journal-arguments.js";

export interface MemoryJournalOptions {
  /** Milliseconds since 1970; default `Date.now`. */
  readonly nowMs?: () => number;
}

interface Stored extends JournalEntry {
  /** `undefined` once the lease was released, or a settled state ended it. */
  readonly leaseUntilMs: number | undefined;
}

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
    this.#nowMs = options.nowMs ?? Date.now;
  }

  async begin(
    key: string,
    state: JournalState,
    lease: LeaseRequest,
  ): Promise<{ readonly entry: JournalEntry; readonly created: boolean }> {
    assertKey(key);
    assertState(state);
    assertLease(lease);
    const present = this.#flows.get(key);
    if (present !== undefined) return { entry: toEntry(present), created: false };
    const nowMs = this.#nowMs();
    const leaseUntilMs = state.settled ? undefined : nowMs + lease.leaseMs;
    const { phase, settled, data } = state;
    const entry = this.#put({
      key,
      epoch: 1,
      phase,
      settled,
      data,
      createdAtMs: nowMs,
      updatedAtMs: nowMs,
      leaseUntilMs,
    });
    return { entry, created: true };
  }

  async read(key: string): Promise<JournalEntry | undefined> {
    assertKey(key);
    const flow = this.#flows.get(key);
    return flow === undefined ? undefined : toEntry(flow);
  }

  async acquire(key: string, lease: LeaseRequest): Promise<JournalEntry | undefined> {
    assertKey(key);
    assertLease(lease);
    return this.#lease(this.#flows.get(key), lease);
  }

  async acquireAbandoned(lease: LeaseRequest, after: string | undefined): Promise<JournalEntry | undefined> {
    assertLease(lease);
    assertAfter(after);
    const [first] = this.#after(after, (flow) => !flow.settled && this.#isFree(flow));
    return this.#lease(first, lease);
  }

  async renew(key: string, epoch: number, leaseMs: number): Promise<boolean> {
    assertLeaseMs(leaseMs);
    const flow = this.#owned(key, epoch);
    if (flow?.leaseUntilMs === undefined) return false;
    this.#put({ ...flow, leaseUntilMs: this.#nowMs() + leaseMs });
    return true;
  }

  async write(key: string, epoch: number, state: JournalState): Promise<boolean> {
    assertState(state);
    const flow = this.#owned(key, epoch);
    if (flow === undefined) return false;
    const { phase, settled, data } = state;
    const leaseUntilMs = settled ? undefined : flow.leaseUntilMs;
    this.#put({ ...flow, phase, settled, data, updatedAtMs: this.#nowMs(), leaseUntilMs });
    return true;
  }

  async release(key: string, epoch: number): Promise<void> {
    const flow = this.#owned(key, epoch);
    if (flow !== undefined) this.#put({ ...flow, leaseUntilMs: undefined });
  }

  async list(query: {
    readonly phase: string;
    readonly after?: string | undefined;
    readonly limit: number;
  }): Promise<readonly JournalEntry[]> {
    assertQuery(query);
    const found = this.#after(query.after, ({ phase }) => phase === query.phase);
    return found.slice(0, query.limit).map(toEntry);
  }

  async close(): Promise<void> {}

  #owned(key: string, epoch: number): Stored | undefined {
    assertKey(key);
    assertEpoch(epoch);
    const flow = this.#flows.get(key);
    return flow?.epoch === epoch ? flow : undefined;
  }

  #isFree(flow: Stored): boolean {
    return flow.leaseUntilMs === undefined || flow.leaseUntilMs <= this.#nowMs();
  }

  #lease(flow: Stored | undefined, lease: LeaseRequest): JournalEntry | undefined {
    if (flow === undefined || !this.#isFree(flow)) return undefined;
    return this.#put({ ...flow, epoch: flow.epoch + 1, leaseUntilMs: this.#nowMs() + lease.leaseMs });
  }

  #after(after: string | undefined, isWanted: (flow: Stored) => boolean): Stored[] {
    const wanted = [...this.#flows.values()].filter(
      (flow) => isWanted(flow) && compareBytes(flow.key, after ?? "") > 0,
    );
    return wanted.sort((one, other) => compareBytes(one.key, other.key));
  }

  #put(flow: Stored): JournalEntry {
    this.#flows.set(flow.key, flow);
    return toEntry(flow);
  }
}

function toEntry({ key, epoch, phase, settled, data, createdAtMs, updatedAtMs }: Stored): JournalEntry {
  return { key, epoch, phase, settled, data, createdAtMs, updatedAtMs };
}

/**
 * By UTF-8 bytes, which is the order of code points. JavaScript's own order is by UTF-16 units, and differs from it above U+FFFF.
 */
function compareBytes(one: string, other: string): number {
  const others = other[Symbol.iterator]();
  for (const character of one) {
    const codePoint = character.codePointAt(0) ?? 0;
    const difference = codePoint - (others.next().value?.codePointAt(0) ?? -1);
    if (difference !== 0) return difference;
  }
  return others.next().done === true ? 0 : -1;
}

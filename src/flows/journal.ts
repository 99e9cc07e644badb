import { clock } from "../core/clock.js";
import { CrossBorderError, InvalidArgumentError } from "../core/errors.js";
import type { Reporter } from "../events/reporter.js";

/** The service and gateway of a flow. Flows of another service or gateway are neither run nor recovered, even in the same journal. */
export interface FlowScope {
  /** Name of the service, from the flow's option `service`. */
  readonly service: string;
  /** The sending gateway's id. */
  readonly gateway: string;
}

/** Flows of a service, or only those of one of its gateways. */
export interface ScopeFilter {
  readonly service: string;
  readonly gateway?: string | undefined;
}

export function isIn({ service, gateway }: ScopeFilter, scope: FlowScope): boolean {
  return scope.service === service && (gateway ?? scope.gateway) === scope.gateway;
}

/** One ownership of a flow. Epochs repeat if a journal is restored from a backup, but the nonce doesn't. */
export interface LeaseId {
  /** Raised by one with each change of owner. */
  readonly epoch: number;
  /** Random, chosen by the owner. */
  readonly nonce: string;
}

/** One stored state of one ownership. A write names the state that it replaces. */
export interface StateId extends LeaseId {
  /** 1 for the state that `begin` stored. Each write raises it. */
  readonly revision: number;
}

/** Who wants a flow, and for how long it is theirs unless they renew the lease. */
export interface LeaseRequest {
  /** A name for operators. It decides nothing. */
  readonly owner: string;
  /** Counted by the journal's own clock from when it grants the lease. */
  readonly leaseMs: number;
  /** New for every request, so that the lease can be recognized if the response is lost. 1 to 64 bytes. */
  readonly nonce: string;
}

/** What a journal stores. It need not understand `data`. */
export interface JournalState {
  /** 1 to 128 bytes of UTF-8. A journal knows `quoted`, `held`, and the phases in `finalPhases`. */
  readonly phase: string;
  /** The flow has nothing left to do unless a call asks for it. Stored without a lease. */
  readonly settled: boolean;
  /** The rest of the state. It is opaque to the journal, and possibly encrypted. */
  readonly data: string;
  /** For a quote, how long it's valid, in milliseconds by the journal's clock. */
  readonly quoteTtlMs?: number | undefined;
}

/** Phases of flows that can be pruned once they are old. A held flow is settled too, and is never pruned. */
export const finalPhases = ["paid", "declined", "rejected"] as const;

export interface JournalEntry extends StateId, Omit<JournalState, "quoteTtlMs"> {
  /** 1 to 1,024 bytes of UTF-8, compared byte by byte. */
  readonly key: string;
  readonly scope: FlowScope;
  /** Milliseconds since 1970, by the journal's clock. */
  readonly createdAtMs: number;
  /** When the state was stored. Leases don't change it. */
  readonly updatedAtMs: number;
  /** The journal's clock when this entry was read. */
  readonly readAtMs: number;
  /** Until when a quote is valid. */
  readonly expiresAtMs?: number | undefined;
  /** Who has the lease, or had it last. */
  readonly owner: string;
  /** `undefined` if the flow has no lease. The lease may have ended. */
  readonly leaseUntilMs?: number | undefined;
  /** Set on the tombstone of a flow that was pruned: `data` is empty. */
  readonly prunedAtMs?: number | undefined;
}

export interface JournalQuery {
  readonly scope: ScopeFilter;
  /** Limits the result to a phase. By default, all phases. */
  readonly phase?: string | undefined;
  /** Lists the flows after this key. Keys are ordered by their UTF-8 bytes. */
  readonly after?: string | undefined;
  /** Largest number of entries. 0 returns counts alone. */
  readonly limit: number;
  /** Whether to also count the flows of the whole journal. By default, false. */
  readonly counts?: boolean | undefined;
}

/** Flows of one scope in one phase, without tombstones. */
export interface PhaseCount extends FlowScope {
  readonly phase: string;
  readonly settled: boolean;
  readonly flows: number;
  /** How many of them are open without a valid lease. */
  readonly unowned: number;
  /** Age of the oldest, since it was created, by the journal's clock, in milliseconds. */
  readonly oldestMs: number;
}

export interface JournalList {
  readonly entries: readonly JournalEntry[];
  /** Empty unless the query asked for counts. */
  readonly counts: readonly PhaseCount[];
}

export interface PruneOptions {
  /** Flows in one of the `finalPhases` that were stored before this time, by the journal's clock, become tombstones. By default, none. */
  readonly settledBeforeMs?: number | undefined;
  /** Quotes that expired before this time are deleted. It must be at least a day ago. By default, none. */
  readonly quotedBeforeMs?: number | undefined;
}

export interface PruneReport {
  readonly settled: number;
  readonly quoted: number;
}

/**
 * A durable, linearizable store of flows that must keep what it confirmed. Each method is atomic, and durable once its promise
 * resolves. A write that fails rejects with a `JournalError`. Its `stored` is `nothing`, or `unknown` if no response arrived.
 *
 * At most one owner has a valid lease of a flow. Calls may arrive late, twice, and out of order, so a call that names a state or
 * a lease must apply to no other. Strings must be returned exactly as given. U+0000 and lone surrogates are refused before
 * anything is stored.
 *
 * Check your implementation with `verifyJournal` of `cross-border-payments/testing`.
 */
export interface Journal {
  /**
   * Stores a new flow with epoch 1, revision 1, and the lease's nonce, leased to the caller unless the state is settled or
   * `quoted`. If there is an entry already, tombstones included, it returns that unchanged. Repeated with the same nonce while
   * revision 1 stands, it returns `created` again.
   */
  begin(
    key: string,
    scope: FlowScope,
    state: JournalState,
    lease: LeaseRequest,
  ): Promise<{ readonly entry: JournalEntry; readonly created: boolean }>;

  /** Returns the current entry, tombstones included, or `undefined`. */
  read(key: string): Promise<JournalEntry | undefined>;

  /**
   * Leases a flow to the caller with the next epoch, settled or not, but never a quote or a tombstone. It returns `undefined` if
   * there is no such flow or another lease of it is valid. Repeated with the same nonce while its lease stands, it returns the
   * same entry again.
   */
  acquire(key: string, lease: LeaseRequest): Promise<JournalEntry | undefined>;

  /**
   * Leases the first open flow after the key `after` that has no valid lease, but never a quote. It returns `undefined` if there
   * is none, and skips flows that another process is acquiring.
   */
  acquireAbandoned(
    scope: ScopeFilter,
    lease: LeaseRequest,
    after: string | undefined,
  ): Promise<JournalEntry | undefined>;

  /**
   * Extends a lease from now. It returns false if the flow has another epoch or nonce or was pruned, or if its lease was released or
   * ended by a settled state. A lease that ended by time is extended if no other process took it over.
   */
  renew(key: string, id: LeaseId, leaseMs: number): Promise<boolean>;

  /**
   * Replaces the named state, with the next revision. It returns false and stores nothing if the entry has another epoch, nonce, or
   * revision, or was pruned. It returns true and changes nothing if the next revision of the same epoch and nonce is the same state,
   * byte by byte, since that is its own repetition. It also applies with a lease that ended, if no other process took the flow over. A
   * settled state ends the lease.
   *
   * A quote has no owner, so it is replaced with `lease`. The entry must be `quoted` and as it was read. The state is stored with the
   * next epoch and revision and the lease's nonce, and leased to the caller unless it is settled or `quoted`. With `inTime` it applies
   * only while the quote is valid by the journal's clock. Repeated with the same nonce and bytes, it returns true.
   */
  write(
    key: string,
    id: StateId,
    state: JournalState,
    quote?: { readonly lease: LeaseRequest; readonly inTime: boolean },
  ): Promise<boolean>;

  /** Ends a lease early. Does nothing if the flow has another epoch or nonce. */
  release(key: string, id: LeaseId): Promise<void>;

  /** Flows of a scope, in one phase or all, by key after `after`, and counts if you ask for them. Tombstones are left out. */
  list(query: JournalQuery): Promise<JournalList>;

  /** Deletes old quotes, and of old settled flows all but a tombstone, which stays, so that a key is never paid twice. */
  prune(options: PruneOptions): Promise<PruneReport>;

  close(): Promise<void>;
}

/** Bytes of UTF-8. */
const longestKey = 1024;

/** @throws {InvalidArgumentError} for a text that can't be a flow's key. */
export function assertFlowKey(key: unknown): asserts key is string {
  // Journals store keys as text. A key that UTF-8 can't hold or PostgreSQL refuses must not become another key.
  if (typeof key === "string" && key !== "" && !/[\0\p{Cs}]/u.test(key) && utf8.encode(key).length <= longestKey)
    return;
  throw new InvalidArgumentError(
    `the key of a flow must be a well-formed string of 1 to ${longestKey} bytes of UTF-8, without U+0000`,
  );
}

const utf8 = new TextEncoder();

/** Every journal orders keys by UTF-8 bytes. JavaScript itself orders by UTF-16 units. */
export function compareKeys(one: string, other: string): number {
  const [first, second] = [bytesOf(one), bytesOf(other)];
  return first === second ? 0 : first < second ? -1 : 1;
}

/** A character for each byte. */
const bytesOf = (key: string): string => String.fromCharCode(...utf8.encode(key));

export const journalMethods = [
  "begin",
  "read",
  "acquire",
  "acquireAbandoned",
  "renew",
  "write",
  "release",
  "list",
  "prune",
] as const satisfies readonly (keyof Journal)[];

/** The journal, which reports how long it takes for each thing that it is asked for, if anybody wants to know. */
export function timedJournal(journal: Journal, reporter: Reporter): Journal {
  if (!reporter.wants("journal")) return journal;
  const timed =
    (operation: keyof Journal) =>
    async (...given: readonly unknown[]) => {
      const startedAtMs = clock.monotonicMs();
      let failed = {};
      try {
        return await Reflect.apply(Reflect.get(journal, operation), journal, given);
      } catch (error) {
        failed = { code: error instanceof CrossBorderError ? error.code : "_OTHER" };
        throw error;
      } finally {
        reporter.emit("journal", { operation, durationMs: clock.monotonicMs() - startedAtMs, ...failed });
      }
    };
  // Only its methods, since an object with a `then` would be taken for a promise.
  const wrapped: Journal = Object.create(journal);
  return Object.assign(wrapped, Object.fromEntries(journalMethods.map((name) => [name, timed(name)])));
}

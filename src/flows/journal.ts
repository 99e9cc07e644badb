/** Whose flow it is: flows of one gateway are neither run nor recovered for another, even over the same journal. */
export interface FlowScope {
  /** Base URL of the service. */
  readonly service: string;
  /** The sending gateway's id. */
  readonly gateway: string;
}

/** Flows of a service, or only those of one of its gateways. */
export interface ScopeFilter {
  readonly service: string;
  readonly gateway?: string | undefined;
}

/**
 * One ownership of a flow, which each write is compared with. The epoch alone is not enough: epochs repeat where a journal is restored
 * from a backup.
 */
export interface LeaseId {
  /** Grows by one with every owner. A write with an older one is refused: that owner is taken to be dead. */
  readonly epoch: number;
  /** Chosen at random by the owner. */
  readonly nonce: string;
}

/** One stored state of one ownership, which whatever replaces that state names. */
export interface StateId extends LeaseId {
  /**
   * 1 for the state that `begin` stored; each `write` and each `replaceQuote` stores the next one. Epoch and nonce say who writes, and not in
   * which order: a write that timed out and was repeated can still arrive after the next one.
   */
  readonly revision: number;
}

/** A lease as somebody has seen it, for the whole of its length, without a change. */
export interface ObservedLease extends StateId {
  readonly leaseUntilMs: number;
}

/** Who wants a flow, and for how long it is theirs unless they renew the lease. */
export interface LeaseRequest {
  /** A name for operators; it decides nothing. */
  readonly owner: string;
  /** A whole number of milliseconds, counted by the journal's own clock from when it grants the lease. */
  readonly leaseMs: number;
  /** New for every request: the lease is known by it, also when the response to the request was lost. 1 to 64 bytes. */
  readonly nonce: string;
}

/** What a journal is told to store. The journal need not understand it. */
export interface JournalState {
  /** Name of the state, for operators and queries. 1 to 128 bytes of UTF-8. A journal knows `quoted`, and the phases in `finalPhases`. */
  readonly phase: string;
  /** Whether nothing is left to do unless somebody asks for it, so that nobody takes the flow over. It is then stored without a lease. */
  readonly settled: boolean;
  /** Everything else; opaque to the journal, and possibly encrypted. */
  readonly data: string;
  /** What stays when what is personal is pruned: ids, amounts, signatures. Opaque, and possibly encrypted. */
  readonly evidence: string;
  /** Of a quote: for how long it holds, in milliseconds, counted by the journal's clock. */
  readonly quoteTtlMs?: number | undefined;
  /** Of a `write`: stored as the entry's `incarnationMark`. 1 to 128 bytes. Without it, that one stays as it is. */
  readonly incarnationMark?: string | undefined;
  /** Given to a `write` that moves the flow: whose it is from now on. */
  readonly scope?: FlowScope | undefined;
}

/** Phases of flows that nobody needs any more once they are old. A held flow is settled too, and is never pruned. */
export const finalPhases = ["paid", "declined", "rejected"] as const;

/** A flow as a journal stores it, and keeps other owners away from it. */
export interface JournalEntry extends StateId, Omit<JournalState, "quoteTtlMs" | "scope"> {
  /** 1 to 1,024 bytes of UTF-8, compared byte by byte: case, accents and spaces all count. */
  readonly key: string;
  readonly scope: FlowScope;
  /** Milliseconds since 1970, by the journal's clock. */
  readonly createdAtMs: number;
  /** When the state was stored. Acquiring, renewing and releasing a lease do not change it. */
  readonly updatedAtMs: number;
  /** Until when a quote holds. */
  readonly expiresAtMs?: number | undefined;
  /** Whether that time has come, by the journal's clock. */
  readonly isExpired: boolean;
  /** Who has the lease, or had it last. */
  readonly owner: string;
  /** `undefined` when nobody has the lease. It may have expired. */
  readonly leaseUntilMs?: number | undefined;
  /** How long the lease was when it was granted or extended last; `undefined` where nobody has it, or release 0.2 granted it. */
  readonly leaseMs?: number | undefined;
  /** Whether the lease ends later than its own length from now: the journal's clock was set back since it was granted. */
  readonly isOverlong: boolean;
  /** Which history of the journal the last owner that knew of no lost claim got the flow in. */
  readonly incarnationMark?: string | undefined;
  /**
   * Of an entry that was just leased: the journal's present history, read in the same statement. It is another one once a server was replaced
   * by a copy that may lack what was stored last. `undefined` where the journal can't tell.
   */
  readonly incarnation?: string | undefined;
  /** Set on what is left of a flow that was pruned: `data` is empty, and `evidence` too unless it was kept. */
  readonly prunedAtMs?: number | undefined;
}

/** Which flows to list, by key. */
export interface JournalQuery {
  readonly scope: ScopeFilter;
  /** Lists flows of this phase only. Default: flows of all phases. */
  readonly phase?: string | undefined;
  /** Lists the flows after this key. */
  readonly after?: string | undefined;
  /** How many flows to list at most. */
  readonly limit: number;
}

/** What to prune. */
export interface PruneOptions {
  /** Flows whose phase is one of `finalPhases`, and which were stored before this time by the journal's clock. Default: none. */
  readonly settledBeforeMs?: number | undefined;
  /**
   * Quotes whose time was over before this time. They are deleted: nothing was taken for them. A day ago at the latest: a write that comes
   * later than that could bring back a quote that was told as expired, and confirm it. Default: none.
   */
  readonly quotedBeforeMs?: number | undefined;
  /** `evidence` keeps the flow's evidence. Default: `nothing`. */
  readonly keep?: "evidence" | "nothing" | undefined;
}

/** The flows of one gateway of one service. */
export interface ScopeCounts extends FlowScope {
  /** Flows that are not settled. */
  readonly open: number;
  /** Flows that wait for an operator. */
  readonly held: number;
  /** Flows that were paid, those that were pruned included. */
  readonly paid: number;
  /** All flows but those that were pruned. */
  readonly flows: number;
}

/** The flows of one gateway of one service that are not settled, or are held, in one phase. */
export interface BacklogCount extends FlowScope {
  readonly phase: string;
  readonly flows: number;
  /** How many of them nobody has: they are not settled, and their lease has expired or was released. */
  readonly unowned: number;
  /** How long ago the oldest of them was begun, in milliseconds, by the journal's clock. */
  readonly oldestMs: number;
}

/** How many flows were pruned. */
export interface PruneReport {
  readonly settled: number;
  readonly quoted: number;
}

/**
 * A durable store of flows. Each method is atomic, and durable once its promise resolves: a claim that could be lost after the
 * request was sent would be worthless. What a read shows is durable too. A write that fails rejects and changes nothing. Only if the
 * connection to a database broke before the response came can it have been stored, and then all of it (`JournalError.stored` is
 * `unknown`).
 *
 * Strings come back exactly as they were given. What can't be stored exactly is refused before anything is stored: U+0000 and lone
 * surrogates.
 *
 * At most one owner has an unexpired lease of a flow, and every new lease has a higher epoch than all leases before it. Calls may arrive
 * late, twice, and in another order than they were made in: what names a state or a lease applies to no other.
 * `verifyJournal` of `cross-border-payments/testing` checks an implementation.
 */
export interface Journal {
  /**
   * Stores a flow that is not there yet, with epoch 1, revision 1 and the given nonce, leased to the caller; `created` is true then.
   * Otherwise returns the flow that is there, unchanged, be it one that was pruned. A settled state is stored without a lease.
   */
  begin(
    key: string,
    scope: FlowScope,
    state: JournalState,
    lease: LeaseRequest,
  ): Promise<{ readonly entry: JournalEntry; readonly created: boolean }>;

  /** The flow as it stands; `undefined` if there is no such flow. */
  read(key: string): Promise<JournalEntry | undefined>;

  /**
   * Leases a flow, settled or not, to the caller, with the next epoch; `undefined` when there is no such flow, it was pruned, or a lease
   * of it has not expired. That holds for a lease with the same owner's name too: names decide nothing. A lease that is still exactly the
   * `observed` one has expired, whatever the journal's clock says.
   */
  acquire(key: string, lease: LeaseRequest, observed?: ObservedLease): Promise<JournalEntry | undefined>;

  /**
   * Leases the first flow by key, after `after`, of the scope, that is not settled and whose lease has expired or was released;
   * `undefined` when there is none. Flows that another process is acquiring at this
   * moment are skipped, not waited for.
   *
   * Keys are ordered by their UTF-8 bytes.
   */
  acquireAbandoned(
    scope: ScopeFilter,
    lease: LeaseRequest,
    after: string | undefined,
  ): Promise<JournalEntry | undefined>;

  /** Flows of a scope that are not settled and whose lease is overlong, by key, after `after`, at most `limit`. */
  overlong(query: Omit<JournalQuery, "phase">): Promise<readonly JournalEntry[]>;

  /**
   * Extends a lease, counted from now; false when the flow has another epoch or nonce by now, was pruned, or the lease was released or
   * ended by a settled state. A lease that has expired, and that nobody has taken over, is extended too.
   */
  renew(key: string, id: LeaseId, leaseMs: number): Promise<boolean>;

  /**
   * Stores a state in place of the one that is named, with the next revision; false, with nothing stored, when the flow has another epoch,
   * nonce or revision by now, or was pruned: nobody owns a tombstone. It is true too, and changes nothing, where the next revision of the
   * same epoch and nonce is this very state, byte by byte: that is its own repetition.
   *
   * With an expired or released lease that nobody has taken over, the state is still stored. With `leaseMs` the lease is extended too,
   * counted from now, unless it was released or ended by a settled state: then it is false, and nothing is stored. A settled state ends
   * the lease.
   */
  write(key: string, id: StateId, state: JournalState, leaseMs?: number): Promise<boolean>;

  /**
   * Stores a state in place of a quote that is still as it was seen, with the next epoch and revision and the given nonce, leased to the
   * caller unless the state is settled; `undefined`, with nothing stored, when the flow is no longer `quoted`, has another epoch, nonce or
   * revision by now, or `expired` is given and says otherwise than the journal's clock.
   */
  replaceQuote(
    key: string,
    seen: StateId,
    state: JournalState,
    lease: LeaseRequest,
    expired: boolean | undefined,
  ): Promise<JournalEntry | undefined>;

  /**
   * Gives a quote that is still as it was seen the next epoch and revision and the given nonce, and changes nothing else, its end included:
   * whatever `replaceQuote` named it as it was seen never applies any more. `undefined`, with nothing changed, when it is not.
   */
  fenceQuote(key: string, seen: StateId, nonce: string): Promise<JournalEntry | undefined>;

  /** Ends a lease early. Does nothing when the flow has another epoch or nonce by now. */
  release(key: string, id: LeaseId): Promise<void>;

  /** Flows of a scope, of one phase or of all, by key, after `after`, at most `limit`. What was pruned is left out. */
  list(query: JournalQuery): Promise<readonly JournalEntry[]>;

  /** How many flows of a scope are in each phase. What was pruned is left out. */
  counts(scope: ScopeFilter): Promise<Readonly<Record<string, number>>>;

  /** Every scope that has flows. It may read the whole journal. */
  scopes(): Promise<readonly ScopeCounts[]>;

  /** The flows of every scope that are not settled, and those whose phase is `held`, counted by scope and phase. It reads no other flow, for metrics. */
  backlog(): Promise<readonly BacklogCount[]>;

  /** Deletes old quotes, and of old flows all but a tombstone, so that a key is never paid for a second time. */
  prune(options: PruneOptions): Promise<PruneReport>;

  close(): Promise<void>;
}

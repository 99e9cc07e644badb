/** A flow as a journal stores it. The journal need not understand it: it keeps the flow, and keeps other owners away from it. */
export interface JournalEntry {
  /** 1 to 1,024 bytes of UTF-8, compared byte by byte: case, accents and spaces all count. */
  readonly key: string;
  /** Grows by one with every owner. A write with an older one is refused: that owner is taken to be dead. */
  readonly epoch: number;
  /** Name of the state, for operators and queries; opaque to the journal. 1 to 128 bytes of UTF-8. */
  readonly phase: string;
  /** Whether nothing is left to do, so that nobody needs to take the flow over. */
  readonly settled: boolean;
  /** Everything else; opaque to the journal, and possibly encrypted. */
  readonly data: string;
  /** Milliseconds since 1970, by the journal's clock. */
  readonly createdAtMs: number;
  /** When the state was stored. Acquiring, renewing and releasing a lease do not change it. */
  readonly updatedAtMs: number;
}

/** What a journal is told to store. */
export type JournalState = Pick<JournalEntry, "phase" | "settled" | "data">;

/** Who wants a flow, and for how long it is theirs unless they renew the lease. */
export interface LeaseRequest {
  /** A name for operators; it decides nothing. */
  readonly owner: string;
  /** A whole number of milliseconds, counted by the journal's own clock from when it grants the lease. */
  readonly leaseMs: number;
}

/**
 * A durable store of flows. Each method is atomic, and durable once its promise resolves: a claim that could be lost after the
 * request was sent would be worthless. A write that fails rejects and changes nothing. Only if the connection to a database broke
 * before the response came can it have been stored, and then all of it (`JournalError.stored` is `unknown`).
 *
 * Strings come back exactly as they were given. What can't be stored exactly is refused before anything is stored: U+0000 and lone
 * surrogates.
 *
 * At most one owner has an unexpired lease of a flow, and every new lease has a higher epoch than all leases before it.
 * `verifyJournal` of `cross-border-payments/testing` checks an implementation.
 */
export interface Journal {
  /**
   * Stores a flow that is not there yet, leased to the caller with epoch 1; `created` is true then. Otherwise returns the flow that
   * is there, unchanged. A settled state is stored without a lease.
   */
  begin(
    key: string,
    state: JournalState,
    lease: LeaseRequest,
  ): Promise<{ readonly entry: JournalEntry; readonly created: boolean }>;

  /** The flow as it stands; `undefined` if there is no such flow. */
  read(key: string): Promise<JournalEntry | undefined>;

  /**
   * Leases a flow, settled or not, to the caller, with the next epoch; `undefined` when there is no such flow, or a lease of it has
   * not expired. That holds for a lease with the same owner's name too: names decide nothing.
   */
  acquire(key: string, lease: LeaseRequest): Promise<JournalEntry | undefined>;

  /**
   * Leases the first flow by key, after `after`, that is not settled and whose lease has expired or was released; `undefined` when
   * there is none. Flows that another process is acquiring at this moment are skipped, not waited for.
   *
   * Keys are ordered by their UTF-8 bytes.
   */
  acquireAbandoned(lease: LeaseRequest, after: string | undefined): Promise<JournalEntry | undefined>;

  /**
   * Extends a lease, counted from now; false when the flow has another epoch by now, or the lease was released or ended by a settled
   * state. A lease that has expired, and that nobody has taken over, is extended too.
   */
  renew(key: string, epoch: number, leaseMs: number): Promise<boolean>;

  /**
   * Stores a state; false, with nothing stored, when the flow has another epoch by now. With an expired or released lease that nobody
   * has taken over, the state is still stored. The lease is not extended. A settled state ends it.
   */
  write(key: string, epoch: number, state: JournalState): Promise<boolean>;

  /** Ends a lease early. Does nothing when the flow has another epoch by now. */
  release(key: string, epoch: number): Promise<void>;

  /** Flows in a phase, such as `held`, by key, after `after`, at most `limit`. */
  list(query: {
    readonly phase: string;
    readonly after?: string | undefined;
    readonly limit: number;
  }): Promise<readonly JournalEntry[]>;

  close(): Promise<void>;
}

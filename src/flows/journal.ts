/** A flow as a journal holds it. What it means is the flow's business: a journal keeps it, and keeps others away from it. */
export interface JournalEntry {
  /** 1 to 1,024 bytes of UTF-8, compared byte by byte: no case, no accents and no spaces are made equal. */
  readonly key: string;
  /** Grows by one with every owner. Whoever writes with an older one is refused: that owner was taken for dead. */
  readonly epoch: number;
  /** Name of the state, for operators and queries; opaque to the journal. 1 to 128 bytes of UTF-8. */
  readonly phase: string;
  /** Nothing is left to be done for it on its own. */
  readonly settled: boolean;
  /** Everything else; opaque to the journal, maybe encrypted. */
  readonly data: string;
  /** Milliseconds since 1970, by the journal's clock. */
  readonly createdAtMs: number;
  /** When the state was stored: taking, renewing and releasing a lease leave it alone. */
  readonly updatedAtMs: number;
}

/** What a journal is told to store. */
export type JournalState = Pick<JournalEntry, "phase" | "settled" | "data">;

/** Who takes a flow, and for how long it is theirs unless they renew it. */
export interface LeaseRequest {
  /** A name for operators; it decides nothing. */
  readonly owner: string;
  /** A whole number, counted by the journal's own clock, from when it grants the lease. */
  readonly leaseMs: number;
}

/**
 * A durable place for flows. Each method is atomic, and durable once its promise resolves: a claim that could be lost
 * after the request was sent would be worth nothing. A write that fails rejects, and leaves what was there; only where the
 * connection to a database broke before its response came can the write have been stored whole (`JournalError.stored` is `unknown` then).
 *
 * Texts come back exactly as they were given. What can't be kept exactly is refused before anything is stored: U+0000 and lone surrogates.
 *
 * At most one owner has an unexpired lease of a flow. Every new lease has a higher epoch than all before it.
 * `verifyJournal` of `cross-border-payments/testing` checks an implementation.
 */
export interface Journal {
  /**
   * Stores a flow that is not there yet, leased to the caller with epoch 1, and says so; otherwise gives what is there, untouched.
   * A settled state is stored without a lease.
   */
  begin(
    key: string,
    state: JournalState,
    lease: LeaseRequest,
  ): Promise<{ readonly entry: JournalEntry; readonly created: boolean }>;

  /** The flow as it stands, or `undefined`. */
  read(key: string): Promise<JournalEntry | undefined>;

  /**
   * Takes the lease of a flow, settled or not, with the next epoch; `undefined` when there is no such flow, or a lease of it has not
   * expired. A lease of the same owner's is no different: names decide nothing.
   */
  acquire(key: string, lease: LeaseRequest): Promise<JournalEntry | undefined>;

  /**
   * Takes the lease of the first flow by key, behind `after`, that is not settled and whose lease has expired or was released.
   * Flows that another process is taking at this moment are passed over, not waited for. `undefined` when there is none.
   *
   * Keys are ordered by their UTF-8 bytes.
   */
  acquireAbandoned(lease: LeaseRequest, after: string | undefined): Promise<JournalEntry | undefined>;

  /**
   * Prolongs a lease, from now on; false when `epoch` is not the flow's any more, or its lease was released or ended by a settled
   * state. One that has expired, and that nobody took over, is prolonged too.
   */
  renew(key: string, epoch: number, leaseMs: number): Promise<boolean>;

  /**
   * Stores a state; false, with nothing stored, when `epoch` is not the flow's any more. An expired or released lease that nobody
   * has taken over still writes. The lease is not prolonged. A settled state ends it.
   */
  write(key: string, epoch: number, state: JournalState): Promise<boolean>;

  /** Ends a lease early. Nothing happens when `epoch` is not the flow's any more. */
  release(key: string, epoch: number): Promise<void>;

  /** Flows in a phase, such as `held`, by key behind `after`, at most `limit`. */
  list(query: {
    readonly phase: string;
    readonly after?: string | undefined;
    readonly limit: number;
  }): Promise<readonly JournalEntry[]>;

  close(): Promise<void>;
}

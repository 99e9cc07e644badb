import { later, now, type Timestamp } from "../timing/timestamp.js";
import type { Claim } from "./flow-state.js";
import type { Journal, JournalEntry, JournalState } from "./journal.js";

/** Thrown where an owner finds that the flow is no longer its own. Internal: whoever runs the flow then waits for the new owner. */
export class LeaseLost extends Error {}

/**
 * One process's ownership of a flow. The lease counts from before it was asked for, so that it ends here no later than in the
 * journal. It is over as soon as either clock says so: while a process is stopped or a machine sleeps, only one of them may move.
 */
export class Lease {
  readonly key: string;
  readonly epoch: number;
  readonly #journal: Journal;
  readonly #leaseMs: number;
  readonly #lost = new AbortController();
  readonly #heartbeat: ReturnType<typeof setInterval>;
  #until: Timestamp;
  /** Until when the claim that was made under this lease may be sent. */
  #claimSendBy: Timestamp | undefined;

  constructor(
    journal: Journal,
    { key, epoch }: Pick<JournalEntry, "key" | "epoch">,
    leaseMs: number,
    askedAt: Timestamp,
  ) {
    this.#journal = journal;
    this.key = key;
    this.epoch = epoch;
    this.#leaseMs = leaseMs;
    this.#until = later(askedAt, leaseMs);
    this.#heartbeat = setInterval(() => void this.renew().catch(() => {}), leaseMs / 3);
    // Not every platform's timers can be told to let the process end.
    if (typeof this.#heartbeat === "object") this.#heartbeat.unref();
  }

  /** Aborts when it turns out that another owner has the flow. */
  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  /** @throws {LeaseLost} when another owner has the flow. */
  async renew(): Promise<void> {
    const askedAt = now();
    if (!(await this.#journal.renew(this.key, this.epoch, this.#leaseMs))) this.#lose();
    this.#until = later(askedAt, this.#leaseMs);
  }

  /**
   * Renews the lease, so that a claim has all of it to be sent in, and gives the claim its time.
   *
   * @throws {LeaseLost} when another owner has the flow.
   */
  async beginClaim(): Promise<Pick<Claim, "epoch" | "claimedAtMs" | "sendByMs">> {
    await this.renew();
    this.#claimSendBy = this.#sendBy();
    return { epoch: this.epoch, claimedAtMs: Date.now(), sendByMs: this.#claimSendBy.wallMs };
  }

  /**
   * Until when this owner may send a claim, by either clock; `undefined` for a claim that another owner made.
   *
   * Later renewals don't move it. Until then nobody else can have got the flow: an owner that was stopped, or whose event loop was
   * blocked, finds that it is too late.
   */
  sendBy({ epoch, sendByMs }: Claim): Timestamp | undefined {
    const claimed = this.#claimSendBy;
    if (claimed === undefined || epoch !== this.epoch) return undefined;
    const { wallMs, monotonicMs } = this.#sendBy();
    // The wall clock may have been set back since the claim was made.
    return { wallMs: Math.min(sendByMs, wallMs), monotonicMs: Math.min(claimed.monotonicMs, monotonicMs) };
  }

  /** @throws {LeaseLost} when another owner has the flow; nothing was written then. */
  async write(state: JournalState): Promise<void> {
    if (!(await this.#journal.write(this.key, this.epoch, state))) this.#lose();
  }

  /** Ends the ownership: the flow is free for others at once. Never rejects, whatever a journal of the user's own throws. */
  async end(): Promise<void> {
    clearInterval(this.#heartbeat);
    try {
      await this.#journal.release(this.key, this.epoch);
    } catch {
      // Then the lease expires by itself.
    }
  }

  /** A tenth of the lease, a second at most, is kept back for what happens between the last check and the first byte. */
  #sendBy(): Timestamp {
    return later(this.#until, -Math.min(1000, this.#leaseMs / 10));
  }

  #lose(): never {
    clearInterval(this.#heartbeat);
    this.#lost.abort();
    throw new LeaseLost();
  }
}

import { Alarm } from "../../timing/alarm.js";
import { clock, type Timer } from "../../timing/clock.js";
import { later, now, surelyLeftMs, type Timestamp } from "../../timing/timestamp.js";
import type { Journal, JournalEntry, JournalState, LeaseId } from "../journal.js";
import type { Claim } from "../state/flow-state.js";
import { isCertainlyRefused, unsettledWrite } from "./journal-failure.js";

/** Thrown where an owner finds that the flow is no longer its own. Internal: the caller then waits for the new owner. */
export class LeaseLost extends Error {}

const over: Timestamp = { wallMs: Number.NEGATIVE_INFINITY, monotonicMs: Number.NEGATIVE_INFINITY };

export type LeasedEntry = Pick<
  JournalEntry,
  "key" | "epoch" | "nonce" | "revision" | "leaseUntilMs" | "incarnation" | "incarnationMark"
>;

/** A write that was handed to the journal, and of which nobody knows yet whether it was stored. */
interface UnsettledWrite {
  readonly state: JournalState;
  /** A repetition stores the same. */
  readonly stored: JournalState;
  readonly askedAt: Timestamp;
}

/**
 * One process's ownership of a flow. The lease counts from before it was asked for, so that it ends here no later than in the
 * journal. It is over as soon as either clock says so: while a process is stopped or a machine sleeps, only one of them may move.
 *
 * Another owner may have had the flow since a lease ended, whatever the journal says now: it may have been restored to the time before.
 * So a lease that is renewed after its end makes the flow one that is taken over.
 */
export class Lease {
  readonly key: string;
  readonly id: LeaseId;
  readonly #journal: Journal;
  readonly #leaseMs: number;
  /** Goes off when it turns out that another owner has the flow. */
  readonly lost = new Alarm();
  #heartbeat: Timer;
  /** When the lease was granted, by the journal's clock. */
  readonly #grantedAtMs: number;
  readonly #askedAt: Timestamp;
  #isOver = false;
  #hasLapsed = false;
  #ownedSinceMs = clock.monotonicMs();
  #until: Timestamp;
  /** Until when the claim that was made under this lease may be sent. */
  #claimSendBy: Timestamp | undefined;
  /** The revision of the newest state that is known to be stored. */
  #revision: number;
  #unsettled: UnsettledWrite | undefined;
  /** The journal's history in which this owner got the flow. */
  readonly #incarnation: string | undefined;
  #knowsAllClaims: boolean;

  constructor(journal: Journal, entry: LeasedEntry, leaseMs: number, askedAt: Timestamp) {
    const { key, epoch, nonce, revision, leaseUntilMs, incarnation, incarnationMark } = entry;
    this.#journal = journal;
    this.key = key;
    this.id = { epoch, nonce };
    this.#revision = revision;
    this.#incarnation = incarnation;
    this.#knowsAllClaims = incarnation !== undefined && incarnation === incarnationMark;
    this.#leaseMs = leaseMs;
    this.#askedAt = askedAt;
    this.#grantedAtMs = leaseUntilMs === undefined ? askedAt.wallMs : leaseUntilMs - leaseMs;
    this.#until = later(askedAt, leaseMs);
    this.#startHeartbeat();
  }

  /** Whether the flow is certainly still this owner's. */
  get isAlive(): boolean {
    return !this.#isOver && this.#leftMs() > 0;
  }

  /**
   * Whether no earlier owner can have made a claim that the journal lost, in a failover to a replica that lagged behind or in a restore. Who
   * can't tell waits, before it relies on not finding the payment, until such a claim can't be sent any more.
   */
  get knowsAllClaims(): boolean {
    return this.#knowsAllClaims && !this.#mayHaveBeenTaken;
  }

  /** To be called by an owner that has waited so long, or that took the flow's money for the first time. Its writes say so from now on. */
  noteKnowsAllClaims(): void {
    this.#knowsAllClaims = !this.#mayHaveBeenTaken;
  }

  /** Renews a lease that ended since it was got, or since this was called last, and tells whether it did. @throws {LeaseLost} */
  async retake(): Promise<boolean> {
    if (!this.#mayHaveBeenTaken) return false;
    await this.renew();
    this.#hasLapsed = false;
    this.#knowsAllClaims = false;
    return true;
  }

  /** Since when no other owner has made a claim, and this one no newer one, by the monotonic clock. */
  get ownedSinceMs(): number {
    return this.#ownedSinceMs;
  }

  /** The time by the journal's clock, in milliseconds since 1970. It is too late by as long as the journal took to grant the lease. */
  journalNowMs(): number {
    return this.#grantedAtMs + (clock.monotonicMs() - this.#askedAt.monotonicMs);
  }

  /** @throws {LeaseLost} when another owner has the flow. */
  async renew(): Promise<void> {
    const askedAt = now();
    const hasEnded = this.#leftMs() <= 0;
    this.#hasLapsed ||= hasEnded;
    if (!(await this.#journal.renew(this.key, this.id, this.#leaseMs))) this.#lose();
    if (hasEnded) this.#ownedSinceMs = clock.monotonicMs();
    this.#until = later(askedAt, this.#leaseMs);
  }

  /** The time of a claim. Its maker stores it with `writeClaim`, which renews the lease: a claim begins with a whole one. */
  beginClaim(): Pick<Claim, "epoch" | "claimedAtMs" | "sendByMs"> {
    const at = now();
    this.#ownedSinceMs = at.monotonicMs;
    this.#claimSendBy = this.#sendBy(later(at, this.#leaseMs));
    return { epoch: this.id.epoch, claimedAtMs: at.wallMs, sendByMs: this.#claimSendBy.wallMs };
  }

  /**
   * Until when this owner may send a claim, by either clock; `undefined` for a claim that another owner made.
   *
   * Later renewals don't move it. Until then nobody else can have got the flow: an owner that was stopped, or whose event loop was
   * blocked, finds that it is too late.
   */
  sendBy({ epoch, sendByMs }: Claim): Timestamp | undefined {
    const claimed = this.#claimSendBy;
    if (claimed === undefined || epoch !== this.id.epoch) return undefined;
    if (this.#hasLapsed) return over;
    const { wallMs, monotonicMs } = this.#sendBy(this.#until);
    // The wall clock may have been set back since the claim was made.
    return { wallMs: Math.min(sendByMs, wallMs), monotonicMs: Math.min(claimed.monotonicMs, monotonicMs) };
  }

  /** A settled state ends the lease. @throws {LeaseLost} when another owner has the flow; nothing was written then. */
  async write(state: JournalState): Promise<void> {
    await this.#write(state, undefined);
    if (state.settled) this.#finish();
  }

  /** Stores a claim, and renews the lease in the same write. @throws {LeaseLost} when another owner has the flow, or may have had it. */
  async writeClaim(state: JournalState): Promise<void> {
    // The next owner takes the flow over, and looks.
    if (this.#mayHaveBeenTaken) throw new LeaseLost();
    const askedAt = await this.#write(state, this.#leaseMs);
    this.#until = later(askedAt, this.#leaseMs);
  }

  /** Ends the ownership: the flow is free for others at once. Never rejects, whatever a journal of the user's own throws. */
  async end(): Promise<void> {
    if (this.#isOver) return;
    this.#finish();
    try {
      await this.#journal.release(this.key, this.id);
    } catch {
      // Then the lease expires by itself.
    }
  }

  /**
   * Stores a state in place of the one before it, or repeats that: the same state, until it is known what became of it.
   *
   * @returns when it was handed to the journal first.
   */
  async #write(state: JournalState, leaseMs: number | undefined): Promise<Timestamp> {
    const earlier = this.#unsettled;
    if (earlier !== undefined && earlier.state !== state) throw unsettledWrite(this.key);
    const writing = earlier ?? { state, stored: this.#marked(state), askedAt: now() };
    this.#unsettled = writing;
    try {
      const isStored = await this.#journal.write(
        this.key,
        { ...this.id, revision: this.#revision },
        writing.stored,
        leaseMs,
      );
      if (!isStored) this.#lose();
    } catch (error) {
      if (earlier === undefined && isCertainlyRefused(error)) this.#unsettled = undefined;
      throw error;
    }
    this.#unsettled = undefined;
    this.#revision += 1;
    return writing.askedAt;
  }

  #marked(state: JournalState): JournalState {
    const isMarked = this.knowsAllClaims && this.#incarnation !== undefined;
    return isMarked ? { ...state, incarnationMark: this.#incarnation } : state;
  }

  /** A tenth of the lease, a second at most, is kept back for what happens between the last check and the first byte. */
  #sendBy(until: Timestamp): Timestamp {
    return later(until, -Math.min(1000, this.#leaseMs / 10));
  }

  /** Whether the lease has ended since it was got or retaken: another owner may have had the flow meanwhile. */
  get #mayHaveBeenTaken(): boolean {
    return this.#hasLapsed || this.#leftMs() <= 0;
  }

  #leftMs(): number {
    return surelyLeftMs(this.#until, now());
  }

  #startHeartbeat(): void {
    this.#heartbeat = clock.setTimer(() => void this.#beat(), this.#leaseMs / 3);
    clock.unrefTimer(this.#heartbeat);
  }

  async #beat(): Promise<void> {
    try {
      await this.renew();
    } catch {
      // A journal that fails now may not fail the next time; a lease that was lost has no heartbeat any more.
    }
    if (!this.#isOver) this.#startHeartbeat();
  }

  #finish(): void {
    this.#isOver = true;
    clock.clearTimer(this.#heartbeat);
  }

  #lose(): never {
    this.#finish();
    this.lost.goOff();
    throw new LeaseLost();
  }
}

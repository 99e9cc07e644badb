import { Alarm } from "../timing/alarm.js";
import { clock, type Timer } from "../timing/clock.js";
import { later, now, surelyLeftMs, type Timestamp } from "../timing/timestamp.js";
import type { Claim } from "./flow-state.js";
import type { Journal, JournalEntry, JournalState, LeaseId } from "./journal.js";

/** Thrown where an owner finds that the flow is no longer its own. Internal: whoever runs the flow then waits for the new owner. */
export class LeaseLost extends Error {}

/** In the past, by either clock. */
const over: Timestamp = { wallMs: Number.NEGATIVE_INFINITY, monotonicMs: Number.NEGATIVE_INFINITY };

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
  /** By the journal's clock, when the lease was granted. */
  readonly #grantedAtMs: number;
  readonly #askedAt: Timestamp;
  #isOver = false;
  #hasLapsed = false;
  #ownedSinceMs = clock.monotonicMs();
  #until: Timestamp;
  /** Until when the claim that was made under this lease may be sent. */
  #claimSendBy: Timestamp | undefined;

  constructor(
    journal: Journal,
    { key, epoch, nonce, leaseUntilMs }: Pick<JournalEntry, "key" | "epoch" | "nonce" | "leaseUntilMs">,
    leaseMs: number,
    askedAt: Timestamp,
  ) {
    this.#journal = journal;
    this.key = key;
    this.id = { epoch, nonce };
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

  /** Renews a lease that ended since it was got, or since this was called last, and tells whether it did. @throws {LeaseLost} */
  async retake(): Promise<boolean> {
    if (!this.#mayHaveBeenTaken) return false;
    await this.renew();
    this.#hasLapsed = false;
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

  /** The time of a claim. Whoever makes it stores it with `writeClaim`, which renews the lease: a claim begins with a whole one. */
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
    if (!(await this.#journal.write(this.key, this.id, state))) this.#lose();
    if (state.settled) this.#finish();
  }

  /** Stores a claim, and renews the lease in the same write. @throws {LeaseLost} when another owner has the flow, or may have had it. */
  async writeClaim(state: JournalState): Promise<void> {
    const askedAt = now();
    // Whoever gets the flow next takes it over, and looks.
    if (this.#mayHaveBeenTaken) throw new LeaseLost();
    if (!(await this.#journal.write(this.key, this.id, state, this.#leaseMs))) this.#lose();
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

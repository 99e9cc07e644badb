import { later, leftMs, now, type Timestamp } from "../timing/timestamp.js";
import type { Journal, JournalEntry } from "./journal.js";

/** Thrown where an owner finds that it is none any more. Internal: whoever runs the flow then waits for the new owner. */
export class LeaseLost extends Error {}

/**
 * A flow in one owner's hands. The lease counts from before it was asked for, so it ends here no later than in the journal; and it ends on
 * whichever clock says so first, since a stopped process or a sleeping machine may see only one of them move.
 */
export class Lease {
  readonly key: string;
  readonly epoch: number;
  readonly #journal: Journal;
  readonly #leaseMs: number;
  #until: Timestamp;
  #lost = false;
  #heartbeat: NodeJS.Timeout | undefined;

  constructor(journal: Journal, entry: Pick<JournalEntry, "key" | "epoch">, leaseMs: number, askedAt: Timestamp) {
    this.#journal = journal;
    this.key = entry.key;
    this.epoch = entry.epoch;
    this.#leaseMs = leaseMs;
    this.#until = later(askedAt, leaseMs);
    this.#heartbeat = setInterval(() => void this.renew().catch(() => {}), leaseMs / 3);
    this.#heartbeat.unref();
  }

  /** Milliseconds for which nobody else can have taken the flow. */
  remainingMs(): number {
    return this.#lost ? 0 : Math.max(0, leftMs(this.#until, now()));
  }

  /** Until when a claim made now may be sent, by the wall clock. A tenth of the lease is kept back for what follows the last gate. */
  sendByMs(): number {
    return this.#until.wallMs - this.#marginMs();
  }

  /** @throws {LeaseLost} past the time in which a claim may be sent. This is the last gate: synchronous, and without I/O. */
  assertMaySend(sendByMs: number): void {
    if (this.remainingMs() <= this.#marginMs() || Date.now() >= sendByMs) throw new LeaseLost();
  }

  /** @throws {LeaseLost} when the flow was taken over. */
  async renew(): Promise<void> {
    const askedAt = now();
    if (await this.#journal.renew(this.key, this.epoch, this.#leaseMs)) this.#until = later(askedAt, this.#leaseMs);
    else this.#lose();
  }

  /** @throws {LeaseLost} when the flow was taken over; nothing was written then. */
  async write(state: { readonly phase: string; readonly settled: boolean; readonly data: string }): Promise<void> {
    if (!(await this.#journal.write(this.key, this.epoch, state))) this.#lose();
  }

  /** The end of this ownership. The flow is free for others at once. */
  async end(): Promise<void> {
    clearInterval(this.#heartbeat);
    // Left alone, the lease runs out by itself.
    await this.#journal.release(this.key, this.epoch).catch(() => {});
  }

  #marginMs(): number {
    return Math.min(1000, this.#leaseMs / 10);
  }

  #lose(): never {
    this.#lost = true;
    clearInterval(this.#heartbeat);
    throw new LeaseLost();
  }
}

import { clock, later, now, sleep, surelyLeftMs, type Timer, type Timestamp } from "../core/clock.js";
import { InvalidArgumentError, JournalError } from "../core/errors.js";
import type { Journal, JournalEntry, LeaseId } from "./journal.js";

/** Waits between the copies of what a journal is asked for. */
const repeatDelaysMs = [50, 250, 1_000, 2_000] as const;

/**
 * Asks a journal, and repeats what failed, or whose fate is unknown, word for word: each method knows its own repetition.
 *
 * @throws {JournalError} if that leads nowhere.
 */
export async function askJournal<T>(ask: () => Promise<T>): Promise<T> {
  for (let tries = 0; ; tries += 1) {
    try {
      return await ask();
    } catch (error) {
      // What can't be stored at all can't be stored the next time.
      if (error instanceof InvalidArgumentError) throw error;
      const delayMs = repeatDelaysMs[tries];
      if (delayMs === undefined) throw toJournalError(error);
      await sleep(delayMs);
    }
  }
}

function toJournalError(error: unknown): JournalError {
  if (error instanceof JournalError) return error;
  return new JournalError("the journal failed", { stored: "unknown", cause: error });
}

/** A lease that this process got, which it renews in the background. It is counted from before the first copy of its request. */
export class Lease {
  readonly id: LeaseId;
  /** Of the newest state that its owner stored, or found. */
  revision: number;
  readonly acquiredAt: Timestamp;
  readonly #journal: Journal;
  readonly #key: string;
  readonly #leaseMs: number;
  #renewedAt: Timestamp;
  #timer: Timer;
  #isOver = false;

  constructor(
    journal: Journal,
    { key, epoch, nonce, revision }: Pick<JournalEntry, "key" | "epoch" | "nonce" | "revision">,
    leaseMs: number,
    requestedAt: Timestamp,
  ) {
    this.#journal = journal;
    this.#key = key;
    this.#leaseMs = leaseMs;
    this.id = { epoch, nonce };
    this.revision = revision;
    this.acquiredAt = now();
    this.#renewedAt = requestedAt;
    this.#wait();
  }

  /** Nothing is sent after this time, by either local clock: a tenth of the lease is left then. */
  get sendBy(): Timestamp {
    return later(this.#renewedAt, this.#leaseMs * 0.9);
  }

  /** Makes sure that half of the lease is left, if the journal grants that. */
  async refresh(): Promise<void> {
    if (surelyLeftMs(later(this.#renewedAt, this.#leaseMs / 2), now()) <= 0) await this.#renew();
  }

  /** The owner renews it no longer. */
  end(): void {
    this.#isOver = true;
    clock.clearTimer(this.#timer);
  }

  #wait(): void {
    this.#timer = clock.setTimer(() => void this.#renew().then(() => !this.#isOver && this.#wait()), this.#leaseMs / 3);
    clock.unrefTimer(this.#timer);
  }

  /** Never rejects: who lost the lease finds that out with the next write, and before sending. */
  async #renew(): Promise<void> {
    const requestedAt = now();
    try {
      if (await this.#journal.renew(this.#key, this.id, this.#leaseMs)) this.#renewedAt = requestedAt;
    } catch {}
  }
}

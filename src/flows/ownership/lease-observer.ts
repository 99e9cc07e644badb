import { clock } from "../../timing/clock.js";
import type { JournalEntry, ObservedLease } from "../journal.js";

/** Leases that this process watches. Beyond that it forgets the one that it has watched for longest: it may be another's by now. */
const mostWatched = 10_000;

interface Observation extends ObservedLease {
  /** When it was first seen, by the monotonic clock. */
  readonly sinceMs: number;
}

/**
 * Watches leases that end later than their own length from now, since the journal's clock was set back: an owner that lives renews its
 * lease, and so changes it. One that stays as it is for its whole length is over, by this process's monotonic clock.
 */
export class LeaseObserver {
  readonly #observations = new Map<string, Observation>();

  /** @param entry the flow as it was just read. @returns its lease, once it is over; otherwise `undefined`. */
  observed(entry: JournalEntry): ObservedLease | undefined {
    const { key, epoch, nonce, revision, leaseUntilMs, leaseMs, isOverlong } = entry;
    const known = this.#observations.get(key);
    if (!isOverlong || leaseUntilMs === undefined || leaseMs === undefined) {
      this.#observations.delete(key);
      return undefined;
    }
    const nowMs = clock.monotonicMs();
    if (known !== undefined && isSame(known, entry)) return nowMs - known.sinceMs >= leaseMs ? known : undefined;
    this.#observations.delete(key);
    const [oldest = key] = this.#observations.keys();
    if (this.#observations.size >= mostWatched) this.#observations.delete(oldest);
    this.#observations.set(key, { epoch, nonce, revision, leaseUntilMs, sinceMs: nowMs });
    return undefined;
  }
}

function isSame(known: Observation, { epoch, nonce, revision, leaseUntilMs }: JournalEntry): boolean {
  return (
    known.epoch === epoch && known.nonce === nonce && known.revision === revision && known.leaseUntilMs === leaseUntilMs
  );
}

import { waitUntil } from "#platform";
import { later, leftMs, now, type Timestamp } from "../core/clock.js";

/**
 * One piece of work at a time, whose result all calls share that ask for it meanwhile. It belongs to none of them: a call that ends
 * leaves it running.
 */
export class JointWork<T> {
  readonly #limitMs: number;
  #begun: Begun<T> | undefined;

  /** @param limitMs within which the work is done, by timers of its own. */
  constructor(limitMs: number) {
    this.#limitMs = limitMs;
  }

  /** The work that has not been ended. */
  get current(): Promise<T> | undefined {
    if (this.#begun !== undefined && isLost(this.#begun)) this.#begun = undefined;
    return this.#begun?.result;
  }

  /** @param work calls `end` once it is over: who asks from then on starts it anew. */
  start(work: (end: () => void) => Promise<T>): Promise<T> {
    const limit = later(now(), this.#limitMs);
    // Work that was given up, and ends after all, ends none that was begun since.
    const end = () => {
      if (this.#begun === begun) this.#begun = undefined;
    };
    const begun: Begun<T> = { limit, result: undefined };
    this.#begun = begun;
    const result = work(end);
    begun.result = result;
    waitUntil?.(result);
    return result;
  }

  /** What is under way, or else new work, which ends as it settles. */
  join(work: () => Promise<T>): Promise<T> {
    return this.current ?? this.start((end) => work().finally(end));
  }
}

interface Begun<T> {
  readonly limit: Timestamp;
  result: Promise<T> | undefined;
}

/** A runtime can have ended it with the request that began it, and its timers too. Others don't, however late they are. */
function isLost({ limit }: Begun<unknown>): boolean {
  return waitUntil !== undefined && leftMs(limit, now()) <= 0;
}

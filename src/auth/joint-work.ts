import { outliveRequest } from "#platform";
import { later, leftMs, now, type Timestamp } from "../timing/timestamp.js";

/**
 * One piece of work at a time, whose result all calls share that ask for it meanwhile. It belongs to none of them: a call that ends
 * leaves it running.
 */
export class JointWork<T> {
  readonly #limitMs: number;
  #work: Promise<T> | undefined;
  #limit: Timestamp | undefined;

  /** @param limitMs within which the work is done, by timers of its own. */
  constructor(limitMs: number) {
    this.#limitMs = limitMs;
  }

  /** The work that has not been ended. */
  get current(): Promise<T> | undefined {
    if (this.#isLost) this.end();
    return this.#work;
  }

  start(work: () => Promise<T>): Promise<T> {
    this.#limit = later(now(), this.#limitMs);
    const started = work();
    this.#work = started;
    outliveRequest?.(started);
    return started;
  }

  /** What is under way, or else new work, which ends as it settles. */
  join(work: () => Promise<T>): Promise<T> {
    return this.current ?? this.start(() => work().finally(() => this.end()));
  }

  /** Who asks from now on starts it anew. */
  end(): void {
    this.#work = undefined;
  }

  /** A runtime can have ended it with the request that began it, and its timers too. Others don't, however late they are. */
  get #isLost(): boolean {
    return outliveRequest !== undefined && this.#limit !== undefined && leftMs(this.#limit, now()) <= 0;
  }
}

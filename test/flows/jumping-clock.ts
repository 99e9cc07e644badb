import { onTestFinished } from "vitest";
import { type Clock, setClock } from "../../src/timing/clock.js";

interface PendingTimer {
  readonly dueMs: number;
  readonly work: () => void;
  handle: NodeJS.Timeout;
}

/** Real time, that can be moved on at once: both clocks go on by as much, and every timer that is due by then goes off. */
export class JumpingClock implements Clock {
  #aheadMs = 0;
  readonly #timers = new Set<PendingTimer>();

  /** Until the end of the test. */
  static install(): JumpingClock {
    const clock = new JumpingClock();
    setClock(clock);
    onTestFinished(() => setClock(undefined));
    return clock;
  }

  wallMs(): number {
    return Date.now() + this.#aheadMs;
  }

  monotonicMs(): number {
    return performance.now() + this.#aheadMs;
  }

  setTimer(work: () => void, ms: number): PendingTimer {
    const dueMs = this.monotonicMs() + ms;
    const timer: PendingTimer = { dueMs, work, handle: setTimeout(() => this.#fire(timer), ms) };
    this.#timers.add(timer);
    return timer;
  }

  clearTimer(timer: unknown): void {
    if (timer === undefined) return;
    const pending = timer as PendingTimer;
    clearTimeout(pending.handle);
    this.#timers.delete(pending);
  }

  unrefTimer(timer: unknown): void {
    (timer as PendingTimer).handle.unref();
  }

  jump(ms: number): void {
    this.#aheadMs += ms;
    for (const timer of [...this.#timers].sort((one, other) => one.dueMs - other.dueMs)) {
      const leftMs = timer.dueMs - this.monotonicMs();
      clearTimeout(timer.handle);
      if (leftMs <= 0) this.#fire(timer);
      else timer.handle = setTimeout(() => this.#fire(timer), leftMs);
    }
  }

  #fire(timer: PendingTimer): void {
    if (this.#timers.delete(timer)) timer.work();
  }
}

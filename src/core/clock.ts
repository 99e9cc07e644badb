/** Returned by `setTimer`, for `clearTimer`. */
export type Timer = unknown;

/** The source of time for calls and flows. */
export interface Clock {
  /** Milliseconds since 1970. */
  wallMs(): number;
  /** Milliseconds since some point in the past. This clock never runs backwards. */
  monotonicMs(): number;
  setTimer(work: () => void, ms: number): Timer;
  clearTimer(timer: Timer): void;
  /** Lets the process end although the timer is still running. */
  unrefTimer(timer: Timer): void;
}

const systemClock: Clock = {
  wallMs: () => Date.now(),
  monotonicMs: () => performance.now(),
  setTimer: (work, ms) => setTimeout(work, ms),
  clearTimer: (timer) => clearTimeout(timer as NodeJS.Timeout | undefined),
  // Not every platform's timers can be told to let the process end.
  unrefTimer: (timer) => (timer as Partial<NodeJS.Timeout> | undefined)?.unref?.(),
};

/** The clock of this process, or of a test. */
export let clock: Clock = systemClock;

/** Replaces the clock in tests. `undefined` restores the system's clock. */
export function setClock(replacement: Clock = systemClock): void {
  clock = replacement;
}

/** Waits. */
export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => {
    clock.setTimer(resolve, ms);
  });
}

/**
 * A point in time on both clocks. The wall clock continues while the machine sleeps, and the monotonic one can't be set back, so a
 * period is over as soon as either clock says so.
 */
export interface Timestamp {
  readonly wallMs: number;
  readonly monotonicMs: number;
}

export function now(): Timestamp {
  return { wallMs: clock.wallMs(), monotonicMs: clock.monotonicMs() };
}

export function later(timestamp: Timestamp, ms: number): Timestamp {
  return { wallMs: timestamp.wallMs + ms, monotonicMs: timestamp.monotonicMs + ms };
}

/** Milliseconds from `at` to `until`, by the clock that has less. 0 or below once it has passed. */
export function leftMs(until: Timestamp, at: Timestamp): number {
  return Math.min(until.wallMs - at.wallMs, until.monotonicMs - at.monotonicMs);
}

/** Clocks are corrected by less than this all the time. */
const correctionMs = 1000;

/**
 * As `leftMs`, for work that must not happen too late. Nothing is left if the wall clock was set back, since only that clock shows
 * that a machine was suspended.
 */
export function surelyLeftMs(until: Timestamp, at: Timestamp): number {
  const setBackMs = until.wallMs - at.wallMs - (until.monotonicMs - at.monotonicMs);
  return setBackMs > correctionMs ? 0 : leftMs(until, at);
}

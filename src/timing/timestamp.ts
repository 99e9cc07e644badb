import { clock } from "./clock.js";

/**
 * A point in time on both clocks. The wall clock continues while the machine sleeps, the monotonic one can't be set back: whatever
 * has an end is over as soon as either clock says so.
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

/** Milliseconds from `at` to `until`, by whichever clock has less; 0 or below once it has passed. */
export function leftMs(until: Timestamp, at: Timestamp): number {
  return Math.min(until.wallMs - at.wallMs, until.monotonicMs - at.monotonicMs);
}

/** Clocks are corrected by less than this all the time. */
const correctionMs = 1000;

/**
 * As `leftMs`, for what must not happen too late: nothing is left where the wall clock was set back meanwhile, since that is the only
 * clock on which it shows that a machine was suspended.
 */
export function surelyLeftMs(until: Timestamp, at: Timestamp): number {
  const setBackMs = until.wallMs - at.wallMs - (until.monotonicMs - at.monotonicMs);
  return setBackMs > correctionMs ? 0 : leftMs(until, at);
}

/**
 * One moment on both clocks. The wall clock goes on while the machine sleeps, the monotonic one can't be set back: what has an end
 * is over as soon as either says so.
 */
export interface Timestamp {
  readonly wallMs: number;
  readonly monotonicMs: number;
}

export function now(): Timestamp {
  return { wallMs: Date.now(), monotonicMs: performance.now() };
}

export function later(moment: Timestamp, ms: number): Timestamp {
  return { wallMs: moment.wallMs + ms, monotonicMs: moment.monotonicMs + ms };
}

/** Milliseconds from `at` until `until`, by whichever clock has less; not above 0 once it has passed. */
export function leftMs(until: Timestamp, at: Timestamp): number {
  return Math.min(until.wallMs - at.wallMs, until.monotonicMs - at.monotonicMs);
}

/**
 * One moment on both clocks. The wall clock goes on while the machine sleeps, the monotonic one can't be set back: what has an end
 * is over as soon as either says so.
 */
export interface Moment {
  readonly wallMs: number;
  readonly monotonicMs: number;
}

export function now(): Moment {
  return { wallMs: Date.now(), monotonicMs: performance.now() };
}

export function later(moment: Moment, ms: number): Moment {
  return { wallMs: moment.wallMs + ms, monotonicMs: moment.monotonicMs + ms };
}

/** Milliseconds from `at` until `until`, by whichever clock has less; not above 0 once it has passed. */
export function leftMs(until: Moment, at: Moment): number {
  return Math.min(until.wallMs - at.wallMs, until.monotonicMs - at.monotonicMs);
}

/** What timers return, and what stops them. */
export type Timer = unknown;

/** Where all code of calls and flows gets its time from. */
export interface Clock {
  /** Milliseconds since 1970. */
  wallMs(): number;
  /** Milliseconds since some point in the past; it never goes back. */
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
  unrefTimer(timer) {
    // Not every platform's timers can be told to let the process end.
    if (typeof timer === "object" && timer !== null) (timer as NodeJS.Timeout).unref?.();
  },
};

let current = systemClock;

/** The clock of this process, or of the process that is being simulated. */
export const clock: Clock = {
  wallMs: () => current.wallMs(),
  monotonicMs: () => current.monotonicMs(),
  setTimer: (work, ms) => current.setTimer(work, ms),
  clearTimer: (timer) => current.clearTimer(timer),
  unrefTimer: (timer) => current.unrefTimer(timer),
};

/** Replaces the clock, for simulations; `undefined` brings the system's clock back. */
export function setClock(replacement: Clock | undefined): void {
  current = replacement ?? systemClock;
}

/** Waits. */
export function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => {
    clock.setTimer(resolve, ms);
  });
}

import type { Deadline } from "../timing/deadline.js";
import type { GrantFailure } from "./grant-failure.js";

/** A time in which the token endpoint is left alone. There is no timer while nobody waits for its end. */
export interface Hold {
  readonly untilMonotonicMs: number;
  /** For messages only: the wall clock can be set. */
  readonly untilWallMs: number;
  /** Waiting does not help: the login was refused, say. */
  readonly final: boolean;
  readonly failure: GrantFailure;
}

export function toHold(failure: GrantFailure, ms: number, final: boolean): Hold {
  return { untilMonotonicMs: performance.now() + ms, untilWallMs: Date.now() + ms, final, failure };
}

export function isOver(hold: Hold): boolean {
  return heldMs(hold) <= 0;
}

/**
 * Whether a call may wait until its end. What the endpoint asked for by `Retry-After` is not waited for where the call would
 * end before; an endpoint that is away is waited for in any case. A token store that is away costs time, but no call.
 */
export function mayWait(hold: Hold, deadline: Deadline, maxRetries: number): boolean {
  if (hold.failure.class === "unshared") return true;
  if (hold.final || maxRetries === 0) return false;
  return hold.failure.retryAfterMs === undefined || heldMs(hold) < deadline.remainingMs();
}

export async function waitUntilOver(hold: Hold, deadline: Deadline): Promise<void> {
  // Timers can fire a little early.
  for (let ms = heldMs(hold); ms > 0; ms = heldMs(hold)) await deadline.sleep(Math.ceil(ms));
}

function heldMs(hold: Hold): number {
  return hold.untilMonotonicMs - performance.now();
}

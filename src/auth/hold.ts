import { clock } from "../timing/clock.js";
import type { Deadline } from "../timing/deadline.js";
import type { GrantFailure } from "./grant-failure.js";
import { backOffMs } from "./token-timing.js";

/** A time in which the token endpoint is left alone. There is no timer while nobody waits for its end. */
export interface Hold {
  readonly untilMonotonicMs: number;
  /** Used in messages only, since the wall clock can be set. */
  readonly untilWallMs: number;
  /** Waiting does not help: the login was refused, say. */
  readonly final: boolean;
  readonly failure: GrantFailure;
}

export function toHold(failure: GrantFailure, ms: number, final: boolean): Hold {
  return { untilMonotonicMs: clock.monotonicMs() + ms, untilWallMs: clock.wallMs() + ms, final, failure };
}

/** Whether the token endpoint is left alone now, and how often in a row it brought no token. */
export class EndpointHold {
  readonly #random: () => number;
  #hold: Hold | undefined;
  #failures = 0;

  constructor(random: () => number) {
    this.#random = random;
  }

  /** The hold that is not over. */
  get current(): Hold | undefined {
    return this.#hold === undefined || heldMs(this.#hold) <= 0 ? undefined : this.#hold;
  }

  replace(hold: Hold | undefined): void {
    this.#hold = hold;
  }

  /** Ends this hold, unless another one has taken its place. */
  lift(hold: Hold): void {
    if (this.#hold === hold) this.#hold = undefined;
  }

  is(hold: Hold): boolean {
    return this.#hold === hold;
  }

  /** To be called when a token came. */
  clear(): void {
    this.#hold = undefined;
    this.#failures = 0;
  }

  /**
   * The hold after one more failure. The first that waiting can't mend costs only the calls that wait; those after it are followed by a
   * backoff too.
   *
   * @param hasToken whether the old token lives.
   */
  afterFailure(failure: GrantFailure, isPassing: boolean, hasToken: boolean): Hold | undefined {
    const failures = this.#failures;
    this.#failures += 1;
    if (!isPassing && !hasToken && failures === 0) return undefined;
    return toHold(failure, backOffMs(failure, failures, this.#random), !isPassing);
  }
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

/** How long it lasts from now on. */
export function heldMs(hold: Hold): number {
  return hold.untilMonotonicMs - clock.monotonicMs();
}

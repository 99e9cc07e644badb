import { clock, later, leftMs, now, type Timestamp } from "../core/clock.js";
import type { Deadline } from "../core/deadline.js";
import type { GrantFailure, GrantReaction } from "./grant-failure.js";

/** A time in which the token endpoint is left alone. There is no timer while nobody waits for its end. */
export interface Hold {
  readonly untilMonotonicMs: number;
  /** Used in messages only, since the wall clock can be set. */
  readonly untilWallMs: number;
  /** Calls don't wait for its end. */
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
  /** Refused logins in a row, and when the last one was. */
  #refusals = 0;
  #lastRefusal: Timestamp | undefined;

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
    this.#refusals = 0;
  }

  /** @param hasToken whether the old token lives. */
  after(failure: GrantFailure, reaction: GrantReaction, hasToken: boolean): Hold | undefined {
    if (reaction === "stop") return this.#afterRefusal(failure);
    if (reaction === "pause") return toHold(failure, longestPauseMs, true);
    const failures = this.#failures;
    this.#failures += 1;
    if (reaction !== "fail") return toHold(failure, backOffMs(failure, failures, this.#random), false);
    // The first costs only the calls that wait; those after it are followed by a backoff too.
    return failures === 0 && !hasToken ? undefined : toHold(failure, backOffMs(failure, failures, this.#random), true);
  }

  /** Without anything to log in with there is nothing to hold. */
  #afterRefusal(failure: GrantFailure): Hold | undefined {
    if (failure.class !== "refused") return undefined;
    this.#refusals += 1;
    this.#lastRefusal = now();
    return toHold(failure, refusedHoldMs(this.#refusals), true);
  }

  /** Whether a login with other credentials may be tried at once. A function that never returns the same twice must not lock the account. */
  get mayTryOthers(): boolean {
    if (this.#refusals <= 3 || this.#lastRefusal === undefined) return true;
    return leftMs(later(this.#lastRefusal, refusedHoldMs(1)), now()) <= 0;
  }
}

/**
 * Whether a call may wait until its end. What a throttling endpoint asked for is not waited for if the call would end before;
 * an endpoint that is away is waited for in any case. A token store that is away costs time, but no call.
 */
export function mayWait(hold: Hold, deadline: Deadline, maxRetries: number): boolean {
  if (hold.failure.class === "unshared") return true;
  if (hold.final || maxRetries === 0) return false;
  return hold.failure.class !== "throttled" || heldMs(hold) < deadline.remainingMs();
}

export async function waitUntilOver(hold: Hold, deadline: Deadline): Promise<void> {
  // Timers can fire a little early.
  for (let ms = heldMs(hold); ms > 0; ms = heldMs(hold)) await deadline.sleep(Math.ceil(ms));
}

/** How long it lasts from now on. */
export function heldMs(hold: Hold): number {
  return hold.untilMonotonicMs - clock.monotonicMs();
}

/** A login that was refused to one process. The others don't try it at once, since identity servers lock accounts. */
export interface NotedRefusal {
  /** Tells its credentials from others. */
  readonly mark: string;
  readonly status: number;
  /** By the wall clock, the only one that machines share. */
  readonly untilMs: number;
}

export function noteRefusal(mark: string, status = 0): NotedRefusal {
  return { mark, status, untilMs: now().wallMs + refusedHoldMs(1) };
}

/** Whether it is too early to try these credentials. A note of a clock that is ahead holds nobody. */
export function holdsBack(refusal: NotedRefusal, mark: string): boolean {
  const leftMs = refusal.untilMs - now().wallMs;
  return refusal.mark === mark && leftMs > 0 && leftMs <= refusedHoldMs(1);
}

export function isNotedRefusal(value: unknown): value is NotedRefusal {
  const { mark, status, untilMs } = Object(value) as Partial<Record<keyof NotedRefusal, unknown>>;
  return typeof mark === "string" && Number.isInteger(status) && Number.isFinite(untilMs);
}

/** What the service said of access tokens: which it accepted last, which it refused last, and how often in a row. */
export class RefusedTokens {
  #accepted: string | undefined;
  #refused: string | undefined;
  /** How many renewals in a row a 401 caused. */
  #renewals = 0;
  #lastRenewal: Timestamp | undefined;

  get last(): string | undefined {
    return this.#refused;
  }

  accept(token: string): void {
    this.#accepted = token;
  }

  refuse(token: string): void {
    this.#refused = token;
  }

  /**
   * Counts a renewal because of a 401, unless tokens are refused again and again.
   *
   * @returns for how many milliseconds this token must not be replaced; 0 if it may be.
   */
  beginRenewal(token: string): number {
    const wasAccepted = this.#accepted === token;
    if (this.#lastRenewal !== undefined) {
      const ageMs = -leftMs(this.#lastRenewal, now());
      const quietMs = firstRejectedHoldMs + rejectedHoldMs(this.#renewals, true);
      if (wasAccepted && ageMs > quietMs) this.#renewals = 0;
      const leftOfHoldMs = rejectedHoldMs(this.#renewals, wasAccepted) - ageMs;
      if (leftOfHoldMs > 0) return leftOfHoldMs;
    }
    this.#renewals += 1;
    this.#lastRenewal = now();
    return 0;
  }
}

const leastPauseMs = 100;
/** The client is back within this time of an endpoint that was away or blocked the request. */
const longestPauseMs = 3000;
const longestThrottledMs = 20_000;
/** The longest hold that the `Retry-After` of a 429 can cause. */
const longestAskedMs = 300_000;

/**
 * How long the token endpoint is left alone after it throttled or failed: as long as `Retry-After` says, up to 300 s if it
 * throttles, and 3 s if it is away. Without `Retry-After` it is a backoff with jitter, from 0.1 s to at most 20 s or 3 s.
 *
 * @param failures how many requests in a row had failed before.
 */
export function backOffMs(
  { class: kind, retryAfterMs = 0 }: Pick<GrantFailure, "class" | "retryAfterMs">,
  failures: number,
  random: () => number,
): number {
  const isThrottled = kind === "throttled";
  if (retryAfterMs > 0) return Math.min(isThrottled ? longestAskedMs : longestPauseMs, retryAfterMs);
  const capMs = (isThrottled ? longestThrottledMs : longestPauseMs) - leastPauseMs;
  return leastPauseMs + Math.round(Math.min(capMs, leastPauseMs * 2 ** failures) * random());
}

/** How long there is no login after `refusals` refused ones in a row, since identity servers lock accounts: 1 min, then 2, 4, … 60. */
export function refusedHoldMs(refusals: number): number {
  return Math.min(3_600_000, 60_000 * 2 ** (refusals - 1));
}

/**
 * How long no token is renewed because of a 401 after `renewals` of them in a row. A token that the service has never accepted
 * suggests a wrong audience or clocks that differ: 10 s, then 20, 40, … 300. Tokens that were accepted before may have been
 * revoked: five of them in a row are replaced at once.
 */
export function rejectedHoldMs(renewals: number, wasAccepted: boolean): number {
  const suspicious = wasAccepted ? renewals - 5 : renewals;
  return suspicious < 1 ? 0 : Math.min(300_000, firstRejectedHoldMs * 2 ** (suspicious - 1));
}

const firstRejectedHoldMs = 10_000;

import type { TokenHold } from "../api/api-client.js";
import { clock, later, leftMs, now, type Timestamp } from "../core/clock.js";
import { Deadline, Ended } from "../core/deadline.js";
import { loadOpenIdClient } from "../core/libraries.js";
import { nextDelayMs } from "../core/retry.js";
import type { TokenEvent } from "../events/events.js";
import type { Tracing } from "../events/reporter.js";
import type { GrantKind } from "../http/decision.js";
import type { TokenSource } from "../http/token-source.js";
import type { Transport } from "../wire/transport.js";
import {
  type KnownTokens,
  leftOfToken,
  Session,
  type SessionOptions,
  type SessionResult,
  type Token,
  toToken,
} from "./session.js";
import { SingleFlight } from "./single-flight.js";
import { type Granted, TokenEndpoint } from "./token-endpoint.js";
import {
  decisionOn,
  type GrantFailure,
  isRefusal,
  isThrottled,
  longestAskedMs,
  mayBeSpent,
  refusedHoldMs,
  toTokenError,
} from "./token-error.js";

export interface TokenManagerOptions extends Omit<SessionOptions, "endpoint" | "random" | "signal"> {
  readonly transport: Transport;
  readonly random?: () => number;
  readonly onToken?: (event: TokenEvent) => void;
  readonly tracing?: Tracing | undefined;
}

/** A time in which no token is requested. There is no timer unless a call waits for its end. */
interface Hold {
  readonly failure: GrantFailure;
  readonly until: Timestamp;
  /** Whether calls wait for its end. */
  readonly passes: boolean;
}

/** The result for the calls that wait for a renewal. */
type Renewal = { readonly token: string } | { readonly failure: GrantFailure; readonly hold: Hold | undefined };

/**
 * Keeps one access token for all calls of a client (description: "Authentication", 6).
 *
 * - A token is requested if there is none, if it has expired (less a leeway), or after a 401 of the token that a call used.
 * - One request is in flight at most. It belongs to no call. A call that gives up leaves it running, and all calls share its result.
 * - In its leeway, a token is used while it's renewed. In its last second, calls wait for the next one.
 * - A renewal uses the session in the store if there is a store, and the client's own session otherwise. If the store is away, processes
 *   with a password continue alone after a random part of 30 s.
 * - If the failure passes (`decisions`), calls wait until their deadline while the request is repeated, after 0.1 s to 3 s, or after
 *   `Retry-After` of a 429. A refused login is repeated after 1 min, then 2, 4, … 60, or at once with other credentials. After any
 *   other failure calls fail at once, and the next request may follow after 3 s.
 * - A failed renewal costs no call anything while the old token lives. If the failed refresh may have used its refresh token up, the
 *   old access token serves until it expires.
 * - If the service refuses the new token too, renewals are held for 10 s, then 20, 40, … 300.
 * - While no call waits, there is no request and no timer.
 */
export class TokenManager implements TokenSource {
  readonly #options: TokenManagerOptions;
  readonly #random: () => number;
  readonly #endpoint: TokenEndpoint;
  readonly #own: Session;
  readonly #shared: Session | undefined;
  readonly #closing = new AbortController();
  readonly #renewal: SingleFlight<Renewal>;
  #token: Token | undefined;
  /** From when on this client logs in without the store, which is away. */
  #aloneFrom: Timestamp | undefined;
  #hold: Hold | undefined;
  /** Requests in a row that brought no token. */
  #failures = 0;
  /** Refused logins in a row. */
  #refusals = 0;
  /** The tokens that the service accepted last and rejected last. */
  #accepted: string | undefined;
  #rejected: string | undefined;
  /** Renewals in a row because of a 401, when the last one was, and until when there is no other one. */
  #rejections = 0;
  #lastRejection: Timestamp = { wallMs: Number.NEGATIVE_INFINITY, monotonicMs: Number.NEGATIVE_INFINITY };
  #rejectedUntil: Timestamp | undefined;

  constructor(options: TokenManagerOptions) {
    const { auth, transport, leewayMs, random = Math.random, store, tracing } = options;
    const { signal } = this.#closing;
    const endpoint = new TokenEndpoint({ auth, transport, signal, tracing });
    const session = { auth, endpoint, leewayMs, random, signal };
    this.#options = options;
    this.#random = random;
    this.#endpoint = endpoint;
    this.#own = new Session(session);
    this.#shared = store && new Session({ ...session, store });
    // Reading secrets, a refresh, and a login. With a store, also the wait for another process, and reads and writes.
    this.#renewal = new SingleFlight((store === undefined ? 3 : 7) * endpoint.timeoutMs);
  }

  preload(): void {
    // The class of responses that it uses takes Node 15 ms to load.
    loadOpenIdClient().then(
      () => globalThis.Response,
      () => {},
    );
  }

  /** Begins with the tokens of a login that has just been made. They go into the store, if there is one. */
  async begin(granted: Granted): Promise<void> {
    this.#use(toToken(granted, this.#options.leewayMs));
    await (this.#shared ?? this.#own).begin(granted);
  }

  current(deadline: Deadline, maxRetries: number): string | Promise<string> {
    return this.#usableToken() ?? this.#waitForToken(deadline, maxRetries);
  }

  /** The token that needs no waiting. */
  #usableToken(): string | undefined {
    const left = leftOfToken(this.#token);
    if (this.#token === undefined || left <= 0) return undefined;
    if (left > this.#token.leewayMs || this.#currentHold !== undefined) return this.#token.value;
    if (left <= lastPartMs) return undefined;
    void this.#renewOnce();
    return this.#token.value;
  }

  async #waitForToken(deadline: Deadline, maxRetries: number): Promise<string> {
    // A call that has ended already requests nothing.
    deadline.assertNotEnded();
    let failed: Error | undefined;
    try {
      for (;;) {
        const token = this.#usableToken();
        if (token !== undefined) return token;
        const renewal = await deadline.race(this.#renewOnce());
        if ("token" in renewal) return renewal.token;
        const { failure, hold } = renewal;
        failed = toTokenError(failure, this.#endpoint.url, hold?.until.wallMs);
        if (hold === undefined || !mayWait(hold, deadline, maxRetries)) throw failed;
        // Timers can fire a little early: then this is a turn more.
        await deadline.sleep(Math.max(1, Math.ceil(heldMs(hold))));
      }
    } catch (error) {
      // The call's time is up, but this tells why.
      throw failed !== undefined && error instanceof Ended && error.kind === "timeout" ? failed : error;
    }
  }

  /** Never rejects: it may fail when no call waits for it any more. */
  #renewOnce(): Promise<Renewal> {
    return this.#renewal.join(() => this.#renew());
  }

  async #renew(): Promise<Renewal> {
    const hold = this.#currentHold;
    if (hold !== undefined) {
      const renewal = await this.#renewHeld(hold);
      if (renewal !== undefined) return renewal;
    }
    const shared = await this.#shared?.renew(this.#knownTokens);
    if (shared !== undefined) {
      const isAway = "failure" in shared && shared.failure.class === "unshared";
      if (!isAway) this.#aloneFrom = undefined;
      if (!isAway || !this.#endpoint.canLogIn) return this.#settle(shared);
      // Processes that lose their store at the same time don't all log in at the same time.
      this.#aloneFrom ??= later(now(), this.#random() * spreadMs);
      const waitMs = leftMs(this.#aloneFrom, now());
      if (waitMs > 0) return this.#holdFor(shared.failure, Math.min(waitMs, longestPauseMs), true);
    }
    return this.#settle(await this.#own.renew(this.#knownTokens));
  }

  /** During a hold, another process may have requested a token, or there may be other credentials than the refused ones. */
  async #renewHeld(hold: Hold): Promise<Renewal | undefined> {
    const token = await this.#shared?.find(this.#knownTokens);
    if (token !== undefined) return this.#use(token);
    // A function that returns another password each time must not lock the account.
    const mayTryOthers = isRefusal(hold.failure) && this.#refusals <= 3;
    if (mayTryOthers && (await this.#endpoint.hasOtherCredentials())) return undefined;
    return this.#oldToken ?? { failure: hold.failure, hold };
  }

  #settle(result: SessionResult): Renewal {
    if ("failure" in result) return this.#fail(result.failure, result.kind);
    const { token, event, isShared = false } = result;
    if (event !== undefined) this.#options.onToken?.({ ...event, ...(this.#shared && { shared: isShared }) });
    return this.#use(token);
  }

  #use(token: Token): Renewal {
    this.#token = token;
    this.#hold = undefined;
    this.#failures = 0;
    this.#refusals = 0;
    return { token: token.value };
  }

  #fail(failure: GrantFailure, kind: GrantKind): Renewal {
    if (failure.class === "session-ended") return this.#oldToken ?? { failure, hold: undefined };
    if (isRefusal(failure)) {
      const ms = Math.min(3_600_000, refusedHoldMs * 2 ** this.#refusals);
      this.#refusals += 1;
      return this.#holdFor(failure, ms, false);
    }
    if (kind === "refresh" && mayBeSpent(failure) && this.#token !== undefined) {
      this.#token = { ...this.#token, leewayMs: 0 };
    }
    if (decisionOn(failure, kind).reaction !== "retry") return this.#holdFor(failure, longestPauseMs, false);
    const ms = backOffMs(failure, this.#failures, this.#random);
    this.#failures += 1;
    return this.#holdFor(failure, ms, true);
  }

  #holdFor(failure: GrantFailure, ms: number, passes: boolean): Renewal {
    this.#hold = { failure, until: later(now(), ms), passes };
    return this.#oldToken ?? { failure, hold: this.#hold };
  }

  get #oldToken(): { readonly token: string } | undefined {
    return this.#token !== undefined && leftOfToken(this.#token) > 0 ? { token: this.#token.value } : undefined;
  }

  /** The hold that isn't over. */
  get #currentHold(): Hold | undefined {
    return this.#hold !== undefined && heldMs(this.#hold) > 0 ? this.#hold : undefined;
  }

  /** The tokens that a renewal must replace. */
  get #knownTokens(): KnownTokens {
    return [this.#token?.value, this.#rejected];
  }

  // After a 401

  async renew(used: string, deadline: Deadline, maxRetries: number): Promise<string> {
    this.refused(used);
    const token = this.#token?.value === used ? used : await this.current(deadline, maxRetries);
    if (token !== used) return token;
    throw toTokenError({ class: "token-rejected", status: 401 }, this.#endpoint.url, this.#rejectedUntil?.wallMs);
  }

  /** The token stays the current one while tokens that are refused are not replaced. */
  refused(used: string): void {
    if (this.#token?.value !== used) return;
    if (this.#renewal.current === undefined) {
      const ageMs = -leftMs(this.#lastRejection, now());
      const holdMs = rejectedHoldMs(this.#rejections, this.#accepted === used);
      this.#rejectedUntil = ageMs < holdMs ? later(now(), holdMs - ageMs) : undefined;
      if (ageMs < holdMs) return;
      this.#rejections = ageMs > holdMs + firstRejectedHoldMs ? 1 : this.#rejections + 1;
      this.#lastRejection = now();
    }
    this.#token = undefined;
    this.#rejected = used;
  }

  accepted(token: string): void {
    // A late response to an earlier token says nothing about the current one.
    if (this.#token?.value !== token) return;
    this.#rejectedUntil = undefined;
    this.#accepted = token;
  }

  hold(): TokenHold | undefined {
    const hold = this.#currentHold;
    if (hold !== undefined) {
      const { class: kind } = hold.failure;
      const reason = kind === "unauthorized" ? "refused" : kind === "server-error" ? "failing" : kind;
      return { reason, needsLogin: !hold.passes, endsInMs: Math.ceil(heldMs(hold)) };
    }
    const endsInMs = this.#rejectedUntil === undefined ? 0 : Math.ceil(leftMs(this.#rejectedUntil, now()));
    return endsInMs > 0 ? { reason: "token-rejected", needsLogin: false, endsInMs } : undefined;
  }

  // The end

  /**
   * Ends the session at the identity provider, also if it's in a store. There are no tokens afterwards. It can be called again.
   *
   * @returns why it's unknown whether that worked, or undefined.
   */
  async endSession(): Promise<GrantFailure | undefined> {
    const { timeoutMs } = this.#endpoint;
    await this.#settleRenewal(timeoutMs);
    return this.#logOut(this.#shared ?? this.#own, timeoutMs);
  }

  async close(): Promise<void> {
    const { auth } = this.#options;
    const endsSession = "password" in auth && auth.endSessionOnClose === true;
    const untilMs = clock.monotonicMs() + closeTimeoutMs;
    // A token that was requested for other processes is stored. A login in flight is about to start a session.
    if (this.#shared !== undefined || endsSession) await this.#settleRenewal(closeTimeoutMs);
    // Best effort, since the identity provider ends the session itself later. Other processes use a shared one.
    if (endsSession) await this.#logOut(this.#own, untilMs - clock.monotonicMs());
    this.#closing.abort();
  }

  async #logOut(session: Session, timeoutMs: number): Promise<GrantFailure | undefined> {
    const last = await session.end();
    this.#closing.abort();
    if (last === undefined) return undefined;
    const deadline = new Deadline({ timeoutMs });
    const failure = await this.#endpoint.logout(last.refreshToken, deadline);
    deadline.finish();
    return failure ?? (last.isNewest ? undefined : { class: "unconfirmed" });
  }

  async #settleRenewal(timeoutMs: number): Promise<void> {
    const deadline = new Deadline({ timeoutMs });
    await deadline.race(Promise.resolve(this.#renewal.current)).catch(() => {});
    deadline.finish();
  }
}

const closeTimeoutMs = 2000;

/** In the last second of a token, calls wait for the next one, since this one could expire before it arrives. */
const lastPartMs = 1000;

/** Processes that have lost their store log in at a random time within this period. */
const spreadMs = 30_000;

/**
 * Whether a call may wait until the end of a hold. It fails at once if a throttling endpoint asked for longer than the call has. It waits
 * anyway for an endpoint that is away. A token store that is away costs time, but no call.
 */
function mayWait(hold: Hold, deadline: Deadline, maxRetries: number): boolean {
  if (hold.failure.class === "unshared") return true;
  if (!hold.passes || maxRetries === 0) return false;
  return !isThrottled(hold.failure) || heldMs(hold) < deadline.remainingMs();
}

/** The client is back within this time of an endpoint that was away or blocked the request. */
const longestPauseMs = 3000;

/**
 * How long no token is requested after a failure that passes: as long as `Retry-After` says, up to 300 s if the endpoint throttles, and
 * 3 s otherwise. Without `Retry-After` it's a backoff with jitter, from 0.1 s to at most 20 s or 3 s.
 *
 * @param failures how many requests in a row had failed before.
 */
function backOffMs(failure: GrantFailure, failures: number, random: () => number): number {
  const [askedMs, capMs] = isThrottled(failure) ? [longestAskedMs, 20_000] : [longestPauseMs, longestPauseMs];
  const { retryAfterMs = 0 } = failure;
  return retryAfterMs > 0 ? Math.min(askedMs, retryAfterMs) : nextDelayMs(failures, random, { baseMs: 200, capMs });
}

const firstRejectedHoldMs = 10_000;

/**
 * How long no token is renewed because of a 401 after `renewals` of them in a row. A token that the service has never accepted suggests a
 * wrong audience or clocks that differ: 10 s, then 20, 40, … 300. Tokens that were accepted before may have been revoked: five of them
 * in a row are replaced at once.
 */
function rejectedHoldMs(renewals: number, wasAccepted: boolean): number {
  const suspicious = wasAccepted ? renewals - 5 : renewals;
  return suspicious < 1 ? 0 : Math.min(300_000, firstRejectedHoldMs * 2 ** (suspicious - 1));
}

/** By the monotonic clock alone, since the wall clock can be set. */
function heldMs({ until }: Hold): number {
  return until.monotonicMs - clock.monotonicMs();
}

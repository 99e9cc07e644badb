import { ConfigError, TokenError } from "../errors/errors.js";
import { Deadline, Ended } from "../timing/deadline.js";
import { later, leftMs, now, type Timestamp } from "../timing/timestamp.js";
import type { Tracing } from "../tracing/tracing.js";
import type { Transport } from "../wire/transport.js";
import type { PasswordAuth, SessionAuth } from "./auth-options.js";
import {
  type Grant,
  type GrantFailure,
  type GrantReaction,
  grantReactions,
  isDeadGrant,
  mayBeSpent,
  toRejectedError,
  toTokenError,
} from "./grant-failure.js";
import { type Hold, isOver, mayWait, toHold, waitUntilOver } from "./hold.js";
import { JointWork } from "./joint-work.js";
import { type LastToken, type SharedResult, SharedSession, type TokenNeed } from "./shared-session.js";
import { type Granted, type GrantResult, TokenEndpoint } from "./token-endpoint.js";
import type { TokenEvent } from "./token-event.js";
import type { TokenSource } from "./token-source.js";
import type { TokenStore } from "./token-store.js";
import {
  backOffMs,
  firstRejectedHoldMs,
  lastPartMs,
  leftOfToken,
  refusedHoldMs,
  rejectedHoldMs,
  type Token,
  toToken,
  wantedOfToken,
} from "./token-timing.js";

export interface TokenManagerOptions {
  readonly auth: PasswordAuth | SessionAuth;
  readonly transport: Transport;
  /** How long before its expiry a token is renewed. Default: 5 s, or a tenth of its lifetime if that is less. */
  readonly leewayMs?: number | undefined;
  /** For one token request, whatever the deadlines of the calls that wait for it. Default: 10 s. */
  readonly timeoutMs?: number;
  readonly random?: () => number;
  /** Where the session is shared with other processes. Default: it is this client's alone. */
  readonly store?: TokenStore | undefined;
  readonly onToken?: (event: TokenEvent) => void;
  readonly tracing?: Tracing | undefined;
}

/**
 * Keeps one access token for all calls of a client, and renews it only when it expires or the service refuses it
 * (description: "Authentication", 6).
 *
 * At most one token request is in flight. It belongs to no call: a call that gives up leaves it running, and the calls that
 * wait for it share its result. While the endpoint is away it is the waiting calls that cause the next request: while nobody
 * waits there is no request and no timer.
 */
export class TokenManager implements TokenSource {
  readonly #endpoint: TokenEndpoint;
  readonly #leewayMs: number | undefined;
  readonly #random: () => number;
  readonly #onToken: ((event: TokenEvent) => void) | undefined;
  readonly #endsSession: boolean;
  readonly #shared: SharedSession | undefined;
  readonly #closing = new AbortController();
  #token: Token | undefined;
  /** The token that the service accepted last. */
  #accepted: string | undefined;
  /** The token that the service refused last. */
  #rejected: string | undefined;
  /** This client's own. With a store there is one only where the client logged in without it. */
  #session: Session | undefined;
  /** Why the last session ended. */
  #ended: GrantFailure = { class: "session-ended" };
  #hold: Hold | undefined;
  /** Renewals in a row that brought no token. */
  #failures = 0;
  /** Logins in a row that were refused. */
  #refusals = 0;
  #lastRefusal: Timestamp | undefined;
  /** Renewals in a row because of a 401. */
  #rejections = 0;
  #lastRejection: Timestamp | undefined;
  readonly #renewal: JointWork<TokenResult>;
  readonly #otherCredentials: JointWork<boolean>;
  /** From when on this client logs in without the store, which is away. */
  #aloneFrom: Timestamp | undefined;
  readonly #look: JointWork<Token | undefined>;

  /** @throws {ConfigError} when the address or the leeway can't be used. */
  constructor(options: TokenManagerOptions) {
    const { auth, transport, leewayMs, timeoutMs = 10_000, random = Math.random, store, onToken, tracing } = options;
    if (leewayMs !== undefined && !(leewayMs >= 0)) {
      throw new ConfigError("the leeway of tokens must be a number of milliseconds, 0 or more");
    }
    this.#endpoint = new TokenEndpoint({ auth, transport, timeoutMs, signal: this.#closing.signal, tracing });
    const { signal } = this.#closing;
    const endpoint = this.#endpoint;
    this.#shared =
      store === undefined
        ? undefined
        : new SharedSession({ store, auth, endpoint, timeoutMs, leewayMs, random, signal });
    // A refresh and a login; with a store, also the waiting for another process, and what is read and written.
    this.#renewal = new JointWork((store === undefined ? 2 : 6) * timeoutMs);
    this.#otherCredentials = new JointWork(timeoutMs);
    this.#look = new JointWork(timeoutMs);
    const isGiven = "refreshToken" in auth && store === undefined;
    this.#session = isGiven ? { refreshToken: auth.refreshToken } : undefined;
    this.#endsSession = "password" in auth && auth.endSessionOnClose === true;
    this.#leewayMs = leewayMs;
    this.#random = random;
    this.#onToken = onToken;
  }

  preload(): void {
    this.#endpoint.preload();
  }

  /** Begins with the tokens of a login that has just been made. They go into the store, where there is one. */
  async begin(granted: Granted): Promise<void> {
    const { accessToken, lifetimeMs, sentAt } = granted;
    if (this.#shared === undefined) this.#session = toSession(granted);
    this.#adopt(toToken(accessToken, sentAt, lifetimeMs, this.#leewayMs));
    await this.#shared?.begin(granted);
  }

  current(deadline: Deadline, maxRetries: number): string | Promise<string> {
    return this.#usableToken() ?? this.#obtain(deadline, maxRetries);
  }

  async ensure(validForMs: number, deadline: Deadline, maxRetries: number): Promise<void> {
    deadline.assertNotEnded();
    // What a failure of it means for the old token is known afterwards, from what is left of that.
    if (this.#isTooShort(validForMs)) await deadline.race(this.#joinRenewal(validForMs));
    await this.current(deadline, maxRetries);
  }

  async renew(used: string, deadline: Deadline, maxRetries: number): Promise<string> {
    this.#drop(used);
    const token = await this.current(deadline, maxRetries);
    if (token !== used) return token;
    throw new TokenError("the service refused the access token, and the token endpoint issued the same one again", {
      code: "token_rejected",
    });
  }

  refused(used: string): void {
    try {
      this.#drop(used);
    } catch {
      // Held: it stays the current one, and the calls that it fails say why.
    }
  }

  accepted(token: string): void {
    // A late response to an earlier token says nothing of the current one.
    if (this.#token?.value === token) this.#accepted = token;
  }

  /**
   * Ends the session at the identity server, that of a store too. No token comes from here afterwards. It can be tried again.
   *
   * @returns why that can't be known to have worked, or nothing.
   */
  async endSession(): Promise<GrantFailure | undefined> {
    await this.#awaitRenewal(endTimeoutMs);
    const last = this.#shared === undefined ? this.#lastToken() : await this.#shared.end();
    this.#closing.abort();
    if (last === undefined) return undefined;
    const deadline = new Deadline({ timeoutMs: endTimeoutMs });
    try {
      const failure = await this.#endpoint.logout(last.refreshToken, deadline);
      return failure ?? (last.isNewest ? undefined : { class: "unconfirmed" });
    } finally {
      deadline.finish();
    }
  }

  async close(): Promise<void> {
    // What it has requested for other processes is stored; otherwise each of them would find a session that is of no use.
    if (this.#shared?.isRequesting) await this.#awaitRenewal(logoutTimeoutMs);
    if (this.#endsSession) await this.#logout();
    this.#closing.abort();
  }

  /** @throws {TokenError} while tokens that are refused are not replaced. */
  #drop(used: string): void {
    if (this.#token?.value !== used) return;
    if (this.#renewal.current === undefined) this.#noteRejection(used);
    this.#token = undefined;
    this.#rejected = used;
  }

  /** The token that needs no waiting. One that will expire soon is still used, while a renewal of it is under way. */
  #usableToken(): string | undefined {
    const token = this.#token;
    if (token === undefined) return undefined;
    const left = leftOfToken(token, now());
    if (left > token.leewayMs) return token.value;
    if (left <= 0) return undefined;
    if (this.#activeHold() !== undefined) return token.value;
    if (left <= lastPartMs) return undefined;
    void this.#joinRenewal();
    return token.value;
  }

  /** Whether there is a token, but not for so long, and the endpoint may be asked for another one. */
  #isTooShort(validForMs: number): boolean {
    const token = this.#unexpiredToken();
    if (token === undefined || this.#activeHold() !== undefined) return false;
    return leftOfToken(token, now()) < wantedOfToken(token, validForMs);
  }

  async #obtain(deadline: Deadline, maxRetries: number): Promise<string> {
    // A call that has ended already requests nothing.
    deadline.assertNotEnded();
    let failed: FailedRenewal | undefined;
    try {
      for (;;) {
        const result = (await this.#heldResult(deadline)) ?? (await deadline.race(this.#joinRenewal()));
        if (result.token !== undefined) return result.token;
        failed = result;
        const { hold } = result;
        if (hold === undefined || !mayWait(hold, deadline, maxRetries)) throw this.#toError(failed);
        await waitUntilOver(hold, deadline);
        const token = this.#usableToken();
        if (token !== undefined) return token;
      }
    } catch (error) {
      // The call's time is up, but this tells why.
      if (failed !== undefined && error instanceof Ended && error.kind === "timeout") throw this.#toError(failed);
      throw error;
    }
  }

  /** While the endpoint is left alone: why, unless there are other credentials than those that were refused. */
  async #heldResult(deadline: Deadline): Promise<TokenResult | undefined> {
    const hold = this.#activeHold();
    if (hold === undefined) return undefined;
    const found = this.#shared === undefined ? undefined : await this.#lookWhileHeld(this.#shared, deadline);
    if (found !== undefined) return found;
    const result = { failure: hold.failure, hold };
    if (hold.failure.class !== "refused" || !this.#mayTryOtherCredentials()) return result;
    const others = await deadline.race(this.#otherCredentials.join(() => this.#endpoint.hasOtherCredentials()));
    // Another call may have tried them meanwhile.
    if (others && this.#hold === hold) this.#hold = undefined;
    return this.#hold === hold ? result : undefined;
  }

  /** A function that never returns the same twice must not lock the account. */
  #mayTryOtherCredentials(): boolean {
    if (this.#refusals <= 3 || this.#lastRefusal === undefined) return true;
    return leftMs(later(this.#lastRefusal, refusedHoldMs(1)), now()) <= 0;
  }

  /** Never rejects. */
  #joinRenewal(validForMs = 0): Promise<TokenResult> {
    return this.#renewal.current ?? this.#renewal.start((end) => this.#startRenewal(validForMs, end));
  }

  /** Never rejects: it may fail when no call waits for it any more. */
  async #startRenewal(validForMs: number, end: () => void): Promise<TokenResult> {
    // In the same turn as the decision before it, so that no call joins a renewal that is over.
    const ended = (result: TokenResult): TokenResult => {
      end();
      return result;
    };
    if (this.#shared !== undefined) {
      const result = this.#afterSharing(await this.#shared.renew(this.#need(validForMs)));
      if (result !== undefined) return ended(result);
    }
    const session = this.#session;
    if (session !== undefined && this.#canRefresh(session)) {
      const refreshed = await this.#endpoint.refresh(session.refreshToken, this.#knownTokens());
      const result = this.#afterRefresh(refreshed, session);
      if (result !== undefined) return ended(result);
    }
    if (!this.#endpoint.canLogIn) return ended(this.#leaveAlone(this.#ended, undefined));
    return ended(this.#afterLogin(await this.#endpoint.login(this.#knownTokens())));
  }

  /** The result of a renewal by way of the store; `undefined` where the client has to do without it. */
  #afterSharing(result: SharedResult): TokenResult | undefined {
    if ("unshared" in result) return this.#afterUnshared(result.unshared);
    this.#aloneFrom = undefined;
    if ("token" in result) return this.#adopt(result.token);
    if ("granted" in result) return this.#store(result.granted, result.grant, result.isShared);
    if (result.grant === "password") return this.#afterLogin(result);
    const { failure } = result;
    const reaction = grantReactions[failure.class].refresh_token;
    if (reaction === "stop") return this.#leaveAlone(failure, undefined);
    return this.#afterFailedRefresh(failure, reaction);
  }

  /** Processes that lose their store at the same time do not all log in at the same time. */
  #afterUnshared(reason: string): TokenResult | undefined {
    const failure: GrantFailure = { class: "unshared", reason };
    if (!this.#endpoint.canLogIn) return this.#fail(failure, true);
    this.#aloneFrom ??= later(now(), this.#random() * spreadMs);
    const waitMs = leftMs(this.#aloneFrom, now());
    return waitMs <= 0 ? undefined : this.#leaveAlone(failure, toHold(failure, Math.min(waitMs, longestWaitMs), false));
  }

  /** While this client may request nothing, another process may. */
  async #lookWhileHeld(shared: SharedSession, deadline: Deadline): Promise<TokenResult | undefined> {
    const token = await deadline.race(this.#look.join(() => shared.look(this.#need(0))));
    return token === undefined ? undefined : this.#adopt(token);
  }

  #need(validForMs: number): TokenNeed {
    return { current: this.#token, rejected: this.#rejected, validForMs, knownTokens: this.#knownTokens() };
  }

  #adopt(token: Token): TokenResult {
    this.#token = token;
    this.#hold = undefined;
    this.#failures = 0;
    this.#refusals = 0;
    return { token: token.value };
  }

  #knownTokens(): string[] {
    const known = [this.#token?.value, this.#rejected, this.#session?.refreshToken];
    return known.filter((token) => token !== undefined);
  }

  /** The result of a refresh; `undefined` where a login has to follow. */
  #afterRefresh(result: GrantResult, session: Session): TokenResult | undefined {
    if ("granted" in result) {
      const isNew = result.granted.accessToken !== this.#rejected;
      if (isNew || !this.#endpoint.canLogIn) return this.#store(result.granted, "refresh_token");
      // The server repeats a token that it has kept: only a login can bring another one.
      this.#session = toSession(result.granted) ?? session;
      return undefined;
    }
    const { failure } = result;
    const reaction = grantReactions[failure.class].refresh_token;
    if (reaction === "login") {
      this.#session = { ...session, isOver: true, hasEnded: isDeadGrant(failure) && session.mayBeUsed !== true };
      this.#ended = { ...failure, class: "session-ended" };
      return undefined;
    }
    if (mayBeSpent(failure)) this.#session = { ...session, mayBeUsed: true, isLost: reaction === "old-or-login" };
    return this.#afterFailedRefresh(failure, reaction);
  }

  #afterFailedRefresh(failure: GrantFailure, reaction: GrantReaction): TokenResult {
    if (reaction === "old-or-login" && this.#token !== undefined) this.#token = { ...this.#token, leewayMs: 0 };
    return this.#fail(failure, reaction !== "fail");
  }

  #afterLogin(result: GrantResult): TokenResult {
    if ("granted" in result) return this.#store(result.granted, "password");
    const { failure } = result;
    const reaction = grantReactions[failure.class].password;
    if (reaction !== "stop") return this.#fail(failure, reaction === "back-off");
    this.#refusals += 1;
    this.#lastRefusal = now();
    return this.#leaveAlone(failure, toHold(failure, refusedHoldMs(this.#refusals), true));
  }

  /** @param isShared absent where the session is this client's own. One of the store's is not kept here: others may continue it. */
  #store(granted: Granted, grant: Grant, isShared?: boolean): TokenResult {
    const { accessToken, lifetimeMs, sentAt } = granted;
    const session = toSession(granted);
    // The response to a refresh need not repeat the refresh token; the one to a login starts a new session.
    if (isShared === undefined && (session !== undefined || grant === "password")) this.#session = session;
    else if (isShared === undefined && this.#session !== undefined) this.#session.mayBeUsed = false;
    const result = this.#adopt(toToken(accessToken, sentAt, lifetimeMs, this.#leewayMs));
    const shared = this.#shared === undefined ? undefined : { shared: isShared === true };
    try {
      this.#onToken?.({ grant, ...(lifetimeMs === undefined ? undefined : { expiresInMs: lifetimeMs }), ...shared });
    } catch {
      // A listener's mistake must not cost the token.
    }
    return result;
  }

  /** The first failure that waiting can't mend costs only the calls that wait; those after it are followed by a backoff too. */
  #fail(failure: GrantFailure, isPassing: boolean): TokenResult {
    const isHeld = isPassing || this.#unexpiredToken() !== undefined || this.#failures > 0;
    const hold = isHeld ? toHold(failure, backOffMs(failure, this.#failures, this.#random), !isPassing) : undefined;
    this.#failures += 1;
    return this.#leaveAlone(failure, hold);
  }

  /** While the old token has not expired, a failed renewal costs no call anything. */
  #leaveAlone(failure: GrantFailure, hold: Hold | undefined): TokenResult {
    this.#hold = hold;
    const old = this.#unexpiredToken();
    return old === undefined ? { failure, hold } : { token: old.value };
  }

  /** @throws {TokenError} when tokens are refused again and again: then `used` stays the current one. */
  #noteRejection(used: string): void {
    const wasAccepted = this.#accepted === used;
    const last = this.#lastRejection;
    if (last !== undefined) {
      const ageMs = -leftMs(last, now());
      const quietMs = firstRejectedHoldMs + rejectedHoldMs(this.#rejections, true);
      if (wasAccepted && ageMs > quietMs) this.#rejections = 0;
      const heldMs = rejectedHoldMs(this.#rejections, wasAccepted) - ageMs;
      if (heldMs > 0) throw toRejectedError(this.#endpoint.origin, Date.now() + heldMs);
    }
    this.#rejections += 1;
    this.#lastRejection = now();
  }

  async #awaitRenewal(timeoutMs: number): Promise<void> {
    const deadline = new Deadline({ timeoutMs });
    await deadline.race(Promise.resolve(this.#renewal.current)).catch(() => {});
    deadline.finish();
  }

  /** Best effort: the identity server ends the session itself some day. Never a shared one, which others use. */
  async #logout(): Promise<void> {
    const deadline = new Deadline({ timeoutMs: logoutTimeoutMs });
    try {
      // A login in flight is about to start a session.
      await deadline.race(Promise.resolve(this.#renewal.current));
      const refreshToken = this.#ownRefreshToken();
      if (refreshToken !== undefined) await this.#endpoint.logout(refreshToken, deadline);
    } catch {
    } finally {
      deadline.finish();
    }
  }

  /** Of the session that is this client's own, while that goes on. */
  #ownRefreshToken(): string | undefined {
    return this.#session?.isOver === true ? undefined : this.#session?.refreshToken;
  }

  /** Undefined where there is no session, or the identity server has refused the newest refresh token. */
  #lastToken(): LastToken | undefined {
    if (this.#session === undefined || this.#session.hasEnded === true) return undefined;
    const { refreshToken, mayBeUsed } = this.#session;
    return { refreshToken, isNewest: mayBeUsed !== true && this.#renewal.current === undefined };
  }

  /** Where a login can follow, no refresh token is sent again that may have been used: a server that rotates them may end the session. */
  #canRefresh({ expiresAt, isLost, isOver }: Session): boolean {
    if (isOver === true || (isLost === true && this.#endpoint.canLogIn)) return false;
    return expiresAt === undefined || leftMs(expiresAt, now()) > 0;
  }

  #toError({ failure, hold }: FailedRenewal): TokenError {
    return toTokenError(failure, this.#endpoint.origin, hold?.untilWallMs);
  }

  #activeHold(): Hold | undefined {
    return this.#hold === undefined || isOver(this.#hold) ? undefined : this.#hold;
  }

  #unexpiredToken(): Token | undefined {
    return this.#token === undefined || leftOfToken(this.#token, now()) <= 0 ? undefined : this.#token;
  }
}

const logoutTimeoutMs = 2000;

/** Of a user's logout, who has to know whether it worked. */
const endTimeoutMs = 10_000;

/** Over this time the processes of a fleet log in that have lost their store. */
const spreadMs = 30_000;

/** How long such a process waits before it tries the store again. */
const longestWaitMs = 3000;

interface FailedRenewal {
  readonly token?: never;
  readonly failure: GrantFailure;
  readonly hold: Hold | undefined;
}

/** What a renewal brings to the calls that wait for it: a token, or why there is none and until when there will be none. */
type TokenResult = { readonly token: string } | FailedRenewal;

/** A session at the identity server. */
interface Session {
  readonly refreshToken: string;
  readonly expiresAt?: Timestamp | undefined;
  /** A refresh failed in a way that leaves open whether there is a newer refresh token. This one still names the session. */
  mayBeUsed?: boolean;
  /** The response to it was lost altogether. */
  readonly isLost?: boolean;
  /** The identity server refused to continue it, */
  readonly isOver?: boolean;
  /** and that by its newest refresh token. */
  readonly hasEnded?: boolean;
}

function toSession({ refreshToken, refreshLifetimeMs, sentAt }: Granted): Session | undefined {
  if (refreshToken === undefined) return undefined;
  return { refreshToken, expiresAt: refreshLifetimeMs === undefined ? undefined : later(sentAt, refreshLifetimeMs) };
}

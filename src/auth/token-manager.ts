import { later, leftMs, now, type Timestamp } from "../core/clock.js";
import { Deadline, Ended } from "../core/deadline.js";
import { ConfigError, TokenError } from "../core/errors.js";
import { loadOpenIdClient } from "../core/libraries.js";
import type { TokenEvent } from "../events/events.js";
import type { Tracing } from "../events/reporter.js";
import type { Transport } from "../wire/transport.js";
import type { PasswordAuth, SessionAuth } from "./auth-options.js";
import {
  type Grant,
  type GrantFailure,
  mayBeSpent,
  reactionTo,
  toRejectedError,
  toTokenError,
} from "./grant-failure.js";
import { EndpointHold, type Hold, heldMs, mayWait, RefusedTokens, toHold, waitUntilOver } from "./hold.js";
import { JointWork } from "./joint-work.js";
import { OwnSession } from "./own-session.js";
import { type SharedResult, SharedSession, type TokenNeed } from "./shared-session.js";
import { type Granted, type GrantResult, TokenEndpoint } from "./token-endpoint.js";
import type { TokenHold } from "./token-hold.js";
import type { TokenSource } from "./token-source.js";
import type { TokenStore } from "./token-store.js";
import { lastPartMs, leftOfToken, type Token, toToken } from "./token-timing.js";

export interface TokenManagerOptions {
  readonly auth: PasswordAuth | SessionAuth;
  readonly transport: Transport;
  /** How long before its expiry a token is renewed. Default: 5 s, or a tenth of its lifetime if that is less. */
  readonly leewayMs?: number | undefined;
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
  readonly #hold: EndpointHold;
  readonly #refusedTokens = new RefusedTokens();
  /** This client's own. With a store there is one only where the client logged in without it. */
  readonly #session: OwnSession;
  #token: Token | undefined;
  readonly #renewal: JointWork<TokenResult>;
  readonly #otherCredentials: JointWork<boolean>;
  /** Until when tokens that the service refuses are not replaced. */
  #rejectedUntil: Timestamp | undefined;
  /** From when on this client logs in without the store, which is away. */
  #aloneFrom: Timestamp | undefined;
  readonly #look: JointWork<Token | undefined>;

  /** @throws {ConfigError} when the address or the leeway can't be used. */
  constructor(options: TokenManagerOptions) {
    const { transport, leewayMs, random = Math.random, store, onToken, tracing } = options;
    const auth = { ...options.auth };
    if (leewayMs !== undefined && !(leewayMs >= 0)) {
      throw new ConfigError("the leeway of tokens must be a number of milliseconds, 0 or more");
    }
    const { signal } = this.#closing;
    const endpoint = new TokenEndpoint({ auth, transport, signal, tracing });
    const { timeoutMs } = endpoint;
    this.#endpoint = endpoint;
    this.#shared =
      store === undefined ? undefined : new SharedSession({ store, auth, endpoint, leewayMs, random, signal });
    // A refresh and a login; with a store, also the waiting for another process, and what is read and written.
    this.#renewal = new JointWork((store === undefined ? 2 : 6) * timeoutMs);
    this.#otherCredentials = new JointWork(timeoutMs);
    this.#look = new JointWork(timeoutMs);
    const isGiven = "refreshToken" in auth && store === undefined;
    this.#session = new OwnSession(endpoint.canLogIn, isGiven ? auth.refreshToken : undefined);
    this.#hold = new EndpointHold(random);
    this.#endsSession = "password" in auth && auth.endSessionOnClose === true;
    this.#leewayMs = leewayMs;
    this.#random = random;
    this.#onToken = onToken;
  }

  preload(): void {
    loadOpenIdClient().catch(() => {});
  }

  /** Begins with the tokens of a login that has just been made. They go into the store, where there is one. */
  async begin(granted: Granted): Promise<void> {
    const { accessToken, lifetimeMs, sentAt } = granted;
    if (this.#shared === undefined) this.#session.goOn(granted, "password");
    this.#adopt(toToken(accessToken, sentAt, lifetimeMs, this.#leewayMs));
    await this.#shared?.begin(granted);
  }

  current(deadline: Deadline, maxRetries: number): string | Promise<string> {
    return this.#usableToken() ?? this.#obtain(deadline, maxRetries);
  }

  async renew(used: string, deadline: Deadline, maxRetries: number): Promise<string> {
    this.#drop(used);
    const token = await this.current(deadline, maxRetries);
    if (token !== used) return token;
    const { url } = this.#endpoint;
    throw new TokenError(
      `The service refused the access token (401), and ${url} issued the same one again. Check that it issues tokens for this service.`,
      { code: "token_rejected" },
    );
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
    if (this.#token?.value !== token) return;
    this.#rejectedUntil = undefined;
    this.#refusedTokens.accept(token);
  }

  hold(): TokenHold | undefined {
    const hold = this.#hold.current;
    if (hold !== undefined) {
      return { reason: hold.failure.class, needsLogin: hold.final, endsInMs: Math.ceil(heldMs(hold)) };
    }
    const rejectedMs = this.#rejectedUntil === undefined ? 0 : leftMs(this.#rejectedUntil, now());
    return rejectedMs <= 0
      ? undefined
      : { reason: "token-rejected", needsLogin: false, endsInMs: Math.ceil(rejectedMs) };
  }

  /**
   * Ends the session at the identity server, that of a store too. No token comes from here afterwards. It can be tried again.
   *
   * @returns why that can't be known to have worked, or nothing.
   */
  async endSession(): Promise<GrantFailure | undefined> {
    await this.#awaitRenewal(this.#endpoint.timeoutMs);
    const isRenewing = this.#renewal.current !== undefined;
    const last = this.#shared === undefined ? this.#session.lastToken(isRenewing) : await this.#shared.end();
    this.#closing.abort();
    if (last === undefined) return undefined;
    const deadline = new Deadline({ timeoutMs: this.#endpoint.timeoutMs });
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
    if (this.#renewal.current === undefined) {
      const rejectedMs = this.#refusedTokens.beginRenewal(used);
      if (rejectedMs > 0) {
        this.#rejectedUntil = later(now(), rejectedMs);
        throw toRejectedError(this.#endpoint.url, now().wallMs + rejectedMs);
      }
      this.#rejectedUntil = undefined;
    }
    this.#token = undefined;
    this.#refusedTokens.refuse(used);
  }

  /** The token that needs no waiting. One that will expire soon is still used, while a renewal of it is under way. */
  #usableToken(): string | undefined {
    const token = this.#token;
    if (token === undefined) return undefined;
    const left = leftOfToken(token, now());
    if (left > token.leewayMs) return token.value;
    if (left <= 0) return undefined;
    if (this.#hold.current !== undefined) return token.value;
    if (left <= lastPartMs) return undefined;
    void this.#joinRenewal();
    return token.value;
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
    const hold = this.#hold.current;
    if (hold === undefined) return undefined;
    const found = this.#shared === undefined ? undefined : await this.#lookWhileHeld(this.#shared, deadline);
    if (found !== undefined) return found;
    const result = { failure: hold.failure, hold };
    if (hold.failure.class !== "refused" || !this.#hold.mayTryOthers) return result;
    const others = await deadline.race(this.#otherCredentials.join(() => this.#endpoint.hasOtherCredentials()));
    if (others) this.#hold.lift(hold);
    // Another call may have tried them meanwhile.
    return this.#hold.is(hold) ? result : undefined;
  }

  /** Never rejects. */
  #joinRenewal(): Promise<TokenResult> {
    return this.#renewal.current ?? this.#renewal.start((end) => this.#startRenewal(end));
  }

  /** Never rejects: it may fail when no call waits for it any more. */
  async #startRenewal(end: () => void): Promise<TokenResult> {
    // In the same turn as the decision before it, so that no call joins a renewal that is over.
    const ended = (result: TokenResult): TokenResult => {
      end();
      return result;
    };
    if (this.#shared !== undefined) {
      const result = this.#afterSharing(await this.#shared.renew(this.#need()));
      if (result !== undefined) return ended(result);
    }
    const refreshToken = this.#session.usableToken;
    if (refreshToken !== undefined) {
      const result = this.#afterRefresh(await this.#endpoint.refresh(refreshToken, this.#knownTokens()));
      if (result !== undefined) return ended(result);
    }
    if (!this.#endpoint.canLogIn) return ended(this.#fail(this.#session.ended, "refresh_token"));
    return ended(this.#afterLogin(await this.#endpoint.login(this.#knownTokens())));
  }

  /** The result of a renewal by way of the store; `undefined` where the client has to do without it. */
  #afterSharing(result: SharedResult): TokenResult | undefined {
    if ("unshared" in result) return this.#afterUnshared(result.unshared);
    this.#aloneFrom = undefined;
    if ("token" in result) return this.#adopt(result.token);
    if ("granted" in result) return this.#store(result.granted, result.grant, result.isShared);
    if (result.grant === "password") return this.#afterLogin(result);
    return this.#fail(result.failure, "refresh_token");
  }

  /** Processes that lose their store at the same time do not all log in at the same time. */
  #afterUnshared(reason: string): TokenResult | undefined {
    const failure: GrantFailure = { class: "unshared", reason };
    if (!this.#endpoint.canLogIn) return this.#fail(failure, "refresh_token");
    this.#aloneFrom ??= later(now(), this.#random() * spreadMs);
    const waitMs = leftMs(this.#aloneFrom, now());
    return waitMs <= 0 ? undefined : this.#leaveAlone(failure, toHold(failure, Math.min(waitMs, longestWaitMs), false));
  }

  /** While this client may request nothing, another process may. */
  async #lookWhileHeld(shared: SharedSession, deadline: Deadline): Promise<TokenResult | undefined> {
    const token = await deadline.race(this.#look.join(() => shared.look(this.#need())));
    return token === undefined ? undefined : this.#adopt(token);
  }

  #need(): TokenNeed {
    return { current: this.#token, rejected: this.#refusedTokens.last, knownTokens: this.#knownTokens() };
  }

  #adopt(token: Token): TokenResult {
    this.#token = token;
    this.#hold.clear();
    return { token: token.value };
  }

  #knownTokens(): string[] {
    const known = [this.#token?.value, this.#refusedTokens.last, this.#session.refreshToken];
    return known.filter((token) => token !== undefined);
  }

  /** The result of a refresh; `undefined` where a login has to follow. */
  #afterRefresh(result: GrantResult): TokenResult | undefined {
    if ("granted" in result) {
      const isNew = result.granted.accessToken !== this.#refusedTokens.last;
      if (isNew || !this.#endpoint.canLogIn) return this.#store(result.granted, "refresh_token");
      // The server repeats a token that it has kept: only a login can bring another one.
      this.#session.goOn(result.granted, "refresh_token");
      return undefined;
    }
    const { failure } = result;
    const reaction = reactionTo(failure, "refresh_token", this.#endpoint.canLogIn);
    if (reaction === "login") {
      this.#session.end(failure);
      return undefined;
    }
    if (mayBeSpent(failure)) this.#session.doubt(reaction === "old-or-login");
    return this.#fail(failure, "refresh_token");
  }

  #afterLogin(result: GrantResult): TokenResult {
    if ("granted" in result) return this.#store(result.granted, "password");
    return this.#fail(result.failure, "password");
  }

  /** @param isShared absent where the session is this client's own. One of the store's is not kept here: others may continue it. */
  #store(granted: Granted, grant: Grant, isShared?: boolean): TokenResult {
    const { accessToken, lifetimeMs, sentAt } = granted;
    if (isShared === undefined) this.#session.goOn(granted, grant);
    const result = this.#adopt(toToken(accessToken, sentAt, lifetimeMs, this.#leewayMs));
    const shared = this.#shared === undefined ? undefined : { shared: isShared === true };
    try {
      this.#onToken?.({ grant, ...(lifetimeMs === undefined ? undefined : { expiresInMs: lifetimeMs }), ...shared });
    } catch {
      // A listener's mistake must not cost the token.
    }
    return result;
  }

  #fail(failure: GrantFailure, grant: Grant): TokenResult {
    const reaction = reactionTo(failure, grant, this.#endpoint.canLogIn);
    if (reaction === "old-or-login" && this.#token !== undefined) this.#token = { ...this.#token, leewayMs: 0 };
    return this.#leaveAlone(failure, this.#hold.after(failure, reaction, this.#unexpiredToken() !== undefined));
  }

  /** While the old token has not expired, a failed renewal costs no call anything. */
  #leaveAlone(failure: GrantFailure, hold: Hold | undefined): TokenResult {
    this.#hold.replace(hold);
    const old = this.#unexpiredToken();
    return old === undefined ? { failure, hold } : { token: old.value };
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
      const refreshToken = this.#session.livingToken;
      if (refreshToken !== undefined) await this.#endpoint.logout(refreshToken, deadline);
    } catch {
    } finally {
      deadline.finish();
    }
  }

  #toError({ failure, hold }: FailedRenewal): TokenError | ConfigError {
    // What keeps every request from being made is an option or a package, and no login.
    if (failure.problem !== undefined) return new ConfigError(failure.problem);
    return toTokenError(failure, this.#endpoint.url, hold?.untilWallMs);
  }

  #unexpiredToken(): Token | undefined {
    return this.#token === undefined || leftOfToken(this.#token, now()) <= 0 ? undefined : this.#token;
  }
}

const logoutTimeoutMs = 2000;

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

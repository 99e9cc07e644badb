import { ConfigError, TokenError } from "../errors/errors.js";
import type { Deadline } from "../timing/deadline.js";
import { now } from "../timing/timestamp.js";
import type { Transport } from "../wire/transport.js";
import type { PasswordAuth } from "./auth-options.js";
import { type Grant, type GrantFailure, grantReactions, toTokenError } from "./grant-failure.js";
import { type Hold, isOver, mayWait, toHold, waitUntilOver } from "./hold.js";
import { type Granted, type GrantResult, TokenEndpoint } from "./token-endpoint.js";
import type { TokenEvent } from "./token-event.js";
import type { TokenSource } from "./token-source.js";
import {
  backOffMs,
  isExpired,
  longRepeatPauseMs,
  needsRenewal,
  refusedHoldMs,
  repeatPauseMs,
  type Token,
  toToken,
} from "./token-timing.js";

export interface TokenManagerOptions {
  readonly auth: PasswordAuth;
  readonly transport: Transport;
  /** How long before its expiry a token is renewed. Default: 5 s, or a tenth of its lifetime if that is less. */
  readonly leewayMs?: number | undefined;
  /** For one token request. */
  readonly timeoutMs: number;
  readonly random?: () => number;
  readonly onToken?: (event: TokenEvent) => void;
}

/**
 * Keeps one access token for all calls of a client, and renews it only when it expires or the service refuses it
 * (description: "Authentication", 6).
 *
 * At most one token request is in flight. It belongs to no call: a call that gives up leaves it running, and the calls that
 * wait for it share its result. While nobody waits there is no timer.
 */
export class TokenManager implements TokenSource {
  readonly #endpoint: TokenEndpoint;
  readonly #leewayMs: number | undefined;
  readonly #random: () => number;
  readonly #onToken: ((event: TokenEvent) => void) | undefined;
  #token: Token | undefined;
  #refreshToken: string | undefined;
  /** The token that the service refused last. */
  #rejected: string | undefined;
  #hold: Hold | undefined;
  /** Renewals in a row that brought no token. */
  #failures = 0;
  #renewal: Promise<TokenResult> | undefined;
  /** Whether one of the calls that wait for the renewal allows it to repeat a request. */
  #mayRepeat = false;

  /** @throws {ConfigError} when the address or the leeway can't be used. */
  constructor({ auth, transport, leewayMs, timeoutMs, random, onToken }: TokenManagerOptions) {
    if (leewayMs !== undefined && !(leewayMs >= 0)) {
      throw new ConfigError("the leeway of tokens must be a number of milliseconds, 0 or more");
    }
    this.#endpoint = new TokenEndpoint(auth, transport, timeoutMs);
    this.#leewayMs = leewayMs;
    this.#random = random ?? Math.random;
    this.#onToken = onToken;
  }

  preload(): void {
    this.#endpoint.preload();
  }

  current(deadline: Deadline, maxRetries: number): string | Promise<string> {
    return this.#usableToken() ?? this.#obtain(deadline, maxRetries);
  }

  async renew(used: string, deadline: Deadline, maxRetries: number): Promise<string> {
    if (this.#token?.value === used) {
      this.#token = undefined;
      this.#rejected = used;
    }
    const token = await this.current(deadline, maxRetries);
    if (token !== used) return token;
    throw new TokenError("the service refused the access token, and the token endpoint issued the same one again", {
      code: "token_rejected",
    });
  }

  /** The token that needs no request: a live one or, while the endpoint is left alone, one that has not expired yet. */
  #usableToken(): string | undefined {
    const token = this.#token;
    if (token === undefined) return undefined;
    if (!needsRenewal(token, now())) return token.value;
    const hold = this.#activeHold();
    return hold !== undefined && !hold.final ? this.#unexpiredToken()?.value : undefined;
  }

  async #obtain(deadline: Deadline, maxRetries: number): Promise<string> {
    // A call that has ended already requests nothing.
    deadline.assertNotEnded();
    for (let waits = 0; ; waits++) {
      const result = this.#knownResult() ?? (await deadline.race(this.#joinRenewal(maxRetries)));
      if (result.token !== undefined) return result.token;
      const { failure, hold } = result;
      if (hold === undefined || !mayWait(hold, waits, deadline, maxRetries)) {
        throw toTokenError(failure, this.#endpoint.origin, hold?.untilWallMs);
      }
      await waitUntilOver(hold, deadline);
    }
  }

  /** The result that is known without a renewal. */
  #knownResult(): TokenResult | undefined {
    const token = this.#usableToken();
    if (token !== undefined) return { token };
    const hold = this.#activeHold();
    return hold === undefined ? undefined : { failure: hold.failure, hold };
  }

  #joinRenewal(maxRetries: number): Promise<TokenResult> {
    if (maxRetries > 0) this.#mayRepeat = true;
    this.#renewal ??= this.#startRenewal();
    return this.#renewal;
  }

  /** Never rejects: it may fail when no call waits for it any more. */
  async #startRenewal(): Promise<TokenResult> {
    const refreshToken = this.#refreshToken;
    if (refreshToken !== undefined) {
      const result = this.#afterRefresh(await this.#request("refresh_token", refreshToken));
      if (result !== undefined) return this.#endRenewal(result);
    }
    return this.#endRenewal(this.#afterLogin(await this.#request("password", refreshToken)));
  }

  /** In the same turn as the decision before it, so that no call joins a renewal that is over. */
  #endRenewal(result: TokenResult): TokenResult {
    this.#renewal = undefined;
    this.#mayRepeat = false;
    return result;
  }

  /** One request, and once more where that is safe. In an outage only the first renewal repeats its request. */
  async #request(grant: Grant, refreshToken: string | undefined): Promise<GrantResult> {
    const first = await this.#requestOnce(grant, refreshToken);
    if (!("failure" in first) || this.#failures > 0) return first;
    const reaction = grantReactions[first.failure.class][grant];
    if (!this.#mayRepeat || (reaction !== "repeat" && reaction !== "repeat-later")) return first;
    await pause(reaction === "repeat" ? repeatPauseMs(this.#random) : longRepeatPauseMs(this.#random));
    return this.#requestOnce(grant, refreshToken);
  }

  #requestOnce(grant: Grant, refreshToken: string | undefined): Promise<GrantResult> {
    const known = [this.#token?.value, this.#rejected, refreshToken].filter((token) => token !== undefined);
    return grant === "refresh_token" && refreshToken !== undefined
      ? this.#endpoint.refresh(refreshToken, known)
      : this.#endpoint.login(known);
  }

  /** The result of a refresh; `undefined` where a login has to follow. */
  #afterRefresh(result: GrantResult): TokenResult | undefined {
    if ("granted" in result) {
      if (result.granted.accessToken !== this.#rejected) return this.#store(result.granted, "refresh_token");
      // The server repeats a token that it has kept: only a login can bring another one.
      this.#refreshToken = result.granted.refreshToken ?? this.#refreshToken;
      return undefined;
    }
    const { failure } = result;
    const reaction = grantReactions[failure.class].refresh_token;
    if (reaction !== "login" && reaction !== "old-or-login") return this.#fail(failure, reaction === "back-off");
    // A server that rotates refresh tokens may end the whole session when one comes a second time.
    this.#refreshToken = undefined;
    const old = this.#unexpiredToken();
    if (reaction === "login" || old === undefined) return undefined;
    this.#token = { ...old, leewayMs: 0 };
    return { token: old.value };
  }

  #afterLogin(result: GrantResult): TokenResult {
    if ("granted" in result) return this.#store(result.granted, "password");
    const { failure } = result;
    const reaction = grantReactions[failure.class].password;
    if (reaction !== "stop") return this.#fail(failure, reaction === "back-off");
    this.#hold = toHold(failure, refusedHoldMs, true);
    return { failure, hold: this.#hold };
  }

  #store(granted: Granted, grant: Grant): TokenResult {
    const { accessToken, refreshToken, lifetimeMs, sentAt } = granted;
    this.#token = toToken(accessToken, sentAt, lifetimeMs, this.#leewayMs);
    // The response to a refresh need not repeat the refresh token; the one to a login starts a new session.
    if (refreshToken !== undefined || grant === "password") this.#refreshToken = refreshToken;
    this.#failures = 0;
    try {
      this.#onToken?.({ grant, ...(lifetimeMs === undefined ? undefined : { expiresInMs: lifetimeMs }) });
    } catch {
      // A listener's mistake must not cost the token.
    }
    return { token: accessToken };
  }

  /** While the old token has not expired, a failed renewal costs no call anything, and the next one follows after a backoff. */
  #fail(failure: GrantFailure, backsOff: boolean): TokenResult {
    const old = this.#unexpiredToken();
    const hold =
      backsOff || old !== undefined
        ? toHold(failure, backOffMs(failure, this.#failures, this.#random), false)
        : undefined;
    this.#hold = hold;
    this.#failures += 1;
    return old === undefined ? { failure, hold } : { token: old.value };
  }

  #activeHold(): Hold | undefined {
    return this.#hold === undefined || isOver(this.#hold) ? undefined : this.#hold;
  }

  #unexpiredToken(): Token | undefined {
    return this.#token === undefined || isExpired(this.#token, now()) ? undefined : this.#token;
  }
}

/** What a renewal brings to the calls that wait for it: a token, or why there is none and until when there will be none. */
type TokenResult =
  | { readonly token: string }
  | { readonly token?: never; readonly failure: GrantFailure; readonly hold: Hold | undefined };

/** Keeps no process alive: the deadlines of the calls that wait do. */
function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    // A number in browsers.
    const timer: { unref(): void } | number = setTimeout(resolve, ms);
    if (typeof timer === "object") timer.unref();
  });
}

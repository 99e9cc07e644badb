import { ConfigError, TokenError } from "../errors/errors.js";
import type { Waiting } from "../timing/waiting.js";
import type { PasswordAuth } from "./auth-options.js";
import { type Grant, type GrantFailure, grantReactions, toTokenError } from "./grant-failure.js";
import { type Granted, type GrantResult, TokenEndpoint, type TokenPost } from "./token-endpoint.js";
import type { TokenSource } from "./token-source.js";
import {
  backOffMs,
  isLive,
  leftMs,
  longRepeatPauseMs,
  refusedHoldMs,
  repeatPauseMs,
  type Token,
  toToken,
} from "./token-timing.js";

/** A token was obtained. */
export interface TokenEvent {
  readonly grant: Grant;
  /** Its lifetime, counted from before the request; absent where the response named none. */
  readonly expiresInMs?: number;
}

export interface TokenManagerOptions {
  readonly auth: PasswordAuth;
  readonly post: TokenPost;
  /** How long before its expiry a token is renewed. Default: 5 s, or a tenth of its lifetime if that is less. */
  readonly leewayMs?: number;
  /** For one token request. */
  readonly timeoutMs: number;
  readonly random?: () => number;
  readonly onToken?: (event: TokenEvent) => void;
}

/**
 * Keeps one access token for all calls of a client, and renews it only when it expires or the service refuses it
 * (description: "Authentication", 6).
 *
 * There is at most one token request in the air. It belongs to no call: a call that gives up leaves it running, and those that
 * wait for it share its outcome. While nobody waits there is no timer.
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
  /** Flights in a row that brought no token. */
  #failures = 0;
  #flight: Promise<Landing> | undefined;
  /** Whether one of those who wait for the flight allows it to repeat a request. */
  #mayRepeat = false;

  /** @throws {ConfigError} when the address or the leeway can't be used. */
  constructor({ auth, post, leewayMs, timeoutMs, random, onToken }: TokenManagerOptions) {
    if (leewayMs !== undefined && !(leewayMs >= 0)) {
      throw new ConfigError("the leeway of tokens must be a number of milliseconds, 0 or more");
    }
    this.#endpoint = new TokenEndpoint(auth, post, timeoutMs);
    this.#leewayMs = leewayMs;
    this.#random = random ?? Math.random;
    this.#onToken = onToken;
  }

  preload(): void {
    this.#endpoint.preload();
  }

  current(waiting: Waiting): string | Promise<string> {
    return this.#usable() ?? this.#obtain(waiting);
  }

  async renew(used: string, waiting: Waiting): Promise<string> {
    if (this.#token?.value === used) {
      this.#token = undefined;
      this.#rejected = used;
    }
    const token = await this.current(waiting);
    if (token !== used) return token;
    throw new TokenError("the service refused the access token, and the token endpoint gave the same one again", {
      code: "token_rejected",
    });
  }

  /** The token that needs no request: a live one or, while the endpoint is to be left alone, one that has not expired yet. */
  #usable(): string | undefined {
    const token = this.#token;
    if (token === undefined) return undefined;
    if (isLive(token, Date.now(), performance.now())) return token.value;
    const hold = this.#activeHold();
    return hold !== undefined && !hold.final && this.#isAlive(token) ? token.value : undefined;
  }

  async #obtain(waiting: Waiting): Promise<string> {
    // A call that is over already asks for nothing: this rejects.
    if (waiting.remainingMs() <= 0) await waiting.sleep(0);
    for (let waits = 0; ; waits++) {
      const landing = this.#landed() ?? (await waiting.race(this.#join(waiting)));
      if (landing.value !== undefined) return landing.value;
      const { failure, hold } = landing;
      if (hold === undefined || !allowsWait(hold, waits, waiting)) {
        throw toTokenError(failure, this.#endpoint.origin, hold?.untilWallMs);
      }
      await sleepUntil(hold, waiting);
    }
  }

  /** The outcome that is known without a flight. */
  #landed(): Landing | undefined {
    const value = this.#usable();
    if (value !== undefined) return { value };
    const hold = this.#activeHold();
    return hold === undefined ? undefined : { failure: hold.failure, hold };
  }

  #join(waiting: Waiting): Promise<Landing> {
    if (waiting.maxRetries > 0) this.#mayRepeat = true;
    this.#flight ??= this.#fly();
    return this.#flight;
  }

  /** Never rejects, so that a flight that nobody waits for any more can fail in peace. */
  async #fly(): Promise<Landing> {
    const refreshToken = this.#refreshToken;
    if (refreshToken !== undefined) {
      const landing = this.#afterRefresh(await this.#ask("refresh_token", refreshToken));
      if (landing !== undefined) return this.#land(landing);
    }
    return this.#land(this.#afterLogin(await this.#ask("password", refreshToken)));
  }

  /** In the same turn as the decision that led to it, so that nobody joins a flight that is over. */
  #land(landing: Landing): Landing {
    this.#flight = undefined;
    this.#mayRepeat = false;
    return landing;
  }

  /** One request, and once more where that is safe. In an outage it is not made twice by every flight. */
  async #ask(grant: Grant, refreshToken: string | undefined): Promise<GrantResult> {
    const first = await this.#request(grant, refreshToken);
    if (!("failure" in first) || this.#failures > 0) return first;
    const reaction = grantReactions[first.failure.class][grant];
    if (!this.#mayRepeat || (reaction !== "repeat" && reaction !== "repeat-later")) return first;
    await pause(reaction === "repeat" ? repeatPauseMs(this.#random) : longRepeatPauseMs(this.#random));
    return this.#request(grant, refreshToken);
  }

  #request(grant: Grant, refreshToken: string | undefined): Promise<GrantResult> {
    const known = [this.#token?.value, this.#rejected, refreshToken].filter((token) => token !== undefined);
    return grant === "refresh_token" && refreshToken !== undefined
      ? this.#endpoint.refresh(refreshToken, known)
      : this.#endpoint.login(known);
  }

  /** Where a refresh leads; `undefined`: to a login. */
  #afterRefresh(result: GrantResult): Landing | undefined {
    if ("granted" in result) {
      if (result.granted.accessToken !== this.#rejected) return this.#adopt(result.granted, "refresh_token");
      // A response out of the server's cache: only a login can bring another token.
      this.#refreshToken = result.granted.refreshToken ?? this.#refreshToken;
      return undefined;
    }
    const { failure } = result;
    const reaction = grantReactions[failure.class].refresh_token;
    if (reaction !== "login" && reaction !== "old-or-login") return this.#fail(failure, reaction === "back-off");
    // A server that rotates refresh tokens may end the whole session when one comes a second time.
    this.#refreshToken = undefined;
    if (reaction === "login" || this.#token === undefined || !this.#isAlive(this.#token)) return undefined;
    this.#token = { ...this.#token, leewayMs: 0 };
    return { value: this.#token.value };
  }

  #afterLogin(result: GrantResult): Landing {
    if ("granted" in result) return this.#adopt(result.granted, "password");
    const { failure } = result;
    const reaction = grantReactions[failure.class].password;
    if (reaction !== "stop") return this.#fail(failure, reaction === "back-off");
    this.#hold = toHold(failure, refusedHoldMs, true);
    return { failure, hold: this.#hold };
  }

  #adopt(granted: Granted, grant: Grant): Landing {
    const { accessToken, refreshToken, lifetimeMs, sentAt } = granted;
    this.#token = toToken(accessToken, sentAt, lifetimeMs, this.#leewayMs);
    // The response to a refresh need not repeat the refresh token; the one to a login starts a new session.
    if (refreshToken !== undefined || grant === "password") this.#refreshToken = refreshToken;
    this.#failures = 0;
    try {
      this.#onToken?.({ grant, ...(lifetimeMs === undefined ? undefined : { expiresInMs: lifetimeMs }) });
    } catch {
      // A listener's mistake is no reason to have no token.
    }
    return { value: accessToken };
  }

  /** While the old token lives, a failed renewal costs nobody anything, and the next try comes after a backoff. */
  #fail(failure: GrantFailure, backsOff: boolean): Landing {
    const old = this.#token !== undefined && this.#isAlive(this.#token) ? this.#token : undefined;
    const hold =
      backsOff || old !== undefined
        ? toHold(failure, backOffMs(failure, this.#failures, this.#random), false)
        : undefined;
    this.#hold = hold;
    this.#failures += 1;
    return old === undefined ? { failure, hold } : { value: old.value };
  }

  #activeHold(): Hold | undefined {
    return this.#hold !== undefined && heldMs(this.#hold) > 0 ? this.#hold : undefined;
  }

  #isAlive(token: Token): boolean {
    return leftMs(token, Date.now(), performance.now()) > 0;
  }
}

/** What a flight brings to those who wait for it: a token, or why there is none and how long there will be none. */
type Landing =
  | { readonly value: string }
  | { readonly value?: never; readonly failure: GrantFailure; readonly hold: Hold | undefined };

/** A time in which the token endpoint is left alone. It is a mark on the clock, not a timer. */
interface Hold {
  readonly untilMonotonicMs: number;
  /** For telling only: the wall clock can be set. */
  readonly untilWallMs: number;
  /** Not even waiting helps: the login was refused. */
  readonly final: boolean;
  readonly failure: GrantFailure;
}

function toHold(failure: GrantFailure, ms: number, final: boolean): Hold {
  return { untilMonotonicMs: performance.now() + ms, untilWallMs: Date.now() + ms, final, failure };
}

function heldMs(hold: Hold): number {
  return hold.untilMonotonicMs - performance.now();
}

/** Whether a call has the patience to wait for the end of a hold. */
function allowsWait(hold: Hold, waits: number, waiting: Waiting): boolean {
  return !hold.final && waits < waiting.maxRetries && heldMs(hold) < waiting.remainingMs();
}

/** Timers can fire a little early. */
async function sleepUntil(hold: Hold, waiting: Waiting): Promise<void> {
  for (let ms = heldMs(hold); ms > 0; ms = heldMs(hold)) await waiting.sleep(Math.ceil(ms));
}

/** Keeps no process alive: whoever waits for the flight has a deadline of its own that does. */
function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms).unref());
}

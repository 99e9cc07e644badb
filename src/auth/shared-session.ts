import { clock, now } from "../core/clock.js";
import type { PasswordAuth, SessionAuth } from "./auth-options.js";
import { type Grant, type GrantFailure, isDeadGrant, mayBeSpent, reactionTo } from "./grant-failure.js";
import { noteRefusal } from "./hold.js";
import { readSharedValue, type SharedValue, sharedToken, toSharedValue, unspentRefreshToken } from "./shared-value.js";
import { type Found, StoreAway, StoreEntry } from "./store-entry.js";
import type { Granted, TokenEndpoint } from "./token-endpoint.js";
import type { TokenStore } from "./token-store.js";
import { lastPartMs, leftOfToken, type Token } from "./token-timing.js";
import { UnwrittenValues } from "./unwritten-values.js";

export interface SharedSessionOptions {
  readonly store: TokenStore;
  readonly auth: PasswordAuth | SessionAuth;
  readonly endpoint: TokenEndpoint;
  readonly leewayMs: number | undefined;
  readonly random: () => number;
  /** Ends the waiting for another process. */
  readonly signal: AbortSignal;
}

export interface TokenNeed {
  /** The one that it has, which may have expired: by the wall clock alone, what is stored of it may seem to last. */
  readonly current: Token | undefined;
  /** The token that the service refused. */
  readonly rejected: string | undefined;
  /** Tokens that a response might repeat and no error may show. */
  readonly knownTokens: readonly string[];
}

/** What a session is to be ended with. */
export interface LastToken {
  readonly refreshToken: string;
  /** Whether it certainly is the newest one of the session: what the identity server says of another one proves nothing. */
  readonly isNewest: boolean;
}

export type SharedResult =
  /** Another process obtained it. */
  | { readonly token: Token }
  /** This process requested it. */
  | { readonly granted: Granted; readonly grant: Grant; readonly isShared: boolean }
  /** This process requested one in vain. */
  | { readonly failure: GrantFailure; readonly grant: Grant }
  /** The store can't be used: why. */
  | { readonly unshared: string };

/**
 * One session for many processes, in a `TokenStore`.
 *
 * A lock keeps processes from requesting tokens at the same time. It can't be relied on: its holder may be stopped for longer than it
 * lasts. What is relied on is the mark: a refresh token is marked as spent, by version, before it is sent, so it is sent once at
 * most. An identity server that rotates refresh tokens ends the session of the whole fleet when one comes a second time.
 */
export class SharedSession {
  readonly #entry: StoreEntry;
  readonly #endpoint: TokenEndpoint;
  readonly #lockMs: number;
  readonly #leewayMs: number | undefined;
  readonly #random: () => number;
  readonly #signal: AbortSignal;
  /** Of a session without a password: what is left to try where the store has lost its refresh token. */
  #given: SharedValue;
  readonly #unwritten: UnwrittenValues;
  readonly #client: string;
  #isRequesting = false;
  /** The lock was waited for in vain, which is not done twice. */
  #isLockStuck = false;

  constructor({ store, auth, endpoint, leewayMs, random, signal }: SharedSessionOptions) {
    this.#entry = new StoreEntry(store, auth);
    this.#unwritten = UnwrittenValues.of(store);
    this.#client = JSON.stringify([auth.authUrl, auth.realm, auth.clientId]);
    this.#endpoint = endpoint;
    // Longer than everything that is done under it: looking and marking, 2 s each, and the request.
    this.#lockMs = endpoint.timeoutMs + 5000;
    this.#leewayMs = leewayMs;
    this.#random = random;
    this.#signal = signal;
    this.#given = "refreshToken" in auth ? { refreshToken: auth.refreshToken } : {};
  }

  /** Whether this process is requesting a token for all of them. */
  get isRequesting(): boolean {
    return this.#isRequesting;
  }

  /** Contributes the tokens of a login that has just been made. Never rejects. */
  async begin(granted: Granted): Promise<void> {
    await this.#replace(undefined, toSharedValue(granted, undefined));
  }

  /**
   * The refresh token to end the session with, which no process uses from now on. It waits for a process that is renewing it.
   * Undefined where there is no session, or it is known to have ended. Never rejects.
   */
  async end(): Promise<LastToken | undefined> {
    const owner = crypto.randomUUID();
    const untilMs = clock.monotonicMs() + this.#lockMs;
    let { refreshToken } = this.#given;
    let isLocked = false;
    try {
      for (;;) {
        const found = await this.#read();
        const isRenewing = this.#isRenewing(found);
        refreshToken = this.#newestOf(found).refreshToken;
        if (refreshToken === undefined) return undefined;
        if (found?.value.spentBy === sessionOver && this.#isNewest(refreshToken, found)) return undefined;
        if (!isRenewing && (await this.#markLoggedOut(refreshToken, found))) {
          return { refreshToken, isNewest: this.#isNewest(refreshToken, found) };
        }
        // Who has the lock and finds the mark knows that its owner stored nothing, and will not any more.
        if ((isRenewing && isLocked) || clock.monotonicMs() >= untilMs) return { refreshToken, isNewest: false };
        isLocked = await this.#entry.lock(owner, this.#lockMs);
        if (!isRenewing || !isLocked) await pause(shortestPollMs);
      }
    } catch {
      return refreshToken === undefined ? undefined : { refreshToken, isNewest: false };
    } finally {
      if (isLocked) this.#entry.unlock(owner).catch(() => {});
    }
  }

  /** What lies there, or what this process knows to belong in the place of its mark. */
  async #read(): Promise<Found | undefined> {
    const found = await this.#entry.read();
    return found && { ...found, value: this.#unwritten.get(found.value.spentBy) ?? found.value };
  }

  /** Whether the refresh token that lies there was sent, and nobody knows yet what came of it. */
  #isRenewing(found: Found | undefined): boolean {
    return found?.value.spentBy !== undefined && !this.#isOver(found);
  }

  #isOver(found: Found | undefined): boolean {
    return found?.value.spentBy === loggedOut || found?.value.spentBy === sessionOver;
  }

  /** An older copy of the store has what this process has used up since. */
  #newestOf(found: Found | undefined): SharedValue {
    const value = found?.value ?? {};
    return this.#unwritten.newest(this.#client, value.refreshToken === undefined ? this.#given : value);
  }

  /** A lost entry may have had a newer refresh token. */
  #isNewest(refreshToken: string, found: Found | undefined): boolean {
    return refreshToken === found?.value.refreshToken && this.#unwritten.get(this.#client + refreshToken) === undefined;
  }

  async #markLoggedOut(refreshToken: string, found: Found | undefined): Promise<boolean> {
    const { refreshExpiresAtMs } = found?.value ?? {};
    const expiry = refreshExpiresAtMs === undefined ? undefined : { refreshExpiresAtMs };
    const value = { refreshToken, ...expiry, spentBy: loggedOut };
    return (await this.#entry.write(value, found?.version)) !== undefined;
  }

  /** A token that another process has obtained. Never rejects. */
  async look(need: TokenNeed): Promise<Token | undefined> {
    try {
      return this.#usable(await this.#read(), need);
    } catch {
      return undefined;
    }
  }

  /** Another token than the one that the process has. Never rejects. */
  async renew(need: TokenNeed): Promise<SharedResult> {
    const owner = crypto.randomUUID();
    try {
      return await this.#renewInTurn(owner, need);
    } catch (error) {
      return { unshared: error instanceof StoreAway ? error.reason : "FAILED" };
    }
  }

  async #renewInTurn(owner: string, need: TokenNeed): Promise<SharedResult> {
    // A process takes it twice at most: for a refresh, and for the login that may follow.
    const untilMs = clock.monotonicMs() + (this.#isLockStuck ? 0 : 2 * this.#lockMs);
    for (;;) {
      const found = await this.#read();
      const token = this.#usable(found, need);
      if (token !== undefined) return { token };
      const result = await this.#renewLocked(owner, need);
      if (result !== undefined) return result;
      const passing = this.#passable(found, need);
      if (passing !== undefined) return { token: passing };
      if (this.#signal.aborted) return { unshared: "CLOSED" };
      if (clock.monotonicMs() >= untilMs) {
        this.#isLockStuck = true;
        return { unshared: "LOCKED" };
      }
      await pause(shortestPollMs + (longestPollMs - shortestPollMs) * this.#random());
    }
  }

  /** Undefined where another process has the lock, or stored something at the same time. */
  async #renewLocked(owner: string, need: TokenNeed): Promise<SharedResult | undefined> {
    if (!(await this.#entry.lock(owner, this.#lockMs))) return undefined;
    this.#isLockStuck = false;
    this.#isRequesting = true;
    try {
      // Someone may have renewed it meanwhile.
      const found = await this.#read();
      const token = this.#usable(found, need);
      return token === undefined ? await this.#request(owner, found, need) : { token };
    } finally {
      this.#isRequesting = false;
      // Nobody waits for this: a process that finds a token needs no lock, and the lock ends by itself.
      this.#entry.unlock(owner).catch(() => {});
    }
  }

  async #request(owner: string, found: Found | undefined, need: TokenNeed): Promise<SharedResult | undefined> {
    const newest = this.#newestOf(found);
    const refreshToken = this.#isOver(found) ? undefined : unspentRefreshToken(newest);
    if (refreshToken === undefined) {
      return this.#logIn(found?.text, need, found?.value.spentBy === sessionOver ? sessionEnded : sessionSpent);
    }
    const value = { ...newest, refreshToken };
    const mark = await this.#mark(owner, value, found);
    if (mark === undefined) return undefined;
    const requested = await this.#endpoint.refresh(refreshToken, need.knownTokens);
    if ("granted" in requested) {
      const { granted } = requested;
      const came = toSharedValue(granted, refreshToken);
      // One that has just been issued is good, whatever came of it before.
      this.#unwritten.forget(this.#client + came.refreshToken);
      if (came.refreshToken !== refreshToken) this.#unwritten.note(this.#client + refreshToken, came);
      // A server that repeats a token which the service refused has no other one for this session.
      const isOther = granted.accessToken !== need.rejected || !this.#endpoint.canLogIn;
      if (isOther) return this.#store(granted, "refresh_token", mark, refreshToken, owner);
      return this.#logInAgain(owner, mark, need, sessionSpent);
    }
    const { failure } = requested;
    if (reactionTo(failure, "refresh_token", this.#endpoint.canLogIn) === "login") {
      // Ending the session later finds by this that nothing is left to end.
      const isOver = isDeadGrant(failure) && !this.#endpoint.canLogIn && this.#isNewest(refreshToken, found);
      if (isOver) await this.#replace(mark, { ...value, spentBy: sessionOver });
      return this.#logInAgain(owner, mark, need, { ...failure, class: "session-ended" });
    }
    if (mayBeSpent(failure)) this.#unwritten.note(this.#client + refreshToken, { refreshToken, spentBy: owner });
    else if (!(await this.#replace(mark, value))) this.#unwritten.note(owner, value);
    return { failure, grant: "refresh_token" };
  }

  async #mark(owner: string, value: SharedValue, found: Found | undefined): Promise<string | undefined> {
    // Noted of a mark that was refused before this one, whose token may be sent now.
    this.#unwritten.forget(owner);
    let mark: string | undefined;
    try {
      mark = await this.#entry.write({ ...value, spentBy: owner }, found?.version);
    } finally {
      // It may be stored all the same, as where the store's client sent it twice and the second was refused; and nothing will be sent.
      if (mark === undefined) this.#unwritten.note(owner, value);
    }
    // An older copy of the store may bring that mark back, when this refresh token is used up.
    if (found !== undefined && mark !== undefined) this.#unwritten.forget(readSharedValue(found.text)?.spentBy);
    return mark;
  }

  /** After a refresh, the lock may not last for one more request. */
  async #logInAgain(
    owner: string,
    mark: string,
    need: TokenNeed,
    ended: GrantFailure,
  ): Promise<SharedResult | undefined> {
    const isLocked = !this.#endpoint.canLogIn || (await this.#entry.lock(owner, this.#lockMs));
    return isLocked ? this.#logIn(mark, need, ended) : undefined;
  }

  /** @param ended why there has to be a login, where there is no password for one. */
  async #logIn(text: string | undefined, need: TokenNeed, ended: GrantFailure): Promise<SharedResult> {
    if (!this.#endpoint.canLogIn) return { failure: ended, grant: "refresh_token" };
    const value = text === undefined ? undefined : readSharedValue(text);
    const requested = await this.#endpoint.login(need.knownTokens, value?.refused);
    if ("granted" in requested) return this.#store(requested.granted, "password", text);
    const { failure } = requested;
    if (failure.class === "refused" && failure.isNoted !== true) {
      const refused = noteRefusal(await this.#endpoint.credentialsMark(), failure.status);
      await this.#replace(text, { ...value, refused });
    }
    return { failure, grant: "password" };
  }

  /**
   * @param kept the refresh token that the response need not repeat.
   * @param owner of the mark that lies there.
   */
  async #store(
    granted: Granted,
    grant: Grant,
    text: string | undefined,
    kept?: string,
    owner?: string,
  ): Promise<SharedResult> {
    const value = toSharedValue(granted, kept);
    this.#note(value);
    const isShared = await this.#replace(text, value);
    if (!isShared && owner !== undefined) this.#unwritten.note(owner, value);
    return { granted, grant, isShared };
  }

  /** Replaces a text by a value, unless somebody else did so. A failure costs nothing but the sharing. */
  async #replace(text: string | undefined, value: SharedValue): Promise<boolean> {
    try {
      const found = await this.#entry.read();
      if (found !== undefined && found.text !== text) return false;
      return (await this.#entry.write(value, found?.version)) !== undefined;
    } catch {
      return false;
    }
  }

  #usable(found: Found | undefined, need: TokenNeed): Token | undefined {
    const token = this.#other(found, need);
    return token !== undefined && leftOfToken(token, now()) > token.leewayMs ? token : undefined;
  }

  /** A token that lives, while another process renews it. */
  #passable(found: Found | undefined, need: TokenNeed): Token | undefined {
    const isLiving = (token: Token | undefined) => token !== undefined && leftOfToken(token, now()) > lastPartMs;
    const token = isLiving(need.current) ? undefined : this.#other(found, need);
    return isLiving(token) ? token : undefined;
  }

  #other(found: Found | undefined, { current, rejected }: TokenNeed): Token | undefined {
    if (found === undefined) return undefined;
    this.#note(found.value);
    const token = sharedToken(found.value, this.#leewayMs);
    return token?.value === current?.value || token?.value === rejected ? undefined : token;
  }

  #note({ refreshToken }: SharedValue): void {
    if (!this.#endpoint.canLogIn && refreshToken !== undefined) this.#given = { refreshToken };
  }
}

const shortestPollMs = 50;
const longestPollMs = 500;

/** By whom a refresh token is marked as spent that no process is renewing: by a logout, which did not use it up, */
const loggedOut = "logout";
/** and by the identity server, which says that its session has ended. */
const sessionOver = "ended";

const sessionSpent: GrantFailure = { class: "session-spent" };
const sessionEnded: GrantFailure = { class: "session-ended" };

/** A call that waits has a timer of its own: this one alone does not keep the process. */
function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    clock.unrefTimer(clock.setTimer(resolve, ms));
  });
}

import { sha256 } from "#platform";
import { clock, later, now } from "../core/clock.js";
import { Deadline, Ended } from "../core/deadline.js";
import type { GrantKind } from "../http/decision.js";
import { isBearerToken } from "../http/token-source.js";
import { encodeHex } from "../platform/encodings.js";
import { parseJsonObject } from "../wire/response.js";
import { reasonOf } from "../wire/transport.js";
import { endpointAddress, type PasswordAuth, type SessionAuth } from "./auth-options.js";
import type { Grant, Granted, NotedRefusal, TokenEndpoint } from "./token-endpoint.js";
import { decisionOn, type GrantFailure, isDeadGrant, isRefusal, mayBeSpent } from "./token-error.js";
import type { StoredToken, TokenStore } from "./token-store.js";
import { isThrottled, longestAskedMs, refusedHoldMs, type Token, toToken } from "./token-timing.js";

export interface SharedSessionOptions {
  readonly store: TokenStore;
  readonly auth: PasswordAuth | SessionAuth;
  readonly endpoint: TokenEndpoint;
  readonly leewayMs: number | undefined;
  readonly random: () => number;
  /** Ends the waiting for another process. */
  readonly signal: AbortSignal;
}

/** The token that the client has, and the one that the service refused: another one is wanted. */
export type KnownTokens = readonly (string | undefined)[];

/** What a session is to be ended with. */
export interface LastToken {
  readonly refreshToken: string;
  /** Whether it certainly is the newest one of the session: what the identity provider says of another one proves nothing. */
  readonly isNewest: boolean;
}

export type SharedResult =
  /** Another process requested it. */
  | { readonly token: Token }
  /** This process requested it. `isShared`: it's in the store. */
  | { readonly granted: Granted; readonly grant: Grant; readonly isShared: boolean }
  | { readonly failure: GrantFailure; readonly kind: GrantKind }
  /** The store can't be used: why. */
  | { readonly unshared: string };

/** The session as the store holds it. Times are those of the wall clock, the only one that machines share. */
interface SharedValue {
  /** Absent until the first refresh of a session that was given by its refresh token. */
  readonly accessToken?: string | undefined;
  /** Absent if the response gave no lifetime; so is the next one. */
  readonly lifetimeMs?: number | undefined;
  readonly expiresAtMs?: number | undefined;
  readonly refreshToken?: string | undefined;
  readonly refreshExpiresAtMs?: number | undefined;
  /** The process that sent the refresh token, or is about to; or `loggedOut`, or `sessionOver`. Nobody else sends it. */
  readonly spentBy?: string | undefined;
  readonly retryNotBefore?: RetryNotBefore | undefined;
}

/** The endpoint throttles; or, with a mark, it refused a login with these credentials. */
interface RetryNotBefore extends NotedRefusal {
  readonly atMs: number;
}

interface Found extends StoredToken {
  readonly session: SharedValue;
}

/**
 * One session for many processes, in a `TokenStore`.
 *
 * - A process that needs a token reads the entry. Often another process has renewed it already.
 * - Otherwise it takes the entry's lock and reads again. The lock only keeps processes from doing the same work.
 * - It marks the refresh token as spent by compare and set, before it sends it. If that fails, it sends nothing. So a refresh token is
 *   sent once, even if a process is stopped for longer than its lock lasts: an identity provider that rotates refresh tokens ends the
 *   session of the whole fleet if one comes twice.
 * - It stores the new tokens. If the refresh token certainly wasn't used, it takes the mark back.
 * - If we hold the lock and the mark of another process is still there, that process died or lost the response: one login. Without a
 *   password, the session is over.
 * - After a 429 or a refused login, it stores until when no process requests anything (`retryNotBefore`), since identity providers
 *   lock accounts. Other credentials may be tried at once.
 */
export class SharedSession {
  readonly #store: TokenStore;
  readonly #auth: PasswordAuth | SessionAuth;
  #key: Promise<string> | undefined;
  readonly #endpoint: TokenEndpoint;
  readonly #lockMs: number;
  readonly #leewayMs: number | undefined;
  readonly #random: () => number;
  readonly #signal: AbortSignal;
  /** Of a session without a password: what is left to try if the store has lost it. */
  readonly #given: string | undefined;
  #isRequesting = false;

  constructor({ store, auth, endpoint, leewayMs, random, signal }: SharedSessionOptions) {
    this.#store = store;
    this.#auth = auth;
    this.#endpoint = endpoint;
    // Longer than everything that is done under it: reading and marking, 2 s each, and the request.
    this.#lockMs = endpoint.timeoutMs + 5000;
    this.#leewayMs = leewayMs;
    this.#random = random;
    this.#signal = signal;
    this.#given = "refreshToken" in auth ? auth.refreshToken : undefined;
  }

  /** Whether this process is requesting a token for all of them. */
  get isRequesting(): boolean {
    return this.#isRequesting;
  }

  /** Stores the tokens of a login that has just been made. Never rejects. */
  async begin(granted: Granted): Promise<void> {
    await this.#tryWrite(toValue(granted), undefined);
  }

  /** A good token that another process has requested. Never rejects. */
  async find(known: KnownTokens): Promise<Token | undefined> {
    const found = await this.#read().catch(() => undefined);
    return this.#goodToken(found, known);
  }

  /** Another token than the known ones. Never rejects. */
  async renew(known: KnownTokens): Promise<SharedResult> {
    const owner = crypto.randomUUID();
    // Another process holds the lock twice at most: for a refresh, and for the login that may follow.
    const untilMs = clock.monotonicMs() + 2 * this.#lockMs;
    try {
      for (;;) {
        const found = await this.#read();
        const token = this.#goodToken(found, known);
        if (token !== undefined) return { token };
        const result = (await this.#lock(owner)) ? await this.#renewLocked(owner, known) : undefined;
        if (result !== undefined) return result;
        if (this.#signal.aborted) return { unshared: "CLOSED" };
        if (clock.monotonicMs() >= untilMs) return { unshared: "LOCKED" };
        await pause(shortestPollMs + (longestPollMs - shortestPollMs) * this.#random());
      }
    } catch (error) {
      return { unshared: error instanceof Ended ? "TIMEOUT" : reasonOf(error) };
    }
  }

  /**
   * The refresh token to end the session with, which no process sends from now on. It waits for a process that is renewing it.
   * Undefined if there is no session, or it's known to have ended. Never rejects.
   */
  async end(): Promise<LastToken | undefined> {
    const owner = crypto.randomUUID();
    const untilMs = clock.monotonicMs() + this.#lockMs;
    let refreshToken = this.#given;
    let isNewest = false;
    try {
      while (!(await this.#lock(owner)) && clock.monotonicMs() < untilMs) await pause(shortestPollMs);
      const found = await this.#read();
      const { spentBy, refreshExpiresAtMs, ...session } = found?.session ?? {};
      refreshToken = session.refreshToken ?? refreshToken;
      if (refreshToken === undefined || spentBy === sessionOver) return undefined;
      // A mark of a process that died isn't replaced: if that process is only late, it stores the newest token.
      if (spentBy === undefined || spentBy === loggedOut) {
        const mark = { refreshToken, refreshExpiresAtMs, spentBy: loggedOut };
        const isMarked = await this.#write(mark, found?.version);
        isNewest = isMarked && session.refreshToken !== undefined;
      }
    } catch {
    } finally {
      this.#unlock(owner);
    }
    return refreshToken === undefined ? undefined : { refreshToken, isNewest };
  }

  /** Undefined if another process changed the entry at the same time. */
  async #renewLocked(owner: string, known: KnownTokens): Promise<SharedResult | undefined> {
    this.#isRequesting = true;
    try {
      const found = await this.#read();
      const token = this.#goodToken(found, known);
      return token === undefined ? await this.#request(owner, found) : { token };
    } finally {
      this.#isRequesting = false;
      this.#unlock(owner);
    }
  }

  async #request(owner: string, found: Found | undefined): Promise<SharedResult | undefined> {
    const { mark, status, leftMs } = heldBy(found?.session);
    if (leftMs > 0 && mark === undefined) {
      return { failure: { class: "throttled", status, retryAfterMs: leftMs }, kind: "refresh" };
    }
    const session = found?.session.refreshToken === undefined ? { refreshToken: this.#given } : found.session;
    const refreshToken = sendableToken(session);
    if (refreshToken === undefined) return this.#logIn(found);
    if (!(await this.#mark({ ...session, spentBy: owner }, found?.version))) return undefined;
    const result = await this.#endpoint.refresh(refreshToken);
    if ("granted" in result) {
      const isShared = await this.#replaceMark(owner, toValue(result.granted, refreshToken));
      return { ...result, grant: "refresh_token", isShared };
    }
    const { failure } = result;
    if (this.#endpoint.canLogIn && decisionOn(failure, "refresh").reaction === "renew-token") {
      // After a refresh, the lock may not last for another request.
      const marked = (await this.#lock(owner)) ? await this.#read() : undefined;
      return marked?.session.spentBy === owner ? this.#logIn(marked) : undefined;
    }
    // By `sessionOver`, a logout finds that nothing is left to end.
    if (isDeadGrant(failure)) await this.#replaceMark(owner, { refreshToken, spentBy: sessionOver });
    else if (!mayBeSpent(failure)) await this.#replaceMark(owner, { ...session, retryNotBefore: noteOf(failure) });
    return { failure: isRefusal(failure) ? { ...failure, class: "session-ended" } : failure, kind: "refresh" };
  }

  async #logIn(found: Found | undefined): Promise<SharedResult> {
    if (!this.#endpoint.canLogIn) return { failure: { class: "session-ended" }, kind: "refresh" };
    const held = heldBy(found?.session);
    const result = await this.#endpoint.login(held.leftMs > 0 ? held : undefined);
    if ("granted" in result) {
      return { ...result, grant: "password", isShared: await this.#tryWrite(toValue(result.granted), found?.version) };
    }
    const { failure } = result;
    const mark = isRefusal(failure) ? await this.#endpoint.credentialsMark() : undefined;
    const retryNotBefore = failure.isNoted ? undefined : noteOf(failure, mark);
    if (retryNotBefore !== undefined) await this.#tryWrite({ ...found?.session, retryNotBefore }, found?.version);
    return { failure, kind: "login" };
  }

  /** Whether the refresh token may be sent now. A store's client may have sent the write twice, and tell of the second. */
  async #mark(session: SharedValue, version: string | undefined): Promise<boolean> {
    return (await this.#write(session, version)) || (await this.#read())?.session.spentBy === session.spentBy;
  }

  /** A failure costs nothing but the sharing. */
  async #replaceMark(owner: string, session: SharedValue): Promise<boolean> {
    const found = await this.#read().catch(() => undefined);
    return found?.session.spentBy === owner && (await this.#tryWrite(session, found.version));
  }

  /** A token of another process that needs no renewal. */
  #goodToken(found: Found | undefined, known: KnownTokens): Token | undefined {
    const { accessToken, lifetimeMs, expiresAtMs = 0 } = found?.session ?? {};
    if (accessToken === undefined || known.includes(accessToken)) return undefined;
    const at = now();
    if (lifetimeMs === undefined) return toToken(accessToken, at, undefined);
    // No longer than its lifetime from now on, whatever the clock of its writer said.
    const leftMs = Math.min(expiresAtMs - at.wallMs, lifetimeMs);
    const token = toToken(accessToken, later(at, leftMs - lifetimeMs), lifetimeMs, this.#leewayMs);
    return leftMs > token.leewayMs ? token : undefined;
  }

  #read(): Promise<Found | undefined> {
    return this.#ask(async (key) => {
      const stored = await this.#store.read(key);
      return stored && { ...stored, session: parseValue(stored.value) };
    });
  }

  #write(session: SharedValue, version: string | undefined): Promise<boolean> {
    const text = JSON.stringify({ v: 1, ...session });
    return this.#ask((key) => this.#store.write(key, text, usefulForMs(session), version));
  }

  #tryWrite(session: SharedValue, version: string | undefined): Promise<boolean> {
    return this.#write(session, version).catch(() => false);
  }

  #lock(owner: string): Promise<boolean> {
    return this.#ask((key) => this.#store.lock(key, owner, this.#lockMs));
  }

  /** Nobody waits for it: the lock ends by itself. */
  #unlock(owner: string): void {
    this.#ask((key) => this.#store.unlock(key, owner)).catch(() => {});
  }

  async #ask<T>(work: (key: string) => Promise<T>): Promise<T> {
    const deadline = new Deadline({ timeoutMs: storeTimeoutMs });
    this.#key ??= keyOf(this.#auth);
    return deadline.race(this.#key.then(work)).finally(() => deadline.finish());
  }
}

const storeTimeoutMs = 2000;
const shortestPollMs = 50;
const longestPollMs = 500;

/** In `spentBy`: a logout, which doesn't use the refresh token up, */
const loggedOut = "logout";
/** and the identity provider, which says that the session has ended. */
const sessionOver = "ended";

/**
 * A hash of whose session it is, so that no process comes across the session of another user, client, or realm. A session that is
 * given by its refresh token is told from others by that.
 */
async function keyOf(auth: PasswordAuth | SessionAuth): Promise<string> {
  const { origin, path } = endpointAddress(auth, "token");
  const owner = "username" in auth ? ["user", auth.username] : ["session", auth.refreshToken];
  const parts = JSON.stringify([origin + path, auth.realm, auth.clientId, ...owner]);
  return encodeHex(await sha256(new TextEncoder().encode(parts)));
}

/** @param kept the refresh token that the response need not repeat. */
function toValue(granted: Granted, kept?: string): SharedValue {
  const { accessToken, lifetimeMs, refreshToken = kept, refreshLifetimeMs, sentAt } = granted;
  const endOf = (ms: number | undefined) => (ms === undefined ? undefined : sentAt.wallMs + ms);
  const expiresAtMs = endOf(lifetimeMs);
  return { accessToken, lifetimeMs, expiresAtMs, refreshToken, refreshExpiresAtMs: endOf(refreshLifetimeMs) };
}

/** @param mark of the credentials of a login that was refused. */
function noteOf(failure: GrantFailure, mark?: string): RetryNotBefore | undefined {
  const { status = 0, retryAfterMs = 0 } = failure;
  const ms = mark !== undefined ? refusedHoldMs(1) : isThrottled(failure) ? Math.min(retryAfterMs, longestAskedMs) : 0;
  return ms === 0 ? undefined : { atMs: now().wallMs + ms, status, mark };
}

/** For how long it's too early to request a token. A note by a clock that is ahead holds nobody. */
function heldBy({ retryNotBefore }: SharedValue = {}): NotedRefusal & { readonly leftMs: number } {
  const { atMs = 0, status = 0, mark } = retryNotBefore ?? {};
  const leftMs = atMs - now().wallMs;
  return { status, mark, leftMs: leftMs > longestAskedMs ? 0 : leftMs };
}

/** An entry that can't be read is empty. */
function parseValue(text: string): SharedValue {
  const { v, ...value } = parseJsonObject(text);
  const isValid = Object.entries(checks).every(([name, isRight]) => value[name] === undefined || isRight(value[name]));
  return v === 1 && isValid ? value : {};
}

const isTime = (part: unknown) => typeof part === "number" && part >= 0;
const isText = (part: unknown) => typeof part === "string" && part !== "";
const checks: Readonly<Record<keyof SharedValue, (part: unknown) => boolean>> = {
  accessToken: isBearerToken,
  lifetimeMs: isTime,
  expiresAtMs: isTime,
  refreshToken: isText,
  refreshExpiresAtMs: isTime,
  spentBy: isText,
  retryNotBefore: (part) => typeof part === "object" && part !== null && isTime(Reflect.get(part, "atMs")),
};

/** The refresh token, if nobody has sent it and it hasn't expired. */
function sendableToken({ refreshToken, refreshExpiresAtMs, spentBy }: SharedValue): string | undefined {
  const isExpired = refreshExpiresAtMs !== undefined && refreshExpiresAtMs <= now().wallMs;
  return spentBy === undefined && !isExpired ? refreshToken : undefined;
}

/** How long the value is of any use: as long as its refresh token, or 30 days if nothing says how long that lives. */
function usefulForMs({ refreshToken, refreshExpiresAtMs, expiresAtMs }: SharedValue): number {
  const endsAtMs = refreshToken === undefined ? expiresAtMs : refreshExpiresAtMs;
  const leftMs = endsAtMs === undefined ? longestMs : endsAtMs - now().wallMs;
  return Math.ceil(Math.min(longestMs, Math.max(1000, leftMs)));
}

const longestMs = 30 * 86_400_000;

/** A call that waits has a timer of its own: this one alone doesn't keep the process. */
function pause(ms: number): Promise<void> {
  return new Promise((resolve) => {
    clock.unrefTimer(clock.setTimer(resolve, ms));
  });
}

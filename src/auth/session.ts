import { clock, later, leftMs, now, sleep, type Timestamp } from "../core/clock.js";
import { Deadline, Ended } from "../core/deadline.js";
import type { TokenEvent } from "../events/events.js";
import type { GrantKind } from "../http/decision.js";
import { parseJsonObject } from "../wire/response.js";
import { reasonOf } from "../wire/transport.js";
import { endpointAddress, type PasswordAuth, type SessionAuth } from "./auth-options.js";
import { type Granted, hashOf, type NotedRefusal, type TokenEndpoint } from "./token-endpoint.js";
import {
  decisionOn,
  type GrantFailure,
  isDeadGrant,
  isRefusal,
  isThrottled,
  longestAskedMs,
  mayBeSpent,
  refusedHoldMs,
} from "./token-error.js";
import type { StoredToken, TokenStore } from "./token-store.js";

export interface SessionOptions {
  /** Where the session is shared with other processes. Default: it belongs to this client alone. */
  readonly store?: TokenStore | undefined;
  readonly auth: PasswordAuth | SessionAuth;
  readonly endpoint: TokenEndpoint;
  /** How long before its expiry a token is renewed. Default: 5 s, or a tenth of its lifetime if that is less. */
  readonly leewayMs?: number | undefined;
  readonly random: () => number;
  /** Aborts the wait for another process. */
  readonly signal: AbortSignal;
}

export interface Token {
  readonly value: string;
  /** A token without a lifetime is used until the service refuses it. */
  readonly expiresAt: Timestamp;
  /** How long before its expiry it is renewed. */
  readonly leewayMs: number;
}

/**
 * A token whose lifetime counts from before its request was sent, since the server's own count can only have started later.
 *
 * @param leewayMs it counts up to half of the lifetime. With a longer one, every call would request a token.
 */
export function toToken(granted: Pick<Granted, "accessToken" | "lifetimeMs" | "sentAt">, leewayMs?: number): Token {
  const { accessToken, lifetimeMs = Number.POSITIVE_INFINITY, sentAt } = granted;
  return {
    value: accessToken,
    expiresAt: later(sentAt, lifetimeMs),
    leewayMs: Math.min(leewayMs ?? Math.min(5000, lifetimeMs / 10), lifetimeMs / 2),
  };
}

/** How long a token can still be used, by whichever clock has less. 0 or below if there is none, or once it has expired. */
export function leftOfToken(token: Token | undefined): number {
  return token === undefined ? 0 : leftMs(token.expiresAt, now());
}

/** The token that the client has, and the last one that the service refused. The client needs another one. */
export type KnownTokens = readonly (string | undefined)[];

export type SessionResult =
  /** There is no event if another process requested the token. */
  | { readonly token: Token; readonly event?: TokenEvent; readonly isShared?: boolean }
  | { readonly failure: GrantFailure; readonly kind: GrantKind };

/** The session as the store holds it. Times are by the wall clock, the only one that machines share. */
interface SessionValue {
  /** Absent until the first refresh of a session that was given by its refresh token. */
  readonly accessToken?: string | undefined;
  /** Absent, like the next one, if the response gave no lifetime. */
  readonly lifetimeMs?: number | undefined;
  readonly expiresAtMs?: number | undefined;
  readonly refreshToken?: string | undefined;
  readonly refreshExpiresAtMs?: number | undefined;
  /** The process that sent the refresh token or is about to, so that no other one sends it, or a word such as `over`. */
  readonly spentBy?: string | undefined;
  /** The endpoint throttles. With a mark, it refused a login with these credentials. */
  readonly retryNotBefore?: (NotedRefusal & { readonly atMs: number }) | undefined;
}

interface Found extends StoredToken {
  readonly session: SessionValue;
}

/** In `spentBy`, in place of a process: this client, which has no other processes beside it, */
const alone = "alone";
/** a logout, which doesn't use the refresh token up, */
const loggedOut = "logout";
/** or the identity provider, which said that the session has ended. */
const over = "ended";

/**
 * One session, in a `TokenStore` for many processes, or in memory for one client.
 *
 * - A process that needs a token reads the entry. Often another process has renewed it already.
 * - Otherwise it takes the entry's lock and reads again. The lock only keeps processes from doing the same work.
 * - It marks the refresh token as spent by compare and set, before it sends it. If that fails, it sends nothing. So a refresh token is
 *   sent once, even if a process is stopped for longer than its lock lasts. An identity provider that rotates refresh tokens ends the
 *   session of the whole fleet if it receives one twice.
 * - It stores the new tokens. If the refresh token certainly wasn't used, it takes the mark back.
 * - If we hold the lock and the mark of another process is still there, that process died or lost the response. Then we log in once.
 *   Without a password, the session is over. A client alone without a password sends its refresh token again: it has nothing to lose.
 * - After a 429 or a refused login, it stores until when no process requests anything (`retryNotBefore`), since identity providers
 *   lock accounts. Other credentials may be tried at once.
 */
export class Session {
  readonly #options: SessionOptions;
  readonly #store: TokenStore;
  readonly #isAlone: boolean;
  /** The beginning of a session without a password, also if the store has lost it. */
  readonly #given: SessionValue;
  readonly #lockMs: number;
  #key: Promise<string> | undefined;

  constructor(options: SessionOptions) {
    const { store, auth, endpoint } = options;
    this.#options = options;
    this.#store = store ?? ownStore();
    this.#isAlone = store === undefined;
    this.#given = "refreshToken" in auth ? { refreshToken: auth.refreshToken } : {};
    // It outlasts reading and marking, 2 s each, and the request.
    this.#lockMs = endpoint.timeoutMs + 5000;
  }

  /** Stores the tokens of a login that has just been made. Never rejects. */
  async begin(granted: Granted): Promise<void> {
    await this.#tryWrite(toValue(granted), undefined);
  }

  /** A good token that another process has requested. Never rejects. */
  async find(known: KnownTokens): Promise<Token | undefined> {
    return this.#goodToken(await this.#read().catch(() => undefined), known);
  }

  /** Another token than the known ones. Never rejects. A store that fails is a failure of the class `unshared`. */
  async renew(known: KnownTokens): Promise<SessionResult> {
    const { random, signal } = this.#options;
    const owner = this.#newOwner();
    // Another process holds the lock twice at most: for a refresh, and for the login that may follow.
    const untilMs = clock.monotonicMs() + 2 * this.#lockMs;
    try {
      for (;;) {
        const token = this.#goodToken(await this.#read(), known);
        if (token !== undefined) return { token };
        if (await this.#lock(owner)) {
          const result = await this.#renewLocked(owner, known).finally(() => this.#unlock(owner));
          if (result !== undefined) return result;
        }
        if (signal.aborted) return unshared("CLOSED");
        if (clock.monotonicMs() >= untilMs) return unshared("LOCKED");
        await sleep(shortestPollMs + (longestPollMs - shortestPollMs) * random());
      }
    } catch (error) {
      return unshared(error instanceof Ended ? "TIMEOUT" : reasonOf(error));
    }
  }

  /**
   * The refresh token to end the session with, which no process sends from now on. It waits for a process that is renewing it.
   * Never rejects, and returns undefined if there is no session or it's known to have ended. `isNewest` says that it certainly is the
   * session's newest one. The identity provider's response about another one proves nothing.
   */
  async end(): Promise<{ readonly refreshToken: string; readonly isNewest: boolean } | undefined> {
    const owner = this.#newOwner();
    const untilMs = clock.monotonicMs() + this.#lockMs;
    let { refreshToken } = this.#given;
    let isNewest = false;
    try {
      while (!(await this.#lock(owner)) && clock.monotonicMs() < untilMs) await sleep(shortestPollMs);
      const found = await this.#read();
      const session = this.#sessionOf(found);
      const { spentBy, refreshExpiresAtMs } = session;
      refreshToken = session.refreshToken;
      if (refreshToken === undefined || spentBy === over) return undefined;
      // A mark of another process stays. If that process is only late, it stores the newest token.
      if (spentBy === undefined || spentBy === loggedOut) {
        const mark = { refreshToken, refreshExpiresAtMs, spentBy: loggedOut };
        const isKnown = this.#isAlone || found?.session.refreshToken !== undefined;
        isNewest = (await this.#write(mark, found?.version)) && isKnown;
      }
    } catch {
    } finally {
      this.#unlock(owner);
    }
    return refreshToken === undefined ? undefined : { refreshToken, isNewest };
  }

  /** Undefined if another process changed the entry at the same time. */
  async #renewLocked(owner: string, known: KnownTokens): Promise<SessionResult | undefined> {
    const { endpoint } = this.#options;
    const found = await this.#read();
    const token = this.#goodToken(found, known);
    if (token !== undefined) return { token };
    const held = heldBy(found);
    if (held !== undefined && held.mark === undefined) {
      const retryAfterMs = held.atMs - now().wallMs;
      return { failure: { class: "throttled", status: held.status, retryAfterMs }, kind: "refresh" };
    }
    const session = this.#sessionOf(found);
    const refreshToken = this.#sendableToken(session);
    if (refreshToken === undefined) return this.#logIn(found);
    const isMarked = await this.#write({ ...session, spentBy: owner }, found?.version);
    // The store's client may have sent the write twice, and report the second.
    if (!isMarked && (await this.#read())?.session.spentBy !== owner) return undefined;
    const result = await endpoint.refresh(refreshToken);
    if ("granted" in result) {
      const isShared = await this.#replaceMark(owner, toValue(result.granted, refreshToken));
      return this.#toResult(result.granted, "refresh_token", isShared);
    }
    const { failure } = result;
    if (endpoint.canLogIn && decisionOn(failure, "refresh").reaction === "renew-token") {
      // After a refresh, the lock may not last for another request.
      const marked = (await this.#lock(owner)) ? await this.#read() : undefined;
      return marked?.session.spentBy === owner ? this.#logIn(marked) : undefined;
    }
    if (isDeadGrant(failure)) {
      // By `over`, a logout finds that nothing is left to end.
      await this.#replaceMark(owner, { refreshToken, spentBy: over });
    } else if (!mayBeSpent(failure)) {
      await this.#replaceMark(owner, { ...session, retryNotBefore: this.#isAlone ? undefined : noteOf(failure) });
    }
    return { failure: isDeadGrant(failure) ? { ...failure, class: "session-ended" } : failure, kind: "refresh" };
  }

  async #logIn(found: Found | undefined): Promise<SessionResult> {
    const { endpoint } = this.#options;
    const result = await endpoint.login(heldBy(found));
    if ("granted" in result) {
      const isShared = await this.#tryWrite(toValue(result.granted), found?.version);
      return this.#toResult(result.granted, "password", isShared);
    }
    const { failure } = result;
    if (!this.#isAlone && !failure.isNoted) {
      const retryNotBefore = noteOf(failure, isRefusal(failure) ? await endpoint.credentialsMark() : undefined);
      if (retryNotBefore !== undefined) await this.#tryWrite({ ...found?.session, retryNotBefore }, found?.version);
    }
    return { failure, kind: "login" };
  }

  #toResult(granted: Granted, grant: TokenEvent["grant"], isWritten: boolean): SessionResult {
    const { lifetimeMs } = granted;
    const event = { grant, ...(lifetimeMs !== undefined && { expiresInMs: lifetimeMs }) };
    return { token: toToken(granted, this.#options.leewayMs), event, isShared: isWritten && !this.#isAlone };
  }

  #sessionOf(found: Found | undefined): SessionValue {
    return found?.session.refreshToken === undefined ? this.#given : found.session;
  }

  /** The refresh token, if no process has sent it and it hasn't expired. */
  #sendableToken({ refreshToken, refreshExpiresAtMs = Number.POSITIVE_INFINITY, spentBy }: SessionValue) {
    const mayBeSent = spentBy === undefined || (spentBy === alone && !this.#options.endpoint.canLogIn);
    return mayBeSent && refreshExpiresAtMs > now().wallMs ? refreshToken : undefined;
  }

  #newOwner(): string {
    return this.#isAlone ? alone : crypto.randomUUID();
  }

  /** If it fails, the client still has its token. */
  async #replaceMark(owner: string, session: SessionValue): Promise<boolean> {
    const found = await this.#read().catch(() => undefined);
    return found?.session.spentBy === owner && (await this.#tryWrite(session, found.version));
  }

  /** A token of another process that needs no renewal. */
  #goodToken(found: Found | undefined, known: KnownTokens): Token | undefined {
    const { accessToken, lifetimeMs, expiresAtMs = Number.POSITIVE_INFINITY } = found?.session ?? {};
    if (accessToken === undefined || known.includes(accessToken)) return undefined;
    const at = now();
    // The clock of its writer may be ahead, so it lives no longer than its lifetime from now on.
    const goneMs = Math.max(0, (lifetimeMs ?? 0) - (expiresAtMs - at.wallMs));
    const token = toToken({ accessToken, lifetimeMs, sentAt: later(at, -goneMs) }, this.#options.leewayMs);
    return leftOfToken(token) > token.leewayMs ? token : undefined;
  }

  #read(): Promise<Found | undefined> {
    return this.#ask(async (key) => {
      const stored = await this.#store.read(key);
      return stored && { ...stored, session: parseValue(stored.value) };
    });
  }

  #write(session: SessionValue, version: string | undefined): Promise<boolean> {
    const text = JSON.stringify({ v: 1, ...session });
    return this.#ask((key) => this.#store.write(key, text, usefulForMs(session), version));
  }

  #tryWrite(session: SessionValue, version: string | undefined): Promise<boolean> {
    return this.#write(session, version).catch(() => false);
  }

  #lock(owner: string): Promise<boolean> {
    return this.#ask((key) => this.#store.lock(key, owner, this.#lockMs));
  }

  /** In the background. The lock also expires. */
  #unlock(owner: string): void {
    this.#ask((key) => this.#store.unlock(key, owner)).catch(() => {});
  }

  async #ask<T>(work: (key: string) => Promise<T>): Promise<T> {
    const deadline = new Deadline({ timeoutMs: storeTimeoutMs });
    this.#key ??= keyOf(this.#options.auth);
    return deadline.race(this.#key.then(work)).finally(() => deadline.finish());
  }
}

const storeTimeoutMs = 2000;
const shortestPollMs = 50;
const longestPollMs = 500;

/** For a client alone, whose token manager makes one renewal at a time. */
function ownStore(): TokenStore {
  let stored: StoredToken | undefined;
  return {
    read: async () => stored,
    lock: async () => true,
    unlock: async () => {},
    async write(_key, value) {
      stored = { value, version: "" };
      return true;
    },
  };
}

function unshared(reason: string): SessionResult {
  return { failure: { class: "unshared", reason }, kind: "refresh" };
}

/**
 * A hash of the session's owner, so that no process reads the session of another user, client, or realm. The owner of a session that was
 * given by its refresh token is that token.
 */
function keyOf(auth: PasswordAuth | SessionAuth): Promise<string> {
  const { origin, path } = endpointAddress(auth, "token");
  const owner = "username" in auth ? ["user", auth.username] : ["session", auth.refreshToken];
  return hashOf([origin + path, auth.realm, auth.clientId, ...owner]);
}

/** @param kept the refresh token that the response need not repeat. */
function toValue(granted: Granted, kept?: string): SessionValue {
  const { accessToken, lifetimeMs, refreshToken = kept, refreshLifetimeMs, sentAt } = granted;
  const endOf = (ms: number | undefined) => (ms === undefined ? undefined : sentAt.wallMs + ms);
  const expiresAtMs = endOf(lifetimeMs);
  return { accessToken, lifetimeMs, expiresAtMs, refreshToken, refreshExpiresAtMs: endOf(refreshLifetimeMs) };
}

/**
 * A note for the other processes. This one remembers it by the monotonic clock.
 *
 * @param mark of the credentials of a login that was refused.
 */
function noteOf(failure: GrantFailure, mark?: string): SessionValue["retryNotBefore"] {
  const { status = 0, retryAfterMs = 0 } = failure;
  const askedMs = isThrottled(failure) ? Math.min(retryAfterMs, longestAskedMs) : 0;
  const ms = mark === undefined ? askedMs : refusedHoldMs;
  return ms === 0 ? undefined : { atMs: now().wallMs + ms, status, mark };
}

/** The note, if it's too early to request a token. */
function heldBy(found: Found | undefined): SessionValue["retryNotBefore"] {
  const note = found?.session.retryNotBefore;
  return note !== undefined && note.atMs > now().wallMs ? note : undefined;
}

/** An entry that can't be read is empty. */
function parseValue(text: string): SessionValue {
  const { v, ...value } = parseJsonObject(text);
  return v === 1 ? value : {};
}

/** How long the value is of any use: as long as its refresh token, or 30 days if nothing says how long that lives. */
function usefulForMs({ refreshToken, refreshExpiresAtMs, expiresAtMs }: SessionValue): number {
  const endsAtMs = (refreshToken === undefined ? expiresAtMs : refreshExpiresAtMs) ?? Number.POSITIVE_INFINITY;
  return Math.ceil(Math.min(longestMs, Math.max(1000, endsAtMs - now().wallMs)));
}

const longestMs = 30 * 86_400_000;

import { later, leftMs, now, type Timestamp } from "../core/clock.js";
import { type Grant, type GrantFailure, isDeadGrant } from "./grant-failure.js";
import type { LastToken } from "./shared-session.js";
import type { Granted } from "./token-endpoint.js";

interface Session {
  readonly refreshToken: string;
  readonly expiresAt?: Timestamp | undefined;
  /** A refresh failed in a way that leaves open whether there is a newer refresh token. This one still names the session. */
  readonly mayBeUsed?: boolean;
  /** The response to it was lost altogether. */
  readonly isLost?: boolean;
  /** The identity server refused to continue it. */
  readonly isOver?: boolean;
  /** It did so on the newest refresh token, so that there is nothing left to end. */
  readonly hasEnded?: boolean;
}

/** The session that is one client's own: its refresh token, and what is known of that. */
export class OwnSession {
  readonly #canLogIn: boolean;
  #session: Session | undefined;
  #ended: GrantFailure = { class: "session-ended" };

  /** @param refreshToken of a session that is continued. */
  constructor(canLogIn: boolean, refreshToken: string | undefined) {
    this.#canLogIn = canLogIn;
    this.#session = refreshToken === undefined ? undefined : { refreshToken };
  }

  /** Why the last session ended. */
  get ended(): GrantFailure {
    return this.#ended;
  }

  /** The refresh token, whether or not the session goes on. */
  get refreshToken(): string | undefined {
    return this.#session?.refreshToken;
  }

  /** The refresh token to end the session with, if it goes on as far as is known. */
  get livingToken(): string | undefined {
    return this.#session?.isOver === true ? undefined : this.refreshToken;
  }

  /**
   * The one to refresh with. Where a login can follow, none is sent again that may have been used: a server that rotates refresh tokens
   * may end the session then.
   */
  get usableToken(): string | undefined {
    if (this.#session === undefined) return undefined;
    const { refreshToken, expiresAt, isLost, isOver } = this.#session;
    if (isOver === true || (isLost === true && this.#canLogIn)) return undefined;
    return expiresAt === undefined || leftMs(expiresAt, now()) > 0 ? refreshToken : undefined;
  }

  /** Absent where there is no session, or the identity server has refused the newest refresh token. */
  lastToken(isRenewing: boolean): LastToken | undefined {
    if (this.#session === undefined || this.#session.hasEnded === true) return undefined;
    const { refreshToken, mayBeUsed } = this.#session;
    return { refreshToken, isNewest: mayBeUsed !== true && !isRenewing };
  }

  /** The response to a refresh need not repeat the refresh token; the one to a login starts a new session. */
  goOn(granted: Granted, grant: Grant): void {
    const session = toSession(granted);
    if (session !== undefined || grant === "password") this.#session = session;
    else if (this.#session !== undefined) this.#session = { ...this.#session, mayBeUsed: false };
  }

  /** To be called when the identity server does not continue the session. */
  end(failure: GrantFailure): void {
    this.#ended = { ...failure, class: "session-ended" };
    if (this.#session === undefined) return;
    const hasEnded = isDeadGrant(failure) && this.#session.mayBeUsed !== true;
    this.#session = { ...this.#session, isOver: true, hasEnded };
  }

  /** What came of the last refresh is unknown. @param isLost whether no response came. */
  doubt(isLost: boolean): void {
    if (this.#session !== undefined) this.#session = { ...this.#session, mayBeUsed: true, isLost };
  }
}

function toSession({ refreshToken, refreshLifetimeMs, sentAt }: Granted): Session | undefined {
  if (refreshToken === undefined) return undefined;
  return { refreshToken, expiresAt: refreshLifetimeMs === undefined ? undefined : later(sentAt, refreshLifetimeMs) };
}

import type { GrantFailure } from "../auth/token-error.js";
import { TokenManager, type TokenManagerOptions } from "../auth/token-manager.js";
import { TokenError } from "../core/errors.js";
import type { TokenEvent } from "../events/events.js";
import type { OpenTokenSource } from "../http/token-source.js";

/** The tokens of one user, for all clients that act for them. There are none at first. */
export class UserTokens {
  readonly #listeners = new Set<(event: TokenEvent) => void>();
  #manager: TokenManager | undefined;
  #hasEnded = false;
  /** The manager of a session that is to end, until it's known to have ended. */
  #leaving: TokenManager | undefined;

  /** Whether there is a session that isn't known to have ended. */
  get isOpen(): boolean {
    return this.#manager !== undefined && !this.#hasEnded;
  }

  /** Opens a session, and replaces the one before it. */
  open(options: Omit<TokenManagerOptions, "onToken">): TokenManager {
    this.#hasEnded = false;
    this.#manager = new TokenManager({
      ...options,
      onToken: (event) => {
        for (const listener of this.#listeners) listener(event);
      },
    });
    return this.#manager;
  }

  /** Forgets the tokens and ends the session, or again one that may have continued. Without a session, it does nothing. */
  async end(): Promise<GrantFailure | undefined> {
    const leaving = this.#manager ?? this.#leaving;
    this.#manager = undefined;
    this.#leaving = leaving;
    const failure = await leaving?.endSession();
    if (failure === undefined && this.#leaving === leaving) this.#leaving = undefined;
    return failure;
  }

  readonly source: OpenTokenSource = (onToken) => {
    this.#listeners.add(onToken);
    return {
      current: (deadline, maxRetries) => {
        const token = this.#manager?.current(deadline, maxRetries);
        return typeof token === "string" ? token : this.#ask(() => token);
      },
      renew: (used, deadline, maxRetries) => this.#ask((manager) => manager.renew(used, deadline, maxRetries)),
      refused: (token) => this.#manager?.refused(token),
      accepted: (token) => this.#manager?.accepted(token),
      hold: () => this.#manager?.hold(),
      // Other clients may act for the same user.
      close: async () => void this.#listeners.delete(onToken),
    };
  };

  /** The error of a session that has ended names the user instead of the client. */
  async #ask<T>(work: (manager: TokenManager) => Promise<T> | undefined): Promise<T> {
    const manager = this.#manager;
    const asked = manager && work(manager);
    if (asked === undefined) {
      const code = "login_required";
      throw new TokenError("No user is logged in: there was no login, or a logout. Let the user log in.", { code });
    }
    try {
      return await asked;
    } catch (error) {
      // A refusal that is held is of the client, and not of the session.
      const hasEnded = error instanceof TokenError && error.code === "login_refused" && error.heldUntilMs === undefined;
      if (!hasEnded) throw error;
      if (this.#manager === manager) this.#hasEnded = true;
      const { status, serviceCode, serviceMessage } = error;
      const details = { code: "session_ended", status, serviceCode, serviceMessage } as const;
      throw new TokenError("The user's session has expired, or was ended. Let the user log in again.", details);
    }
  }
}

import type { GrantFailure } from "../auth/grant-failure.js";
import { JointWork } from "../auth/joint-work.js";
import { TokenManager, type TokenManagerOptions } from "../auth/token-manager.js";
import type { OpenTokenSource } from "../auth/token-source.js";
import { TokenError } from "../core/errors.js";
import type { TokenEvent } from "../events/events.js";
import { loginError } from "./login-error.js";

/** The tokens of one user, for all clients that act for them. It starts out with none. */
export class UserTokens {
  readonly #listeners = new Set<(event: TokenEvent) => void>();
  #manager: TokenManager | undefined;
  #hasEnded = false;
  /** Of a session that is to end, until it is known to have ended. */
  #leaving: TokenManager | undefined;
  readonly #ending = new JointWork<GrantFailure | undefined>(60_000);

  /** Whether there is a session that is not known to have ended. */
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

  /** Pending while the session is being ended. */
  get ending(): Promise<unknown> | undefined {
    return this.#ending.current;
  }

  /** Forgets the tokens, and ends the session; one that may have gone on is ended again. Where there is none, nothing happens. */
  end(): Promise<GrantFailure | undefined> {
    const manager = this.#manager;
    this.#manager = undefined;
    if (manager === undefined) return this.#ending.join(() => this.#end());
    this.#leaving = manager;
    return this.#ending.start((end) => this.#end().finally(end));
  }

  async #end(): Promise<GrantFailure | undefined> {
    const leaving = this.#leaving;
    const failure = await leaving?.endSession();
    if (failure === undefined && this.#leaving === leaving) this.#leaving = undefined;
    return failure;
  }

  readonly source: OpenTokenSource = (onToken) => {
    this.#listeners.add(onToken);
    return {
      preload: () => this.#manager?.preload(),
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

  /** A session that was given by its refresh token is refused where it has ended, and only there. */
  async #ask<T>(work: (manager: TokenManager) => Promise<T> | undefined): Promise<T> {
    const manager = this.#manager;
    const asked = manager === undefined ? undefined : work(manager);
    if (asked === undefined) throw loginError("login_required", "there was no login, or a logout; let the user log in");
    try {
      return await asked;
    } catch (error) {
      if (!(error instanceof TokenError) || error.code !== "login_refused") throw error;
      if (this.#manager === manager) this.#hasEnded = true;
      const { status, serviceCode, serviceMessage } = error;
      throw new TokenError("the user's session has expired, or was ended; let the user log in again", {
        code: "session_ended",
        status,
        serviceCode,
        serviceMessage,
      });
    }
  }
}

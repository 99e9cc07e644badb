import type { Deadline } from "../core/deadline.js";
import type { GrantFailure } from "./grant-failure.js";
import { loaded, loadOpenIdGrant } from "./loaded.js";
import type { Granted } from "./token-endpoint.js";
import type { TokenHold } from "./token-hold.js";
import type { TokenManager, TokenManagerOptions } from "./token-manager.js";
import type { TokenSource } from "./token-source.js";

/** A `TokenManager` that is loaded with the first call, and with it whatever requests tokens: a page with a token of its own never loads it. */
export class LateTokenManager implements TokenSource {
  readonly #options: TokenManagerOptions;
  #manager: TokenManager | undefined;
  #opening: Promise<TokenManager> | undefined;

  constructor({ auth, ...options }: TokenManagerOptions) {
    this.#options = { ...options, auth: { ...auth } };
  }

  preload(): void {
    // At once, and not after the manager, which would ask for it.
    loadOpenIdGrant().catch(() => {});
    this.#open().catch(() => {});
  }

  async begin(granted: Granted): Promise<void> {
    await (await this.#open()).begin(granted);
  }

  current(deadline: Deadline, maxRetries: number): string | Promise<string> {
    return this.#manager === undefined
      ? this.#ask(deadline, (manager) => manager.current(deadline, maxRetries))
      : this.#manager.current(deadline, maxRetries);
  }

  renew(used: string, deadline: Deadline, maxRetries: number): Promise<string> {
    return this.#ask(deadline, (manager) => manager.renew(used, deadline, maxRetries));
  }

  refused(used: string): void {
    this.#manager?.refused(used);
  }

  accepted(token: string): void {
    this.#manager?.accepted(token);
  }

  hold(): TokenHold | undefined {
    return this.#manager?.hold();
  }

  async endSession(): Promise<GrantFailure | undefined> {
    return (await this.#open()).endSession();
  }

  async close(): Promise<void> {
    const manager = await this.#opening?.catch(() => undefined);
    await manager?.close();
  }

  async #ask<T>(deadline: Deadline, work: (manager: TokenManager) => T | Promise<T>): Promise<T> {
    return work(this.#manager ?? (await deadline.race(this.#open())));
  }

  /** What can't be loaded is loaded again by the next call. */
  #open(): Promise<TokenManager> {
    this.#opening ??= this.#load().catch((error) => {
      this.#opening = undefined;
      throw error;
    });
    return this.#opening;
  }

  async #load(): Promise<TokenManager> {
    const { TokenManager } = await loaded(import("./token-manager.js"));
    this.#manager = new TokenManager(this.#options);
    return this.#manager;
  }
}

import type { SharedValue } from "./shared-value.js";
import type { TokenStore } from "./token-store.js";

/**
 * What this process knows better than a store: by a mark's owner what belongs in the place of the mark, where the store was away when it was
 * written; and by a client and its refresh token what came of that, for a store that has lost its last writes. It outlives the session,
 * since a user's is opened anew for each request.
 */
export class UnwrittenValues {
  static readonly #ofStores = new WeakMap<TokenStore, UnwrittenValues>();
  readonly #values = new Map<string | undefined, SharedValue>();

  static of(store: TokenStore): UnwrittenValues {
    const values = UnwrittenValues.#ofStores.get(store) ?? new UnwrittenValues();
    UnwrittenValues.#ofStores.set(store, values);
    return values;
  }

  get(key: string | undefined): SharedValue | undefined {
    return this.#values.get(key);
  }

  /** What came in the end of what lies there. */
  newest(client: string, value: SharedValue): SharedValue {
    const next = this.get(client + value.refreshToken) ?? value;
    return next.refreshToken === value.refreshToken ? next : this.newest(client, next);
  }

  /** A store that can be read, but takes no writes, for hours, does not fill the memory: the oldest are forgotten. */
  note(key: string, value: SharedValue): void {
    this.#values.set(key, value);
    for (const oldest of this.#values.keys()) {
      if (this.#values.size <= mostUnwritten) return;
      this.#values.delete(oldest);
    }
  }

  forget(key: string | undefined): void {
    this.#values.delete(key);
  }
}

/** Some ten megabytes of tokens. */
const mostUnwritten = 4000;

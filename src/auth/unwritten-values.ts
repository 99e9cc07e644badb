import type { SharedValue } from "./shared-value.js";
import type { TokenStore } from "./token-store.js";

/**
 * What belongs into a store in the place of a mark, by the mark's owner, where the store was away when it was written. It outlives
 * the session, since a user's is opened anew for each request.
 */
export class UnwrittenValues {
  static readonly #ofStores = new WeakMap<TokenStore, UnwrittenValues>();
  readonly #values = new Map<string | undefined, SharedValue>();

  static of(store: TokenStore): UnwrittenValues {
    const values = UnwrittenValues.#ofStores.get(store) ?? new UnwrittenValues();
    UnwrittenValues.#ofStores.set(store, values);
    return values;
  }

  get(owner: string | undefined): SharedValue | undefined {
    return this.#values.get(owner);
  }

  /** A store that can be read, but takes no writes, for hours, does not fill the memory: the oldest are forgotten. */
  note(owner: string, value: SharedValue): void {
    this.#values.set(owner, value);
    for (const oldest of this.#values.keys()) {
      if (this.#values.size <= mostUnwritten) return;
      this.#values.delete(oldest);
    }
  }

  forget(owner: string | undefined): void {
    this.#values.delete(owner);
  }
}

/** Some megabytes of tokens. */
const mostUnwritten = 1000;

import type { SharedValue } from "./shared-value.js";
import type { TokenStore } from "./token-store.js";

/** What this process knows better than a store. It outlives the session, since a user's is opened anew for each request. */
export class UnwrittenValues {
  static readonly #ofStores = new WeakMap<TokenStore, UnwrittenValues>();
  readonly #values = new Map<string | undefined, SharedValue>();
  readonly #used = new Map<string | undefined, SharedValue>();

  static of(store: TokenStore): UnwrittenValues {
    const values = UnwrittenValues.#ofStores.get(store) ?? new UnwrittenValues();
    UnwrittenValues.#ofStores.set(store, values);
    return values;
  }

  /** What belongs there in the place of this owner's mark, where the store was away when it was written. */
  get(owner: string | undefined): SharedValue | undefined {
    return this.#values.get(owner);
  }

  note(owner: string, value: SharedValue): void {
    keep(this.#values, owner, value);
  }

  forget(owner: string | undefined): void {
    this.#values.delete(owner);
  }

  /**
   * What came of a refresh token, which a store has again that has lost its last writes.
   *
   * @param client whose token it is: another identity server might give the same text.
   */
  noteUsed(client: string, refreshToken: string, value: SharedValue): void {
    // One that has just been issued is good, whatever came of it before.
    this.#used.delete(client + value.refreshToken);
    keep(this.#used, client + refreshToken, value);
  }

  isUsed(client: string, refreshToken: string): boolean {
    return this.#used.has(client + refreshToken);
  }

  /** What came in the end of what lies there. */
  newest(client: string, value: SharedValue): SharedValue {
    const next = this.#used.get(client + value.refreshToken) ?? value;
    return next.refreshToken === value.refreshToken ? next : this.newest(client, next);
  }
}

/** A store that can be read, but takes no writes, for hours, does not fill the memory: the oldest are forgotten. */
function keep(values: Map<string | undefined, SharedValue>, key: string, value: SharedValue): void {
  values.set(key, value);
  for (const oldest of values.keys()) {
    if (values.size <= mostKept) return;
    values.delete(oldest);
  }
}

/** Some megabytes of tokens. */
const mostKept = 1000;

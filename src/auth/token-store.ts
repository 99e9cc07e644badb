/** What a store has under a key. */
export interface StoredToken {
  readonly value: string;
  /** Another one after each write, even of the same value. */
  readonly version: string;
}

export function isTokenStore(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  return ["read", "lock", "unlock", "write"].every((name) => typeof Reflect.get(value, name) === "function");
}

/**
 * Where the processes of a fleet keep the session that they share: `RedisTokenStore`, `PostgresTokenStore`, `MemoryTokenStore`, or
 * one of your own, which `verifyTokenStore` of `cross-border-payments/testing` checks.
 *
 * A value holds tokens in the clear: a store of your own encrypts it, and binds it to its key. Where a method rejects, or takes
 * longer than 2 s, the store counts as away: the client goes on without it.
 */
export interface TokenStore {
  /** The stored value and its version, or undefined: nothing was written, its time is over, or it can't be read. */
  read(key: string): Promise<StoredToken | undefined>;
  /** True for one owner at a time; ends by itself after `ms`. The owner that has it may lock again, and its time starts anew. */
  lock(key: string, owner: string, ms: number): Promise<boolean>;
  /** Does nothing when another owner holds it. */
  unlock(key: string, owner: string): Promise<void>;
  /**
   * Stores, unless the version is no longer the one that was read: `undefined` where `read` returned that. Needs no lock.
   *
   * @param ttlMs after which the value is gone.
   * @returns false where nothing was stored.
   */
  write(key: string, value: string, ttlMs: number, version: string | undefined): Promise<boolean>;
}

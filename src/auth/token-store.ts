import { isFunction } from "../core/parse.js";

/** An entry of a store. */
export interface StoredToken {
  readonly value: string;
  /** Changes with each write, even of the same value. */
  readonly version: string;
}

export function isTokenStore(value: unknown): boolean {
  return ["read", "lock", "unlock", "write"].every((name) => isFunction(Reflect.get(Object(value), name)));
}

/**
 * Where the processes of a fleet keep the session that they share: `RedisTokenStore`, `PostgresTokenStore`, `MemoryTokenStore`, or
 * one of your own, which `verifyTokenStore` of `cross-border-payments/testing` checks.
 *
 * A value holds plain tokens. Your own store must encrypt it and bind it to its key. If a method rejects or takes longer than 2 s, the
 * client continues without the store.
 */
export interface TokenStore {
  /** The stored value and its version. Undefined if there is none, if it has expired, or if it can't be read. */
  read(key: string): Promise<StoredToken | undefined>;
  /** True for one owner at a time. The lock expires after `ms`. Its owner can lock again, and its time starts again. */
  lock(key: string, owner: string, ms: number): Promise<boolean>;
  /** Does nothing if another owner holds it. */
  unlock(key: string, owner: string): Promise<void>;
  /**
   * Stores the value, unless the version is no longer the one that was read. `undefined` means that `read` returned undefined. Needs
   * no lock.
   *
   * @param ttlMs the value expires after this time.
   * @returns false if nothing was stored.
   */
  write(key: string, value: string, ttlMs: number, version: string | undefined): Promise<boolean>;
}

import type { StoredToken, TokenStore } from "../auth/token-store.js";
import { clock } from "../core/clock.js";

/** A token store in memory, for several clients of one process and for tests. It encrypts nothing. */
export class MemoryTokenStore implements TokenStore {
  readonly #tokens = new Map<string, StoredToken & { readonly untilMs: number }>();
  readonly #locks = new Map<string, { readonly owner: string; readonly untilMs: number }>();
  readonly #nowMs: () => number;
  #writes = 0;

  /** @internal */
  constructor(nowMs = () => clock.monotonicMs()) {
    this.#nowMs = nowMs;
  }

  async read(key: string): Promise<StoredToken | undefined> {
    return this.#stored(key);
  }

  async lock(key: string, owner: string, ms: number): Promise<boolean> {
    const nowMs = this.#nowMs();
    const held = this.#locks.get(key);
    if (held !== undefined && held.owner !== owner && held.untilMs > nowMs) return false;
    this.#locks.set(key, { owner, untilMs: nowMs + ms });
    return true;
  }

  async unlock(key: string, owner: string): Promise<void> {
    if (this.#locks.get(key)?.owner === owner) this.#locks.delete(key);
  }

  async write(key: string, value: string, ttlMs: number, version: string | undefined): Promise<boolean> {
    if (this.#stored(key)?.version !== version) return false;
    this.#writes += 1;
    this.#tokens.set(key, { value, version: String(this.#writes), untilMs: this.#nowMs() + ttlMs });
    return true;
  }

  #stored(key: string) {
    const stored = this.#tokens.get(key);
    return stored && stored.untilMs > this.#nowMs() ? stored : undefined;
  }
}

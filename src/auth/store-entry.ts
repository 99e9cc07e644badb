import { sha256 } from "#platform";
import { Deadline, Ended } from "../core/deadline.js";
import { encodeHex } from "../platform/encodings.js";
import { reasonOf } from "../wire/wire-failure.js";
import { type PasswordAuth, type SessionAuth, tokenEndpointAddress } from "./auth-options.js";
import { readSharedValue, type SharedValue, usefulForMs, writeSharedValue } from "./shared-value.js";
import type { TokenStore } from "./token-store.js";

export interface Found {
  /** Empty where the text makes no sense, or is longer than any session. */
  readonly value: SharedValue;
  readonly text: string;
  readonly version: string;
}

/** The store failed, or took too long. */
export class StoreAway extends Error {
  /** A code such as `ECONNREFUSED`. */
  readonly reason: string;

  constructor(reason: string) {
    super(reason);
    this.name = "StoreAway";
    this.reason = reason;
  }
}

/** The one entry of a store that belongs to these credentials. Every method is over within 2 s, and throws `StoreAway` only. */
export class StoreEntry {
  readonly #store: TokenStore;
  readonly #auth: PasswordAuth | SessionAuth;
  #key: Promise<string> | undefined;

  constructor(store: TokenStore, auth: PasswordAuth | SessionAuth) {
    this.#store = store;
    this.#auth = auth;
  }

  read(): Promise<Found | undefined> {
    return this.#ask(async (key) => {
      const stored = await this.#store.read(key);
      if (stored === undefined || stored === null) return undefined;
      const { value: text, version } = stored;
      if (typeof text !== "string" || typeof version !== "string") throw new StoreAway("NOT_A_STORED_TOKEN");
      return { value: (text.length <= maxLength ? readSharedValue(text) : undefined) ?? {}, text, version };
    });
  }

  /** @returns the text that was stored; undefined where the version is another one by now, or the text too long to be read again. */
  write(value: SharedValue, version: string | undefined): Promise<string | undefined> {
    const text = writeSharedValue(value);
    if (text.length > maxLength) return Promise.resolve(undefined);
    return this.#ask(async (key) => {
      const isStored = await this.#store.write(key, text, usefulForMs(value), version);
      return isStored === true ? text : undefined;
    });
  }

  lock(owner: string, ms: number): Promise<boolean> {
    return this.#ask(async (key) => {
      const isLocked: unknown = await this.#store.lock(key, owner, ms);
      // Taken for a no, a yes in a store's own words would keep every process waiting for a lock that nobody has.
      if (isLocked && isLocked !== true) throw new StoreAway("NOT_A_BOOLEAN");
      return isLocked === true;
    });
  }

  unlock(owner: string): Promise<void> {
    return this.#ask((key) => this.#store.unlock(key, owner));
  }

  async #ask<T>(work: (key: string) => Promise<T>): Promise<T> {
    const deadline = new Deadline({ timeoutMs: timeoutMs });
    try {
      this.#key ??= keyOf(this.#auth);
      return await deadline.race(this.#key.then(work));
    } catch (error) {
      if (error instanceof StoreAway) throw error;
      throw new StoreAway(error instanceof Ended ? "TIMEOUT" : reasonOf(error));
    } finally {
      deadline.finish();
    }
  }
}

const timeoutMs = 2000;

/** The longest text that is read. Tokens that are longer fit into no header. */
const maxLength = 2 ** 18;

/**
 * A hash of whose session it is, so that no process can come across the session of another user, client or realm. A session that
 * is given by its refresh token is told from others by that.
 */
async function keyOf(auth: PasswordAuth | SessionAuth): Promise<string> {
  const { origin, path } = tokenEndpointAddress(auth);
  const owner = "username" in auth ? ["user", auth.username] : ["session", auth.refreshToken];
  const parts = JSON.stringify([origin + path, auth.realm, auth.clientId, ...owner]);
  return encodeHex(await sha256(new TextEncoder().encode(parts)));
}

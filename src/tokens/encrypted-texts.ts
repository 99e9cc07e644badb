import type { StoredToken } from "../auth/token-store.js";
import { maxStoredLength, TokenCipher, type TokenEncryptionKey } from "./token-cipher.js";

/** Texts under keys, in a server. One that is longer than `maxStoredLength` counts as nothing. */
export interface ServerTexts {
  get(key: string): Promise<string | undefined>;
  /** Stores the text if what lies there is `expected`; `undefined` stands for nothing. */
  put(key: string, text: string, ttlMs: number, expected: string | undefined): Promise<boolean>;
}

/** Values in a server that sees only what they are encrypted to. No two of those are the same, so each is its own version. */
export class EncryptedTexts {
  readonly #texts: ServerTexts;
  readonly #cipher: TokenCipher;

  /**
   * @param store for messages.
   * @throws {ConfigError} when the key is not 32 bytes.
   */
  constructor(texts: ServerTexts, encryptionKey: TokenEncryptionKey, store: string) {
    this.#texts = texts;
    this.#cipher = new TokenCipher(encryptionKey, store);
  }

  async read(key: string): Promise<StoredToken | undefined> {
    const text = await this.#texts.get(key);
    if (text === undefined) return undefined;
    const value = await this.#cipher.decrypt(key, text);
    return value === undefined ? undefined : { value, version: text };
  }

  async write(key: string, value: string, ttlMs: number, version: string | undefined): Promise<boolean> {
    const text = await this.#cipher.encrypt(key, value);
    if (text.length > maxStoredLength) return false;
    if (await this.#texts.put(key, text, ttlMs, version)) return true;
    if (version !== undefined) return false;
    // What can't be read counts as absent, or it would be in the way until its time is over.
    const found = await this.#texts.get(key);
    if (found === undefined || (await this.#cipher.decrypt(key, found)) !== undefined) return false;
    return this.#texts.put(key, text, ttlMs, found);
  }
}

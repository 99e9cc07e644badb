import type { StoredToken } from "../auth/token-store.js";
import type { Check } from "../core/parse.js";
import { decodeBase64, encodeBase64, encodeUtf8 } from "../platform/encodings.js";

/** 32 random bytes, plain or in Base64, as `openssl rand -base64 32` prints them. All processes of a fleet must have the same. */
export type TokenEncryptionKey = string | Uint8Array;

/** The option of each store. */
export const encryptionKeyOption: Check = {
  accepts: (value) => bytesOf(value)?.length === 32,
  expected: "32 random bytes, or those in Base64 (openssl rand -base64 32)",
  isRequired: true,
  isSecret: true,
};

function bytesOf(key: unknown): Uint8Array | undefined {
  if (typeof key === "string") return decodeBase64(key);
  return key instanceof Uint8Array ? key : undefined;
}

/** Texts under keys, in a server. */
export interface ServerTexts {
  get(key: string): Promise<string | undefined>;
  /** Stores the text if the current one is `expected`. `undefined` means that there is none. */
  put(key: string, text: string, ttlMs: number, expected: string | undefined): Promise<boolean>;
}

/** Another format would begin with another number. */
const format = "1.";
const nonceBytes = 12;

/**
 * Values in a server that sees only encrypted texts, by AES-256-GCM with the entry's key as associated data. No two texts are the same,
 * so each is its own version.
 */
export class EncryptedTexts {
  readonly #texts: ServerTexts;
  readonly #bytes: Uint8Array<ArrayBuffer>;
  #imported: ReturnType<typeof crypto.subtle.importKey> | undefined;

  /** @param encryptionKey as `encryptionKeyOption` accepts it. */
  constructor(texts: ServerTexts, encryptionKey: TokenEncryptionKey) {
    this.#texts = texts;
    this.#bytes = new Uint8Array(bytesOf(encryptionKey) ?? []);
  }

  async read(key: string): Promise<StoredToken | undefined> {
    const text = await this.#texts.get(key);
    if (text === undefined) return undefined;
    const value = await this.#decrypt(key, text);
    return value === undefined ? undefined : { value, version: text };
  }

  async write(key: string, value: string, ttlMs: number, version: string | undefined): Promise<boolean> {
    const text = await this.#encrypt(key, value);
    if (await this.#texts.put(key, text, ttlMs, version)) return true;
    if (version !== undefined) return false;
    // An unreadable text counts as absent. Otherwise it would be in the way until it expires.
    const found = await this.#texts.get(key);
    if (found === undefined || (await this.#decrypt(key, found)) !== undefined) return false;
    return this.#texts.put(key, text, ttlMs, found);
  }

  async #encrypt(key: string, value: string): Promise<string> {
    const nonce = crypto.getRandomValues(new Uint8Array(nonceBytes));
    const sealed = await crypto.subtle.encrypt(parametersOf(key, nonce), await this.#key(), encodeUtf8(value));
    return format + encodeBase64(new Uint8Array([...nonce, ...new Uint8Array(sealed)]));
  }

  /** Undefined if the text was not made with this key, or for another place, or was changed since. */
  async #decrypt(key: string, text: string): Promise<string | undefined> {
    if (!text.startsWith(format)) return undefined;
    const bytes = new Uint8Array(decodeBase64(text.slice(format.length)) ?? []);
    const parameters = parametersOf(key, bytes.slice(0, nonceBytes));
    try {
      const opened = await crypto.subtle.decrypt(parameters, await this.#key(), bytes.slice(nonceBytes));
      return new TextDecoder().decode(opened);
    } catch {
      return undefined;
    }
  }

  /** Not in the constructor: some runtimes allow no such work while modules load. */
  #key() {
    this.#imported ??= crypto.subtle.importKey("raw", this.#bytes, "AES-GCM", false, ["encrypt", "decrypt"]);
    return this.#imported;
  }
}

function parametersOf(key: string, iv: Uint8Array<ArrayBuffer>) {
  const additionalData = encodeUtf8(`cross-border-payments token ${format}${key}`);
  return { name: "AES-GCM", iv, additionalData };
}

import { encodeBase64 } from "#platform";
import { counted } from "../core/describe.js";
import { ConfigError } from "../core/errors.js";

/** 32 random bytes, as they are or in Base64: `openssl rand -base64 32` prints some. The same for all processes of a fleet. */
export type TokenEncryptionKey = string | Uint8Array;

/** Encrypts what lies in a store: AES-256-GCM, with the key under which a value lies as associated data. */
export class TokenCipher {
  readonly #bytes: Uint8Array<ArrayBuffer>;
  #imported: Promise<CryptoKeyLike> | undefined;

  /**
   * @param store for messages.
   * @throws {ConfigError} when the key is not 32 bytes.
   */
  constructor(encryptionKey: TokenEncryptionKey, store: string) {
    this.#bytes = new Uint8Array(readKey(encryptionKey, store));
  }

  async encrypt(key: string, value: string): Promise<string> {
    const nonce = globalThis.crypto.getRandomValues(new Uint8Array(nonceBytes));
    const parameters = parametersOf(key, nonce);
    const sealed = await globalThis.crypto.subtle.encrypt(
      parameters,
      await this.#key(),
      new TextEncoder().encode(value),
    );
    const text = new Uint8Array(nonceBytes + sealed.byteLength);
    text.set(nonce);
    text.set(new Uint8Array(sealed), nonceBytes);
    return format + encodeBase64(text);
  }

  /** Undefined where the text was not made with this key, or for another place, or was changed since, or is too long. */
  async decrypt(key: string, text: string): Promise<string | undefined> {
    const isReadable = text.length <= maxStoredLength && text.startsWith(format);
    const bytes = isReadable ? decodeBase64(text.slice(format.length)) : undefined;
    if (bytes === undefined) return undefined;
    const parameters = parametersOf(key, new Uint8Array(bytes.subarray(0, nonceBytes)));
    const imported = await this.#key();
    try {
      const sealed = new Uint8Array(bytes.subarray(nonceBytes));
      return new TextDecoder().decode(await globalThis.crypto.subtle.decrypt(parameters, imported, sealed));
    } catch {
      return undefined;
    }
  }

  #key(): Promise<CryptoKeyLike> {
    this.#imported ??= globalThis.crypto.subtle.importKey("raw", this.#bytes, "AES-GCM", false, ["encrypt", "decrypt"]);
    return this.#imported;
  }
}

type CryptoKeyLike = Awaited<ReturnType<typeof globalThis.crypto.subtle.importKey>>;

/** No session is longer, encrypted: anyone who can write into a store must not be able to stop the processes that read it. */
export const maxStoredLength = 2 ** 20;

/** Another format would begin with another number. */
const format = "1.";
const nonceBytes = 12;
const keyBytes = 32;

function parametersOf(key: string, iv: Uint8Array<ArrayBuffer>) {
  const additionalData = new TextEncoder().encode(`cross-border-payments token ${format}${key}`);
  return { name: "AES-GCM", iv, additionalData };
}

function readKey(given: unknown, store: string): Uint8Array {
  const bytes = typeof given === "string" ? decodeBase64(given) : given;
  if (bytes instanceof Uint8Array && bytes.length === keyBytes) return bytes;
  const found =
    bytes instanceof Uint8Array
      ? counted(bytes.length, "byte")
      : typeof given === "string"
        ? "a string that is not Base64"
        : typeof given;
  throw new ConfigError(
    `${store}: encryptionKey must be ${keyBytes} random bytes, or those in Base64 (openssl rand -base64 32); got ${found}`,
  );
}

/** The module with the other decoder would be one more file that every import of the client loads. */
function decodeBase64(text: string): Uint8Array<ArrayBuffer> | undefined {
  try {
    const decoded = atob(text);
    const bytes = new Uint8Array(decoded.length);
    // A tenth of the time that `Uint8Array.from` takes.
    for (let at = 0; at < bytes.length; at++) bytes[at] = decoded.charCodeAt(at);
    return bytes;
  } catch {
    return undefined;
  }
}

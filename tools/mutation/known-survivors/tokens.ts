import type { KnownSurvivor } from "../known-survivor.js";

const tokenCipher = "src/tokens/token-cipher.ts";

const noSuchLength = "No encrypted text has that length: Base64 in fours after a format of two characters.";
const ends = "A function that ends gives undefined.";

export const tokens: readonly KnownSurvivor[] = [
  {
    file: "src/tokens/encrypted-texts.ts",
    line: "if (text.length > maxStoredLength) return false;",
    replacement: "text.length >= maxStoredLength",
    why: noSuchLength,
  },
  {
    file: "src/tokens/memory-token-store.ts",
    line: "this.#writes += 1;",
    replacement: "this.#writes -= 1",
    why: "Each write has a number of its own in that direction too.",
  },
  {
    file: "src/tokens/memory-token-store.ts",
    line: "this.#tokens.delete(key);",
    replacement: ";",
    why: "Only memory, in which a secret stays that nobody can read any more.",
  },
  {
    file: "src/tokens/postgres-token-store.ts",
    line: 'return typeof value === "string" ? value : undefined;',
    original: 'typeof value === "string"',
    replacement: "true",
    why: "For the compiler: of a row that is found the value is a text, and without a row it is undefined.",
  },
  {
    file: tokenCipher,
    line: "const isReadable = text.length <= maxStoredLength && text.startsWith(format);",
    original: "text.length <= maxStoredLength",
    replacement: "text.length < maxStoredLength",
    why: noSuchLength,
  },
  { file: tokenCipher, line: "} catch {", replacement: "{}", why: ends },
  {
    file: tokenCipher,
    line: 'this.#imported ??= globalThis.crypto.subtle.importKey("raw", this.#bytes, "AES-GCM", false, ["encrypt", "decrypt"]);',
    original: "false",
    replacement: "true",
    why: "Nobody but this class has the imported key, to take out of it the bytes that the class has anyway.",
  },
  {
    file: tokenCipher,
    line: "for (let at = 0; at < bytes.length; at++) bytes[at] = decoded.charCodeAt(at);",
    replacement: "at <= bytes.length",
    why: "An array of bytes ignores what is written behind its end.",
  },
];

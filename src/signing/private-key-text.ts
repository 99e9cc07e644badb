import { decodeBase64 } from "../platform/base64.js";

/**
 * Whether a text is, or contains, a private key: PEM, OpenSSH, PuTTY, JWK or XML, or DER or any of those in Base64 (of either
 * alphabet, in lines or not, twice over) or in hex. It looks for marks instead of reading the key, so that a key that is cut
 * off, or that stands beside a public one, is found too.
 */
export function holdsPrivateKey(text: string): boolean {
  return isMarked(text) || (text.length <= longestEncoded && holdsEncodedKey(text, mostLayers));
}

/** No private RSA key is shorter in any of these forms. */
export const shortestPrivateKey = 256;

const mostLayers = 3;

/** Longer than an RSA key of 16,384 bits in Base64 of Base64. */
const longestEncoded = 2 ** 15;

function isMarked(text: string): boolean {
  return marks.some((all) => all.every((mark) => mark.test(text)));
}

/** The marks of each form; a form with several marks needs all of them. */
const marks: readonly (readonly RegExp[])[] = [
  [/BEGIN.{0,40}PRIVATE.{1,9}KEY/s],
  [/openssh-key-v1/],
  [/PuTTY-User-Key-File|Private-Lines:/],
  [/\bkty\b/, /\bd\\?["']?\s*:/],
  [/<RSAKeyValue>/, /<D>/],
];

function holdsEncodedKey(text: string, layers: number): boolean {
  const joined = text.replace(/\s+/g, "");
  const runs = new Set([...(text.match(encodedRun) ?? []), ...(joined.match(encodedRun) ?? [])]);
  for (const run of runs) {
    if (keyInHex.test(run)) return true;
    // The key may stand behind a word of the same alphabet.
    for (let start = 0; start < (layers === mostLayers ? 4 : 1); start += 1) {
      const bytes = decodeRun(run.slice(start));
      if (keyInHex.test(toHex(bytes))) return true;
      // A text of two bytes a character is one of one byte after the zeros are gone.
      const inner = new TextDecoder().decode(bytes).replaceAll("\0", "");
      if (isMarked(inner) || (layers > 1 && holdsEncodedKey(inner, layers - 1))) return true;
    }
  }
  return false;
}

/** Base64 of either alphabet, or hex. */
const encodedRun = /[\w+/-]{40,}/g;

/**
 * What private keys have and public ones have not, in DER: a version before the algorithm (PKCS#8), the modulus (PKCS#1) or the
 * key (SEC1), encryption by a password (PKCS#8), or a safe (PKCS#12).
 */
const keyInHex =
  /0201(?:00|01)30..06|3082....0201(?:00|01)028[12]|02010104(?:1c|20|30|42)|06092a864886f70d0105|060a2a864886f70d010c01|02010330(?:80|81..|82....)06092a864886f70d0107/i;

function decodeRun(run: string): Uint8Array {
  const text = run.replaceAll("-", "+").replaceAll("_", "/");
  return decodeBase64(text.slice(0, text.length - (text.length % 4 === 1 ? 1 : 0))) ?? new Uint8Array();
}

function toHex(bytes: Uint8Array): string {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

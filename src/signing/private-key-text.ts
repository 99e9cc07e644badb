/**
 * Whether a text is, or contains, a private key: PEM, OpenSSH, PuTTY, JWK or XML, or DER or any of those in Base64 (of either
 * alphabet, in lines or not, twice over) or in hex. It looks for marks instead of reading the key, so that a key that is cut
 * off, or that stands beside a public one, is found too.
 */
export function holdsPrivateKey(text: string): boolean {
  // A text of two bytes a character is one of one byte after the zeros are gone.
  const narrow = text.replaceAll("\0", "");
  return isMarked(narrow) || (narrow.length <= longestEncoded && holdsEncodedKey(narrow, mostLayers));
}

/** No private RSA key is shorter in any of these forms. */
export const shortestPrivateKey = 256;

const mostLayers = 3;

/** Longer than an RSA key of 16,384 bits in Base64 of Base64. */
const longestEncoded = 2 ** 15;

/** Whether the text has the marks of one of the forms. A form with two of them needs both. */
function isMarked(text: string): boolean {
  return (
    (text.includes("BEGIN") && /PRIVATE.{1,9}KEY/s.test(text)) ||
    text.includes("openssh-key-v1") ||
    text.includes("PuTTY-User-Key-File") ||
    text.includes("Private-Lines:") ||
    // `d`, with the length of a key after it.
    (/\b(?:kty|dp)\b/.test(text) && /\bd\\*["']?\s*:\s*\\*["']?[\w+/-]{40}/.test(text)) ||
    (text.includes("<RSAKeyValue>") && text.includes("<D>"))
  );
}

function holdsEncodedKey(text: string, layers: number): boolean {
  // What stands between the lines of a text, in source code too.
  const joined = text.replace(/\\[rn]|[\s"'`,:]/g, "");
  const runs = new Set([...encodedRuns(text), ...encodedRuns(joined)]);
  // The key may stand after a word of the same alphabet.
  const starts = layers === mostLayers ? [0, 1, 2, 3] : [0];
  for (const run of runs) {
    if (hexReadings(run).some((bytes) => keyInDer.test(bytes))) return true;
    for (const start of starts) {
      const bytes = decodeBase64(run.slice(start));
      if (keyInDer.test(bytes)) return true;
      const inner = bytes.replaceAll("\0", "");
      if (isMarked(inner) || (layers > 1 && holdsEncodedKey(inner, layers - 1))) return true;
    }
  }
  return false;
}

/** Base64 of either alphabet, or hex. */
function encodedRuns(text: string): readonly string[] {
  return Array.from(text.matchAll(/[\w+/-]{40,}/g), ([run]) => run);
}

/** What private keys have in DER and public ones have not, one byte a character. */
const keyInDer = new RegExp(
  [
    // PKCS#8: a version before the algorithm of a key. The first three algorithms sign nothing under their own number (a certificate
    // has its serial number, maybe 1, before that of its signature); after the others, the key follows.
    String.raw`\x02\x01[\0\x01]\x30(?:\x81.|\x82..|.)\x06(?:\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x01|\x07\x2a\x86\x48\xce(?:\x3d\x02|\x38\x04)\x01|\x09\x2a\x86\x48\x86\xf7\x0d\x01\x01\x0a.{0,80}?\x04\x82|\x03\x2b\x65[\x6e-\x71]\x04)`,
    // PKCS#1: a version before the modulus.
    String.raw`\x30\x82..\x02\x01[\0\x01]\x02[\x20-\x4f\x81\x82]`,
    // SEC1: a version before the key.
    String.raw`\x02\x01\x01\x04[\x1c\x20\x30\x42]`,
    // Encrypted PKCS#8: 1.2.840.113549.1.5 and 1.2.840.113549.1.12.1.
    String.raw`\x06[\x09\x0a]\x2a\x86\x48\x86\xf7\x0d\x01(?:\x05|\x0c\x01)`,
    // PKCS#12: version 3 before its content, 1.2.840.113549.1.7.
    String.raw`\x02\x01\x03\x30(?:\x80|\x81.|\x82..)\x06\x09\x2a\x86\x48\x86\xf7\x0d\x01\x07`,
  ].join("|"),
  "s",
);

/** One byte a character, as far as the text is Base64. */
function decodeBase64(text: string): string {
  const standard = text.replaceAll("-", "+").replaceAll("_", "/");
  return atob(standard.length % 4 === 1 ? standard.slice(0, -1) : standard);
}

/** One byte a character. After a word whose last letters are hex too, the key may begin at an odd digit. */
function hexReadings(run: string): readonly string[] {
  const digits = Array.from(run.matchAll(/[\da-f]{40,}/gi), ([found]) => found);
  return digits.flatMap((found) => [decodeHex(found), decodeHex(found.slice(1))]);
}

function decodeHex(digits: string): string {
  return digits.replace(/../g, (byte) => String.fromCharCode(Number.parseInt(byte, 16)));
}

/** At most this many characters of a text are looked at: texts of the service can have any length. */
const mostCharacters = 4096;
/** The end of a longer text is looked at but not shown, because a value may be cut off there. */
const unshownEnd = 1024;
const mark = "[redacted]";

/**
 * Takes out of a text what has the form of a key, a token or a named secret, and every one of `values` wherever it stands. Where a
 * value stands in another spelling (in groups, in capitals, escaped, in Base64), nothing of the text is left.
 *
 * Linear in the length of the text, of which the first 4,096 characters are looked at. Values of fewer than four characters are left
 * alone: they would tear ordinary words apart.
 */
export function redactText(text: string, values: readonly string[] = []): string {
  const looked = text.slice(0, mostCharacters);
  let safe = looked.replace(/[\w.-]+/g, maskWebToken);
  // The longest first: a value that is the beginning of another would leave the rest of that one standing.
  for (const value of [...values].sort((one, other) => other.length - one.length)) {
    if (value.length >= 4) safe = safe.replaceAll(value, mark);
  }
  if (repeats(safe, values)) return mark;
  safe = maskForms(safe);
  return text.length > mostCharacters ? `${safe.slice(0, Math.max(0, safe.length - unshownEnd))}…` : safe;
}

/** Whether a text is free of secrets, and not too long to tell: what is not is left out rather than redacted. */
export function isShowable(text: string, values: readonly string[]): boolean {
  return redactText(text, values) === text;
}

/**
 * What has the form of a key, of a token or of a named secret. In JSON within JSON, a value ends with the quote that has as many
 * backslashes as the one it begins with. An account in groups may have a group of four letters, which is the bank.
 */
function maskForms(text: string): string {
  return text
    .replace(/-----BEGIN [^-]*-----[\s\S]*?(?:-----END [^-]*-----|$)/g, "[key]")
    .replace(/\b(?:MI[IG]|LS0tLS1CRUdJTi)[\w+/=\s]{40,}/g, "[key]")
    .replace(/(:\/\/[^\s/:@]*:)[^\s/]+@/g, `$1${mark}@`)
    .replace(/\b(bearer|basic)\s+[\w.~+/=-]+/gi, "$1 [token]")
    .replace(
      /((?:access|refresh|id)_?token|client_?secret|password|accountVerificationBearerToken|(?:sender|receiver)(?:Account|Name))(\\*["']?\s*[=:]\s*)(?:(\\+(["']))(?:(?!\4)[^\\]|(?!\3)\\+[\s\S])+|(["'])(?:\\[\s\S]|(?!\5)[^\\])+|[^\s"'&,}\\]+(?:[ -](?:[a-z]{4}[ -])?\w{0,4}\d\w{0,4}(?!\w))*)/gi,
      `$1$2$3$5${mark}`,
    );
}

/** A JSON web token: two parts or more, the first one an object in Base64. */
function maskWebToken(run: string): string {
  const start = run.indexOf("eyJ");
  return start >= 0 && run.includes(".", start) ? "[token]" : run;
}

/** Whether the text holds one of the values in any spelling. */
function repeats(text: string, values: readonly string[]): boolean {
  // Request ids, mostly: without escapes, a text has no more letters than characters.
  const longest = /^[\w.: -]*$/.test(text) ? text.length : Number.POSITIVE_INFINITY;
  const folded = values.map((value) => fold(value.slice(0, 64)));
  const forms = [(words: string) => words, withoutDigraphs].map((form) => {
    const needles = folded.map((words) => toNeedle(form(words)));
    return { form, wanted: needles.filter(({ joined }) => joined.length >= 4 && joined.length <= longest) };
  });
  if (forms.every(({ wanted }) => wanted.length === 0)) return false;
  const texts = readings(text).map(fold);
  return forms.some(({ form, wanted }) => texts.some((words) => isIn(` ${form(words)} `, wanted)));
}

interface Needle {
  readonly joined: string;
  readonly words: readonly string[];
}

/** The beginning of a long value tells it as well, also where the rest is cut off. */
function toNeedle(words: string): Needle {
  return { joined: words.replaceAll(" ", ""), words: words.split(" ").map((word) => ` ${word} `) };
}

function isIn(words: string, needles: readonly Needle[]): boolean {
  const joined = words.replaceAll(" ", "");
  return needles.some((needle) => {
    // A short name stands in many a word by chance: it has to be a word itself.
    if ((needle.joined.length >= 8 || /\d/.test(needle.joined)) && joined.includes(needle.joined)) return true;
    return needle.words.every((word) => words.includes(word));
  });
}

/** Words of letters and digits, in one case, without accents and strokes. In capitals there is one sigma, and no sharp s but two letters. */
function fold(text: string): string {
  return text
    .normalize("NFKD")
    .toLowerCase()
    .toUpperCase()
    .replace(/\p{M}|\p{Cf}/gu, "")
    .replace(/Æ/g, "AE")
    .replace(/[ŒØ]/g, "OE")
    .replace(/Ł/g, "L")
    .replace(/[ÐĐ]/g, "D")
    .replace(/[^\p{L}\p{N}]+/gu, " ")
    .trim();
}

/** The same words, whether umlauts and the like are written as one letter or as two: JOERG MUELLER, AASE. */
function withoutDigraphs(words: string): string {
  return words.replace(/([AOU])E|(A)A/g, "$1$2");
}

/** The text as it stands, without escapes and without Base64, which may hold escapes too. */
function readings(text: string): string[] {
  const all: string[] = [];
  let at = text;
  for (let round = 0; round < 3; round++) {
    const decoded = base64Readings(at);
    all.push(at, ...decoded, ...decoded.map(withoutEscapes));
    const next = withoutEscapes(at);
    if (next === at) break;
    at = next;
  }
  return all;
}

/** Letters as HTML names them; what is not one of these parts words. */
const namedLetters: ReadonlyMap<string, string> = new Map([
  ["szlig", "ß"],
  ["eth", "ð"],
  ["thorn", "þ"],
]);
const accented = /^([a-z])(?:acute|breve|caron|cedil|circ|dblac|dot|elig|grave|macr|ogon|ring|slash|strok|tilde|uml)$/i;

/** What Windows has in the place of the control characters of Latin-1, from the byte 128. */
const windowsSigns = "€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ";

/** Of UTF-8 that was taken for Latin-1, or for what Windows has in its place. */
function byteOf(character: string): number {
  const sign = windowsSigns.indexOf(character);
  return sign < 0 ? character.charCodeAt(0) : 128 + sign;
}

function withoutEscapes(text: string): string {
  const escapes =
    /\\u\{?([\da-f]{4,6})\}?|\\x([\da-f]{2})|&#x([\da-f]{1,6});|&#(\d{1,7});|((?:%[\da-f]{2})+)|&([a-z]+);|([\xc2-\xf4][\x80-\xbf€‚ƒ„…†‡ˆ‰Š‹ŒŽ‘’“”•–—˜™š›œžŸ]+)|\\[bfnrt"'/\\]/gi;
  return text.replace(escapes, (_, unicode, byte, hex, decimal, percent, name, misread) => {
    if (name !== undefined) return namedLetters.get(name.toLowerCase()) ?? accented.exec(name)?.[1] ?? " ";
    if (misread !== undefined) return utf8(Array.from(misread, byteOf));
    if (percent !== undefined)
      return utf8(
        percent
          .slice(1)
          .split("%")
          .map((pair: string) => Number.parseInt(pair, 16)),
      );
    const point = decimal === undefined ? Number.parseInt(unicode ?? byte ?? hex ?? "20", 16) : Number(decimal);
    return point < 0x110000 ? String.fromCodePoint(point) : " ";
  });
}

/** A piece of Base64 may have begun before the text: each of four beginnings is tried. */
function base64Readings(text: string): string[] {
  const oneLine = text
    .replace(/[\r\n]/g, "")
    .replaceAll("-", "+")
    .replaceAll("_", "/");
  const runs = Array.from(oneLine.matchAll(/[a-z\d+/]{4,}/gi), ([run]) => run);
  return [0, 1, 2, 3].map((start) => runs.map((run) => decodeBase64(run.slice(start))).join(" "));
}

const decoder = new TextDecoder();

function utf8(bytes: readonly number[]): string {
  return decoder.decode(Uint8Array.from(bytes));
}

function decodeBase64(run: string): string {
  // One digit over is no byte.
  const binary = atob(run.length % 4 === 1 ? run.slice(0, -1) : run);
  return decoder.decode(Uint8Array.from(binary, (character) => character.charCodeAt(0)));
}

/** Sets a property that takes no part in printing, in `JSON.stringify` or in a spread. */
export function hide(target: object, key: PropertyKey, value: unknown): void {
  Object.defineProperty(target, key, { value, enumerable: false, configurable: true, writable: true });
}

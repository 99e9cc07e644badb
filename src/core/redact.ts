/** Only this many characters of a text are read, since the service's texts can have any length. */
const maxCharacters = 4096;
/** The end of a longer text is read but not shown, because a value may be cut off there. */
const unshownEnd = 1024;
const mark = "[redacted]";

/**
 * Masks tokens, PEM blocks, named secrets, and each of `values` in a text that may be shown. Values of fewer than four characters
 * stay, since they would tear ordinary words apart.
 */
export function redactText(text: string, values: readonly string[] = []): string {
  let safe = text.slice(0, maxCharacters);
  const long = values.filter((value) => value.length >= 4).sort((one, other) => other.length - one.length);
  for (const form of long.flatMap(writtenForms)) safe = safe.replaceAll(form, mark);
  for (const [pattern, replacement] of masks) safe = safe.replace(pattern, replacement);
  return text.length > maxCharacters ? `${safe.slice(0, Math.max(0, safe.length - unshownEnd))}…` : safe;
}

/** Whether a text is free of secrets, and not too long to tell. */
export function isShowable(text: string, values: readonly string[]): boolean {
  return redactText(text, values) === text;
}

/** The value as it is, and as it is written in JSON, in a form, and in an address. */
function writtenForms(value: string): string[] {
  const inForm = new URLSearchParams({ "": value }).toString().slice(1);
  return [value, JSON.stringify(value).slice(1, -1), inForm, inForm.replaceAll("+", "%20")];
}

/** In JSON within JSON, a value ends with a quote that has as many backslashes as its first one. */
const masks: readonly (readonly [pattern: RegExp, replacement: string])[] = [
  [/-----BEGIN [^-]*-----[\s\S]*?(?:-----END [^-]*-----|$)/g, "[key]"],
  // A key in Base64, with its PEM frame or without, that was passed as the name of a file.
  [/(?:LS0tLS1CRUdJT|MII[A-Z])[\w+/=-]{16,}/g, "[key]"],
  [/eyJ[\w-]*\.[\w.-]*/g, "[token]"],
  [/\b(bearer|basic)\s+[\w.~+/=-]+/gi, "$1 [token]"],
  [/(:\/\/[^\s/:@]*:)[^\s/]+@/g, `$1${mark}@`],
  [
    /((?:access|refresh|id)_?token|client_?secret|password|passphrase|accountVerificationBearerToken|(?:sender|receiver)(?:Account|Name))(\\*["']?\s*[=:]\s*)(?:(\\*["'])(?:\\[\s\S]|[^\\])*?(\3|$)|[^\s"'&,}\\]+)/gi,
    `$1$2$3${mark}$4`,
  ],
];

/** Sets a property that takes no part in printing, in `JSON.stringify` or in a spread. */
export function hide(target: object, key: PropertyKey, value: unknown): void {
  Object.defineProperty(target, key, { value, enumerable: false, configurable: true, writable: true });
}

import type { KnownSurvivor } from "../known-survivor.js";

const redact = "src/errors/redact.ts";
const onlyTime = "It finds the same; what it saves is time.";
const onLoading = "It takes effect while the module is loaded, which happens once for all tests.";
const noSuchValue = "The value that would be hidden is in the text of no caller.";

const accents = "acute|breve|caron|cedil|circ|dblac|dot|elig|grave|macr|ogon|ring|slash|strok|tilde|uml";

export const errors: readonly KnownSurvivor[] = [
  {
    file: "src/errors/errors.ts",
    line: 'if (typeof value !== "object" || value === null) return false;',
    replacement: "false",
    why: "What can't be looked at throws further down, which is false as well; that functions are no errors is tested.",
  },
  {
    file: "src/errors/errors.ts",
    line: "const names: string[] = [];",
    replacement: '["Stryker was here"]',
    why: "No class has this name.",
  },
  {
    file: "src/errors/errors.ts",
    line: 'if (Object.hasOwn(at, "className")) names.push(String(Reflect.get(at, "className")));',
    replacement: "true",
    why: "It adds names that are there already, and `undefined`, which no class has.",
  },
  {
    file: redact,
    line: "export function redactText(text: string, values: readonly string[] = []): string {",
    replacement: '["Stryker was here"]',
    why: noSuchValue,
  },
  {
    file: redact,
    line: "const longest = /^[\\w.: -]*$/.test(text) ? text.length : Number.POSITIVE_INFINITY;",
    replacement: "/^[\\w.: -]$/",
    why: onlyTime,
  },
  {
    file: redact,
    line: "return { form, wanted: needles.filter(({ joined }) => joined.length >= 4 && joined.length <= longest) };",
    replacement: "true",
    why: `${onlyTime} A value that has one word twice would be found in a text that has it once.`,
  },
  {
    file: redact,
    line: "if (forms.every(({ wanted }) => wanted.length === 0)) return false;",
    replacement: "false",
    why: onlyTime,
  },
  {
    file: redact,
    line: "if (forms.every(({ wanted }) => wanted.length === 0)) return false;",
    replacement: "() => undefined",
    why: onlyTime,
  },
  {
    file: redact,
    line: "const all: string[] = [];",
    replacement: '["Stryker was here"]',
    why: "One more text to look in, which has no value of any caller.",
  },
  {
    file: redact,
    line: "for (let round = 0; round < 3; round++) {",
    replacement: "round <= 3",
    why: "It looks below one layer of escapes more. That their number is bounded is tested.",
  },
  {
    file: redact,
    line: "if (next === at) break;",
    replacement: "false",
    why: onlyTime,
  },
  {
    file: redact,
    line: 'const point = decimal === undefined ? Number.parseInt(unicode ?? byte ?? hex ?? "20", 16) : Number(decimal);',
    replacement: '""',
    why: "No number becomes a space as well, on the next line.",
  },
  {
    file: redact,
    line: 'return point < 0x110000 ? String.fromCodePoint(point) : " ";',
    replacement: '""',
    why: "The text before this step is looked at too, and has signs at this place that are no letters.",
  },
  {
    file: redact,
    line: "const namedLetters: ReadonlyMap<string, string> = new Map([",
    replacement: "[]",
    why: onLoading,
  },
  ...['["szlig", "ß"],', '["eth", "ð"],', '["thorn", "þ"],'].flatMap((line) =>
    ["[]", '""'].map((replacement) => ({ file: redact, line, replacement, why: onLoading })),
  ),
  ...[`/([a-z])(?:${accents})$/i`, `/^([a-z])(?:${accents})/i`, `/^([^a-z])(?:${accents})$/i`].map((replacement) => ({
    file: redact,
    line: `const accented = /^([a-z])(?:${accents})$/i;`,
    replacement,
    why: onLoading,
  })),
  {
    file: redact,
    line: String.raw`const windowsSigns = "€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8dŽ\x8f\x90‘’“”•–—˜™š›œ\x9džŸ";`,
    replacement: '""',
    why: onLoading,
  },
];

import type { KnownSurvivor } from "../known-survivor.js";

const file = "src/paging/cursor-order.ts";

const listing = "src/paging/listing.ts";
const position = "src/paging/list-position.ts";
const iterator = "src/paging/record-iterator.ts";

const onlySpeed = {
  comparison: "Only speed: numbers of one length compare as texts do, and are compared as numbers then.",
  shortcut: "Only speed: tokens in one order are looked at one by one then, and none of them is refused.",
  turns: "Only speed: a record that is there already waits for its turn too, which comes at once.",
};
const hasRead = "For the compiler: a page repeats records only of a list that has some.";

export const paging: readonly KnownSurvivor[] = [
  {
    file,
    line: 'return one.length === other.length && !one.startsWith("-") && !other.startsWith("-");',
    replacement: "false",
    why: onlySpeed.comparison,
  },
  {
    file,
    line: 'return one.length === other.length && !one.startsWith("-") && !other.startsWith("-");',
    replacement: '""',
    why: onlySpeed.comparison,
  },
  {
    file,
    line: "if (!(comparesAsText(before, token) ? asTexts : leadsOn(before, token, direction))) isInOrder = false;",
    replacement: "false",
    why: onlySpeed.comparison,
  },
  {
    file,
    line: "const isOfOneKind = numbers === items.length || numbers === 0;",
    replacement: "false",
    why: onlySpeed.shortcut,
  },
  {
    file,
    line: "const goesOn = last !== undefined && first !== undefined && leadsOn(last, first, direction);",
    replacement: "false",
    why: onlySpeed.shortcut,
  },
  {
    file,
    line: "if (!goesOn || page.order === undefined || page.order !== before.order) {",
    replacement: "true",
    why: onlySpeed.shortcut,
  },
  {
    file,
    line: 'const order = isInOrder && isOfOneKind ? (numbers > 0 ? "numbers" : "texts") : undefined;',
    replacement: '""',
    why: "The order of texts is only compared with itself, so any other name does as well.",
  },
  {
    file,
    line: "const goesOnAsText = last === undefined || first === undefined || leadsOnAsText(last, first, direction);",
    replacement: "false",
    why: "For the compiler: a page whose first record has no token is in no order of texts anyway.",
  },
  {
    file: listing,
    line: "if (cursor === undefined) return;",
    replacement: "false",
    why: "For the compiler: a page that has records and no obstacle has a cursor.",
  },
  {
    file: listing,
    line: "const onAbort = () => drop.abort(signal?.reason);",
    replacement: "signal.reason",
    why: "For the compiler: only a signal calls it.",
  },
  {
    file: listing,
    line: 'const after = position.head.at(-1) ?? "";',
    replacement: '"Stryker was here!"',
    why: "For the compiler: a list that was read has a first record.",
  },
  {
    file: listing,
    line: "if (first === undefined) return;",
    replacement: "false",
    why: "For the compiler: every record of a page that is looked behind has a token.",
  },
  {
    file: position,
    line: "#isShort = false;",
    replacement: "true",
    why: "Every page sets it, and no page is repeated before the first one.",
  },
  {
    file: position,
    line: "const tokens = fields.tokens.slice(-3).filter((token) => token !== undefined);",
    replacement: "fields.tokens",
    why: "Only speed: three are kept in the next line.",
  },
  {
    file: position,
    line: "this.#tail = [...this.#tail.slice(0, this.#tail.length - repeated[start]), ...tokens].slice(-3);",
    replacement: "[...this.#tail.slice(0, this.#tail.length - repeated[start]), ...tokens]",
    why: "Only memory: no more than the last three are asked for.",
  },
  ...["this.last.tokens", "this.last.ids"].map((replacement) => ({
    file: position,
    line: "return id === undefined ? this.last?.tokens.includes(token) === true : this.last?.ids.has(id) === true;",
    replacement,
    why: hasRead,
  })),
  {
    file: listing,
    line: "const { sort = [], cursor } = this.#query;",
    replacement: '["Stryker was here"]',
    why: "For the compiler: a descending list has a sort.",
  },
  ...["{}", '["Stryker was here"]'].map((replacement) => ({
    file: listing,
    line: "const { tokens } = up.last ?? { tokens: [] };",
    replacement,
    why: "For the compiler: a page has come.",
  })),
  {
    file: listing,
    line: 'if (top !== undefined && leadsOn(tokens.at(-1) ?? "", top, upwards)) continue;',
    replacement: '"Stryker was here!"',
    why: "For the compiler: a page of a list that goes on has a token for each record.",
  },
  {
    file: listing,
    line: "if (first === undefined || second === undefined) return false;",
    original: "second === undefined",
    replacement: "false",
    why: "For the compiler: where a page has no token, the list has no further one.",
  },
  {
    file: listing,
    line: "if (isShown && (isShort || pagesPast > mostPagesPast)) return yield* unread;",
    replacement: "pagesPast >= mostPagesPast",
    why: "One page of a hundred less.",
  },
  {
    file: iterator,
    line: "if (this.#work !== undefined || this.#count === this.#items.length) return this.#inTurn(() => this.#advance());",
    original: "this.#work !== undefined || this.#count === this.#items.length",
    replacement: "true",
    why: onlySpeed.turns,
  },
  { file: iterator, line: "const forget = () => {", replacement: "{}", why: onlySpeed.turns },
  {
    file: iterator,
    line: "if (this.#work === done) this.#work = undefined;",
    replacement: "false",
    why: onlySpeed.turns,
  },
  { file: iterator, line: "done.then(forget, forget);", replacement: ";", why: onlySpeed.turns },
];

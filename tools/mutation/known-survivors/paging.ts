import type { KnownSurvivor } from "../known-survivor.js";

const file = "src/paging/cursor-order.ts";

const onlySpeed = {
  comparison: "Only speed: numbers of one length compare as texts do, and are compared as numbers then.",
  shortcut: "Only speed: tokens in one order are looked at one by one then, and none of them is refused.",
};

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
    file: "src/paging/listing.ts",
    line: "if (cursor === undefined) return;",
    replacement: "false",
    why: "For the compiler: a page that has records and no obstacle has a cursor.",
  },
  {
    file: "src/paging/listing.ts",
    line: "if (first === undefined) return;",
    replacement: "false",
    why: "For the compiler: every record of a page that is looked behind has a token.",
  },
];

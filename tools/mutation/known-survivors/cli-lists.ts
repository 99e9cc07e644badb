import type { KnownSurvivor } from "../known-survivor.js";

const listOptions = "src/cli/lists/list-options.ts";

export const cliLists: readonly KnownSurvivor[] = [
  ...['"Stryker was here!"', '["Stryker was here"]'].map((replacement) => ({
    file: listOptions,
    line: 'const [, name = "", direction = ""] = /^([^.\\s]+)(?:\\.(\\w+))?$/.exec(term) ?? [];',
    replacement,
    why: "What is neither asc nor desc is refused, whatever it is.",
  })),
  {
    file: "src/cli/lists/progress-file.ts",
    line: 'found.isFile() && found.nlink === 1 && begin.startsWith((await readFile(path, "utf8")).slice(0, begin.length));',
    original: '"utf8"',
    replacement: '""',
    why: "Bytes become the same text where they are compared with one.",
  },
];

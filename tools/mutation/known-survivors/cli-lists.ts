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
    file: "src/cli/lists/sources.ts",
    line: 'const [own = "", parent = ""] = resource.split(".").map(words).reverse();',
    original: '""',
    replacement: '"Stryker was here!"',
    why: "For the compiler: each name has a part.",
  },
];

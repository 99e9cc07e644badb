import type { KnownSurvivor } from "../known-survivor.js";

const batches = "src/journals/postgres-batches.ts";
const postgresFailure = "src/journals/postgres-failure.ts";

const firstTakesAll =
  "Each operation then asks for a turn of its own: the first takes all that wait, and the others find nothing.";
const neverEmpty = "For the compiler: there is no batch without an operation.";
const undefinedIsNone = "For the compiler: the text of undefined is none of these codes.";

export const journals: readonly KnownSurvivor[] = [
  { file: batches, line: "if (this.#isScheduled) return;", replacement: "false", why: firstTakesAll },
  { file: batches, line: "this.#isScheduled = true;", replacement: "false", why: firstTakesAll },
  {
    file: batches,
    line: 'text += String(pending.input.data ?? "").length;',
    original: '""',
    replacement: '"Stryker was here!"',
    why: "A hundred times seventeen characters are far from a million.",
  },
  {
    file: batches,
    line: 'const name = batch[0]?.name ?? "read";',
    original: '"read"',
    replacement: '""',
    why: neverEmpty,
  },
  {
    file: batches,
    line: 'const name = batch[0]?.name ?? "read";',
    original: "batch[0]?.name",
    replacement: "batch[0].name",
    why: neverEmpty,
  },
  {
    file: postgresFailure,
    line: "return code !== undefined && /^[0-9A-DF-Z][0-9A-Z]{4}$/.test(code) ? code : undefined;",
    original: "code !== undefined",
    replacement: "true",
    why: undefinedIsNone,
  },
  {
    file: postgresFailure,
    line: 'return ["40001", "40P01"].includes(sqlStateOf(error) ?? "");',
    original: '""',
    replacement: '"Stryker was here!"',
    why: undefinedIsNone,
  },
  {
    file: postgresFailure,
    line: 'return code !== undefined && neverConnected.test(code) ? "nothing" : "unknown";',
    original: "code !== undefined",
    replacement: "true",
    why: undefinedIsNone,
  },
];

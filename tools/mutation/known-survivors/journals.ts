import type { KnownSurvivor } from "../known-survivor.js";

const batches = "src/journals/postgres-batches.ts";
const connection = "src/journals/sqlite-connection.ts";
const engine = "src/journals/sqlite-engine.ts";
const program = "src/journals/sqlite-thread-program.ts";
const postgresFailure = "src/journals/postgres-failure.ts";

const firstTakesAll =
  "Each operation then asks for a turn of its own: the first takes all that wait, and the others find nothing.";
const neverEmpty = "For the compiler: there is no batch without an operation.";
const sameReplies = "How many operations share a transaction changes none of their replies.";
const setByStart = "Nothing runs before `start`, which sets it.";
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
  {
    file: connection,
    line: "for (const [index, reply] of replies.entries()) batch[index]?.resolve(reply);",
    replacement: "batch[index].resolve",
    why: "For the compiler: there is a reply to each operation, and no more.",
  },
  {
    file: connection,
    line: "if (pending.length === 0) setImmediate(flush);",
    replacement: "true",
    why: firstTakesAll,
  },
  { file: engine, line: 'let path = "";', replacement: '"Stryker was here!"', why: setByStart },
  { file: engine, line: 'let identity = "";', replacement: '"Stryker was here!"', why: setByStart },
  {
    file: engine,
    // biome-ignore lint/suspicious/noTemplateCurlyInString: a line of the source
    line: 'return stats === undefined ? "none " : `${stats.dev}:${stats.ino} `;',
    original: '"none "',
    replacement: '""',
    why: "No two files have one inode: what is not there can be left out.",
  },
  {
    file: program,
    line: "for (let from = 0; from < requests.length; from = replies.length) {",
    replacement: "from <= requests.length",
    why: "One reply more, to nothing that was asked for.",
  },
  {
    file: program,
    line: 'while (end < requests.length && end - from < largestBatch && (requests[end] as ThreadRequest)[0] === "run") end++;',
    original: "end - from < largestBatch",
    replacement: "true",
    why: sameReplies,
  },
  {
    file: program,
    line: 'while (end < requests.length && end - from < largestBatch && (requests[end] as ThreadRequest)[0] === "run") end++;',
    original: "end - from < largestBatch",
    replacement: "end - from <= largestBatch",
    why: sameReplies,
  },
];

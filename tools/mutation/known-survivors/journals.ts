import type { KnownSurvivor } from "../known-survivor.js";

const batches = "src/journals/postgres-batches.ts";
const connection = "src/journals/sqlite-connection.ts";
const engine = "src/journals/sqlite-engine.ts";
const program = "src/journals/sqlite-thread-program.ts";
const database = "src/journals/sqlite-database.ts";
const pooled = "src/journals/postgres-connection.ts";
const pool = "src/journals/postgres-pool.ts";
const thread = "src/journals/sqlite-thread.ts";
const postgresFailure = "src/journals/postgres-failure.ts";

const firstTakesAll =
  "Each operation then asks for a turn of its own: the first takes all that wait, and the others find nothing.";
const neverEmpty = "For the compiler: there is no batch without an operation.";
const sameReplies = "How many operations share a transaction changes none of their replies.";
const setByStart = "Nothing runs before `start`, which sets it.";
const oneAnswer = "For the compiler: there is an answer to each request, and no more.";
const oldNode = "Node 20 alone has no node:sqlite: test/journals runs there too.";
const howLong = "How long it waits between two tries, or that it tries once more, changes nothing of what it does.";
const olderThanNothing = "No flow is older than a time that is not given: the statement finds none.";
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
    line: 'return "none ";',
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
  {
    file: connection,
    line: "if (batch.length === 0) return;",
    replacement: "false",
    why: "No operations are no work, also on a handle that was closed meanwhile.",
  },
  {
    file: program,
    line: 'if (request[0] === "close") return database?.close();',
    replacement: "database.close",
    why: "Where nothing was opened, the thread ends just so, and nobody is told of the failure.",
  },
  {
    file: program,
    line: 'if (sqlite === undefined) throw Object.assign(new Error("no node:sqlite"), { code: "CROSS_BORDER_NO_SQLITE" });',
    original: "sqlite === undefined",
    replacement: "false",
    why: oldNode,
  },
  {
    file: program,
    line: 'if (sqlite === undefined) throw Object.assign(new Error("no node:sqlite"), { code: "CROSS_BORDER_NO_SQLITE" });',
    replacement: '""',
    why: oldNode,
  },
  {
    file: program,
    line: 'if (sqlite === undefined) throw Object.assign(new Error("no node:sqlite"), { code: "CROSS_BORDER_NO_SQLITE" });',
    replacement: "{}",
    why: oldNode,
  },
  {
    file: program,
    line: 'process.removeAllListeners("warning");',
    replacement: '""',
    why: "Node 24 has no such warning. Node 22 has, and test/journals runs there too.",
  },
  {
    file: thread,
    line: "worker.unref();",
    replacement: ";",
    why: "`open` asks it something at once, and the reply lets go of it.",
  },
  {
    file: thread,
    line: "if (!this.#hasEnded) this.#send();",
    replacement: "true",
    why: "After the end nothing waits, and a message has no effect.",
  },
  {
    file: thread,
    line: "if (failure === undefined) answered[index]?.resolve(result);",
    replacement: "answered[index].resolve",
    why: oneAnswer,
  },
  {
    file: thread,
    line: "else answered[index]?.reject(errorOf(failure));",
    replacement: "answered[index].reject",
    why: oneAnswer,
  },
  {
    file: thread,
    line: 'return new Worker(program, { eval: true, execArgv: [], env: {}, name: "cross-border-payments journal" });',
    replacement: '["Stryker was here"]',
    why: "Node takes what is no flag for nothing.",
  },
  {
    file: thread,
    line: 'return new Worker(program, { eval: true, execArgv: [], env: {}, name: "cross-border-payments journal" });',
    original: '"cross-border-payments journal"',
    replacement: '""',
    why: "Only debuggers and profilers show the name.",
  },
  {
    file: thread,
    line: 'if (program.includes("[native code]")) throw new Error("functions have no text here");',
    original: '"functions have no text here"',
    replacement: '""',
    why: "Its failure says what to do; this is a cause within it.",
  },
  {
    file: thread,
    line: "{ cause: error },",
    replacement: "{}",
    why: "What Node said is there for whoever looks, and the message says what to do.",
  },
  {
    file: pooled,
    line: "const status = connection.getTransactionStatus?.();",
    replacement: "connection.getTransactionStatus()",
    why: "It throws then, and tells of no transaction either.",
  },
  {
    file: pooled,
    line: "} catch {",
    replacement: "{}",
    why: "A function that ends gives undefined.",
  },
  {
    file: pool,
    line: 'if (!mayPrepare || !isOfPreparing.test(sqlStateOf(error) ?? "")) throw error;',
    original: '""',
    replacement: '"Stryker was here!"',
    why: undefinedIsNone,
  },
  {
    file: pool,
    line: "names.set(text, name);",
    replacement: ";",
    why: "The name of a text is the same when it is made again.",
  },
  {
    file: pool,
    line: 'const found = Reflect.get(client, "processID") === rows[0]?.pid;',
    replacement: "rows[0].pid",
    why: "For the compiler: the server answers with a row.",
  },
  {
    file: pool,
    line: 'pool.on("release", (_, client) => Object(client).unref?.());',
    replacement: "Object(client).unref()",
    why: "Clients of pg have it. Those of pg-native, which NODE_PG_FORCE_NATIVE puts in their place, have not.",
  },
  {
    file: pool,
    line: "return pg.default ?? pg;",
    replacement: "pg.default && pg",
    why: "Which of the two has the names depends on the version of `pg`: the one that is tested has both.",
  },
  {
    file: pool,
    line: "const isUrl = URL.canParse(url) && /^postgres(?:ql)?:$/.test(new URL(url).protocol);",
    original: "/^postgres(?:ql)?:$/",
    replacement: "/^postgres(?:ql)?:/",
    why: "A protocol ends with its colon.",
  },
  {
    file: "src/journals/postgres-tables.ts",
    line: '...pendingOf(migrations, from).map((migration) => migration(tables).replace(/^\\n|^ {4}/gm, "")),',
    replacement: "/^\\n| {4}/gm",
    why: "No line of a migration has four spaces together but at its beginning, or eight there.",
  },
  {
    file: database,
    line: "if (difference !== 0) return difference > 0;",
    replacement: "difference >= 0",
    why: "A difference is not 0 there.",
  },
  {
    file: database,
    line: 'const why = whyLogIsApart(String(Reflect.get(Object(main), "file") ?? ""));',
    original: '""',
    replacement: '"Stryker was here!"',
    why: "For the compiler: the main database always has a file, which is empty in memory.",
  },
  {
    file: database,
    line: 'return typeof row === "object" && row !== null ? Object.values(row)[0] : undefined;',
    original: "row !== null",
    replacement: "true",
    why: "For the compiler: no row is null.",
  },
  {
    file: database,
    line: 'if (sqliteResult(error) !== "SQLITE_BUSY" || clock.monotonicMs() >= giveUpAt) throw error;',
    original: "clock.monotonicMs() >= giveUpAt",
    replacement: "clock.monotonicMs() > giveUpAt",
    why: howLong,
  },
  {
    file: database,
    line: "await sleep(5 + Math.random() * 20);",
    replacement: "5 - Math.random() * 20",
    why: howLong,
  },
  {
    file: database,
    line: "await sleep(5 + Math.random() * 20);",
    original: "Math.random() * 20",
    replacement: "Math.random() / 20",
    why: howLong,
  },
  {
    file: "src/journals/sqlite-journal.ts",
    line: "expired === undefined ? null : Number(expired),",
    replacement: "false",
    why: "SQLite takes NaN for NULL.",
  },
  ...["false", '["Stryker was here"]'].map((replacement) => ({
    file: "src/journals/sqlite-journal.ts",
    line: "for (const phase of settledBeforeMs === undefined ? [] : finalPhases) {",
    replacement,
    why: olderThanNothing,
  })),
  {
    file: "src/journals/postgres-journal.ts",
    line: 'const quoted = quotedBeforeMs === undefined ? 0 : await this.#eachSlice("pruneQuoted", quotedBeforeMs, []);',
    replacement: "false",
    why: olderThanNothing,
  },
  {
    file: "src/journals/postgres-journal.ts",
    line: "await sleep(10 * 2 ** tries);",
    replacement: "10 / 2 ** tries",
    why: howLong,
  },
  {
    file: "src/journals/postgres-statements.ts",
    line: "skipsLocked: false,",
    replacement: "true",
    why: "A flow that is there already is then tried once more by itself, and is still there.",
  },
  {
    file: engine,
    line: "} catch (_) {",
    replacement: "{}",
    why: "Another text for the same, which is compared with itself alone.",
  },
  {
    file: database,
    line: 'assertSupported(!files.some(Array.isArray), "the handle returns rows without names. Open it without returnArrays");',
    replacement: "files.every(Array.isArray)",
    why: "A handle gives all rows in one form, and there is a row of the main file.",
  },
  {
    file: "src/journals/sqlite-journal.ts",
    line: 'if (typeof place !== "object" || typeof place?.exec !== "function" || typeof place.prepare !== "function") {',
    replacement: "false",
    why: "For the compiler: what is no object has no such methods.",
  },
];

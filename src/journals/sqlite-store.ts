import { existsSync } from "node:fs";
import { isBuiltin } from "node:module";
import { setImmediate } from "node:timers/promises";
import { fileURLToPath, pathToFileURL } from "node:url";
import { Worker } from "node:worker_threads";
import { ConfigError, CrossBorderError, JournalError } from "../core/errors.js";
import {
  type Changed,
  type ChangeName,
  type Input,
  type KeyedInput,
  outdated,
  type QueryName,
  type Row,
  type SqlStore,
  statementWork,
} from "./sql-journal.js";
import {
  type OpenOptions,
  openSqliteEngine,
  outdatedFile,
  refused,
  type SqliteDatabase,
  type SqliteError,
  type SqliteOperation,
  type SqliteReply,
  threadName,
} from "./sqlite-worker.js";

/** Runs operations on the caller's thread, or on a thread of the journal. */
export interface SqlitePlace {
  run(operations: readonly SqliteOperation[]): Promise<readonly SqliteReply[]>;
  close(): Promise<void>;
}

interface Pending {
  readonly operation: SqliteOperation;
  readonly resolve: (reply: SqliteReply) => void;
}

/** Operations that share a commit. */
const maxTogether = 500;

/** A SQLite file. While operations are under way, what else is asked for gathers, and then goes together. */
export class SqliteStore implements SqlStore {
  readonly journal = "SqliteJournal";
  readonly #place: SqlitePlace;
  #waiting: Pending[] = [];
  #sending: Promise<void> | undefined;

  constructor(place: SqlitePlace) {
    this.#place = place;
  }

  async read(key: string): Promise<Row | undefined> {
    return (await this.#run(["read", { key }])).rows[0];
  }

  async change(name: ChangeName, input: KeyedInput): Promise<Changed> {
    const { rows, changes } = await this.#run([name, input]);
    return { isApplied: changes === 1, row: rows[0] };
  }

  async query(name: QueryName, input: Input): Promise<readonly Row[]> {
    return (await this.#run([name, input])).rows;
  }

  async close(): Promise<void> {
    await this.#sending;
    await this.#place.close();
  }

  async #run(operation: SqliteOperation): Promise<{ readonly rows: readonly Row[]; readonly changes: number }> {
    const reply = await new Promise<SqliteReply>((resolve) => {
      this.#waiting.push({ operation, resolve });
      this.#sending ??= this.#send();
    });
    if (reply.error === undefined) return { rows: reply.rows as readonly Row[], changes: reply.changes };
    throw sqliteFailure(reply.error, statementWork[operation[0]]);
  }

  async #send(): Promise<void> {
    // Runs at the end of this turn of the event loop, so that later requests of the turn join the same commit.
    await setImmediate();
    while (this.#waiting.length > 0) {
      const batch = this.#waiting.splice(0, maxTogether);
      const replies = await this.#place.run(batch.map(({ operation }) => operation));
      for (const [index, { resolve }] of batch.entries()) resolve(replies[index] as SqliteReply);
    }
    this.#sending = undefined;
  }
}

/** Keeps a handle that belongs to the caller on the caller's thread. */
export function openHandle(database: SqliteDatabase, options: OpenOptions): SqlitePlace {
  const engine = openSqliteEngine(database, options);
  return { run: async (operations) => engine.run(operations), close: async () => {} };
}

/** A file in its own thread. Waiting for the disk or for another process's lock never blocks the event loop. */
export async function openThread(path: string, options: OpenOptions): Promise<SqlitePlace> {
  // Loading it on this thread would print Node's warning that it's experimental.
  if (!isBuiltin("node:sqlite")) {
    throw new ConfigError(
      `SqliteJournal: Node ${process.versions.node} has no node:sqlite. Use Node 22.22.3, 24.15 or newer, ` +
        "pass an open better-sqlite3 database in place of the path, or use PostgresJournal.",
    );
  }
  // The thread runs this program alone, without the process's flags and preloaded modules.
  const workerData = { name: threadName, path, options };
  const worker = new Worker(threadFile(), { execArgv: [], env: {}, name: threadName, workerData });
  let why = "";
  let hasEnded = false;
  let settle = (_: readonly SqliteReply[] | undefined): void => {};
  worker.on("message", (replies: readonly SqliteReply[]) => settle(replies));
  worker.on("error", (error: unknown) => {
    why = `: ${Object(error).message}`;
  });
  worker.on("exit", () => {
    hasEnded = true;
    settle(undefined);
  });
  /** The process lives until the reply, and no longer than that. */
  const reply = async () => {
    worker.ref();
    const replies = await new Promise<readonly SqliteReply[] | undefined>((resolve) => {
      settle = resolve;
    });
    worker.unref();
    return replies;
  };
  const [opened = ended("nothing", why)] = (await reply()) ?? [];
  if (opened.error !== undefined) throw sqliteFailure(opened.error, "open the journal");
  return {
    async run(operations) {
      if (hasEnded) return operations.map(() => ended("nothing", why));
      worker.postMessage(operations);
      return (await reply()) ?? operations.map(() => ended("unknown", why));
    },
    async close() {
      if (hasEnded) return;
      worker.postMessage([]);
      await reply();
    },
  };
}

/** Beside this module or its folder. In this repository's own tests, Node runs its source. */
function threadFile(): URL {
  // In CommonJS, esbuild doesn't keep the module's address. Then the file is next to the program.
  const module: string | undefined = import.meta.url;
  const beside = new URL("./sqlite-worker.js", module ?? pathToFileURL(String(process.argv[1])));
  const files = [beside, ...["../sqlite-worker.js", "./sqlite-worker.ts"].map((name) => new URL(name, beside))];
  const file = files.find((each) => existsSync(each));
  if (file !== undefined) return file;
  throw new ConfigError(
    "SqliteJournal: the program of its thread is missing, since a bundler left it out. " +
      `Copy node_modules/cross-border-payments/dist/sqlite-worker.js to ${fileURLToPath(beside)}, or keep the package out of the bundle.`,
  );
}

/** The error `code` of an operation on a thread that ended. */
const threadEnded = "CROSS_BORDER_THREAD_ENDED";

function ended(stored: "nothing" | "unknown", why: string): SqliteReply {
  return { error: { message: `the journal's thread ended${why}`, code: threadEnded, errcode: undefined, stored } };
}

/** Results of SQLite with their number in errors of node:sqlite, their name in those of better-sqlite3, and their meaning. */
const results: readonly (readonly [number: number, name: string, meaning: string])[] = [
  [
    5,
    "SQLITE_BUSY",
    "another process has the file locked. Raise busyTimeoutMs, or find the one that keeps the file to itself",
  ],
  [7, "SQLITE_NOMEM", "there is no memory left"],
  [8, "SQLITE_READONLY", "the file or its folder can't be written to"],
  [10, "SQLITE_IOERR", "the disk failed"],
  [11, "SQLITE_CORRUPT", "the file is damaged"],
  [13, "SQLITE_FULL", "there is no space left for it"],
  [14, "SQLITE_CANTOPEN", "the file can't be opened. Its folder must exist, and be writable"],
  [26, "SQLITE_NOTADB", "the file isn't a SQLite database"],
  [0, threadEnded, "the thread that has the file ended, such as for lack of memory. Open the journal again"],
];

/** A driver's error as a `JournalError`. `work` completes "could not". */
export function sqliteFailure(error: unknown, work: string): CrossBorderError {
  if (error instanceof CrossBorderError) return error;
  const { message, code, errcode, stored }: SqliteError = Object(error);
  if (code === refused) return new ConfigError(`SqliteJournal: ${message}`);
  if (code === outdatedFile) return outdated("SqliteJournal", message);
  // An extended code gives the code that it extends.
  const [number, name, meaning = "the database refused"] =
    results.find((result) =>
      typeof errcode === "number" ? (errcode & 0xff) === result[0] : String(code).startsWith(result[1]),
    ) ?? [];
  // A failed flush leaves unknown data on the disk. Memory can run out after a commit is in the log.
  const isUnknown = stored === "unknown" || name === "SQLITE_IOERR" || name === "SQLITE_NOMEM";
  return new JournalError(`SqliteJournal could not ${work}: ${meaning}${number ? ` (${name})` : ""}.`, {
    cause: error instanceof Error ? error : Object.assign(new Error(message), { code, errcode }),
    stored: isUnknown ? "unknown" : "nothing",
  });
}

import type { Worker } from "node:worker_threads";
import { ConfigError } from "../errors/errors.js";
import type { SqliteConnection } from "./sqlite-connection.js";
import type { SqliteOperation, SqliteReply } from "./sqlite-engine.js";
import { sqliteFailure, threadEnded } from "./sqlite-failure.js";
import {
  noNodeSqlite,
  type ThreadFailure,
  type ThreadReply,
  type ThreadRequest,
  threadProgram,
} from "./sqlite-thread-program.js";

type Work = ThreadRequest extends readonly [number, ...infer Rest] ? Rest : never;

interface Pending {
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
}

/** A file in a thread of its own: what waits for the disk, or for another process's lock, never blocks the event loop. */
export class SqliteThread implements SqliteConnection {
  readonly #worker: Worker;
  readonly #pending = new Map<number, Pending>();
  #outbox: ThreadRequest[] = [];
  #lastId = 0;
  #hasEnded = false;

  private constructor(worker: Worker) {
    this.#worker = worker;
    worker.unref();
    worker.on("message", (replies: readonly ThreadReply[]) => this.#receive(replies));
    // The exit follows, and tells whoever waits.
    worker.on("error", () => {});
    worker.on("exit", () => this.#end());
  }

  static async open(path: string): Promise<SqliteThread> {
    const thread = new SqliteThread(startWorker());
    try {
      await thread.#ask(["open", path]);
      return thread;
    } catch (error) {
      await thread.close().catch(() => {});
      if (Reflect.get(Object(error), "code") === noNodeSqlite) throw withoutNodeSqlite();
      throw sqliteFailure(error, "open the file");
    }
  }

  async exec(sql: string): Promise<void> {
    await this.#ask(["exec", sql]);
  }

  async all(sql: string): Promise<readonly unknown[]> {
    return (await this.#ask(["all", sql])) as readonly unknown[];
  }

  async start(statements: Readonly<Record<string, string>>): Promise<void> {
    await this.#ask(["start", statements]);
  }

  async run(operation: SqliteOperation): Promise<SqliteReply> {
    try {
      return (await this.#ask(["run", operation])) as SqliteReply;
    } catch (error) {
      return { error };
    }
  }

  async close(): Promise<void> {
    if (!this.#hasEnded) await this.#ask(["close", null]);
  }

  #ask(work: Work): Promise<unknown> {
    return new Promise((resolve, reject) => {
      if (this.#hasEnded) return reject(endedError("nothing"));
      // The process lives until the reply, and no longer than that.
      if (this.#pending.size === 0) this.#worker.ref();
      const id = ++this.#lastId;
      this.#pending.set(id, { resolve, reject });
      // After all promises that are settled by now: what they ask for goes in the same message.
      if (this.#outbox.length === 0) process.nextTick(() => this.#send());
      this.#outbox.push([id, ...work]);
    });
  }

  #send(): void {
    const requests = this.#outbox;
    this.#outbox = [];
    this.#worker.postMessage(requests);
  }

  #receive(replies: readonly ThreadReply[]): void {
    for (const [id, result, failure] of replies) {
      const pending = this.#pending.get(id);
      this.#pending.delete(id);
      if (failure === undefined) pending?.resolve(result);
      else pending?.reject(errorOf(failure));
    }
    if (this.#pending.size === 0) this.#worker.unref();
  }

  #end(): void {
    this.#hasEnded = true;
    for (const { reject } of this.#pending.values()) reject(endedError("unknown"));
    this.#pending.clear();
  }
}

function startWorker(): Worker {
  const { Worker } = process.getBuiltinModule("node:worker_threads");
  const program = threadProgram();
  try {
    if (program.includes("[native code]")) throw new Error("functions have no text here");
    // Nothing of the process's own flags and preloaded modules: the thread runs this program alone.
    return new Worker(program, { eval: true, execArgv: [], env: {}, name: "cross-border-payments journal" });
  } catch (error) {
    throw new ConfigError(
      "SqliteJournal: the journal's thread can't be started. Pass an open database handle in place of the path.",
      { cause: error },
    );
  }
}

function withoutNodeSqlite(): ConfigError {
  return new ConfigError(
    `SqliteJournal: Node ${process.versions.node} has no node:sqlite. Use Node 22.13 or newer, ` +
      "pass an open better-sqlite3 database in place of the path, or use PostgresJournal.",
  );
}

function errorOf({ message, code, errcode }: ThreadFailure): Error {
  return Object.assign(new Error(message), { code, ...(errcode !== undefined && { errcode }) });
}

function endedError(stored: "nothing" | "unknown"): Error {
  return Object.assign(new Error("the journal's thread ended"), { code: threadEnded, stored });
}

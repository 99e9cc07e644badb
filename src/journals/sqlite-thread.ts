import { setImmediate } from "node:timers";
import type { Worker } from "node:worker_threads";
import { describeThrown } from "../core/describe.js";
import { ConfigError } from "../core/errors.js";
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

interface Pending {
  readonly request: ThreadRequest;
  readonly resolve: (result: unknown) => void;
  readonly reject: (error: Error) => void;
}

/**
 * A file in a thread of its own: what waits for the disk, or for another process's lock, never blocks the event loop. While the thread
 * is at work, whatever else is asked for gathers, and then goes together.
 */
export class SqliteThread implements SqliteConnection {
  readonly #worker: Worker;
  #waiting: Pending[] = [];
  /** What was sent, in one message, in the order of the replies that will come; empty where none is under way. */
  #sent: readonly Pending[] = [];
  #isScheduled = false;
  #hasEnded = false;
  /** What the thread ended for, where it said so. */
  #why = "";

  private constructor(worker: Worker) {
    this.#worker = worker;
    worker.unref();
    worker.on("message", (replies: readonly ThreadReply[]) => this.#receive(replies));
    // The exit follows, and fails what still waits.
    worker.on("error", (error: unknown) => {
      this.#why = `: ${describeThrown(error).message}`;
    });
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

  run(operation: SqliteOperation): Promise<SqliteReply> {
    return new Promise((resolve) => {
      const settle = resolve as (result: unknown) => void;
      this.#enqueue({ request: ["run", operation], resolve: settle, reject: (error) => resolve({ error }) });
    });
  }

  async close(): Promise<void> {
    if (!this.#hasEnded) await this.#ask(["close", null]);
  }

  #ask(request: ThreadRequest): Promise<unknown> {
    return new Promise((resolve, reject) => this.#enqueue({ request, resolve, reject }));
  }

  #enqueue(pending: Pending): void {
    if (this.#hasEnded) {
      pending.reject(endedError("nothing", this.#why));
      return;
    }
    this.#waiting.push(pending);
    if (this.#sent.length === 0) this.#schedule();
  }

  /** At the end of this turn of the event loop: what else it asks for goes too. */
  #schedule(): void {
    if (this.#isScheduled) return;
    this.#isScheduled = true;
    // The process lives until the replies, and no longer than that.
    this.#worker.ref();
    setImmediate(() => {
      this.#isScheduled = false;
      if (!this.#hasEnded) this.#send();
    });
  }

  #send(): void {
    this.#sent = this.#waiting;
    this.#waiting = [];
    this.#worker.postMessage(this.#sent.map(({ request }) => request));
  }

  #receive(replies: readonly ThreadReply[]): void {
    const answered = this.#sent;
    this.#sent = [];
    for (const [index, [result, failure]] of replies.entries()) {
      if (failure === undefined) answered[index]?.resolve(result);
      else answered[index]?.reject(errorOf(failure));
    }
    if (this.#waiting.length > 0) this.#schedule();
    else this.#worker.unref();
  }

  #end(): void {
    this.#hasEnded = true;
    for (const { reject } of this.#sent) reject(endedError("unknown", this.#why));
    for (const { reject } of this.#waiting.splice(0)) reject(endedError("nothing", this.#why));
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
    `SqliteJournal: Node ${process.versions.node} has no node:sqlite. Use Node 22.22.3, 24.15 or newer, ` +
      "pass an open better-sqlite3 database in place of the path, or use PostgresJournal.",
  );
}

function errorOf({ message, code, errcode }: ThreadFailure): Error {
  return Object.assign(new Error(message), { code, errcode });
}

function endedError(stored: "nothing" | "unknown", why: string): Error {
  return Object.assign(new Error(`the journal's thread ended${why}`), { code: threadEnded, stored });
}

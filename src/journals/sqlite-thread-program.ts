import type { MessagePort } from "node:worker_threads";
import { openSqliteEngine, type SqliteDatabase, type SqliteEngine, type SqliteOperation } from "./sqlite-engine.js";

/** What the journal sends to its thread. */
export type ThreadRequest =
  | readonly ["open", path: string]
  | readonly ["exec" | "all", sql: string]
  | readonly ["start", statements: Readonly<Record<string, string>>]
  | readonly ["run", operation: SqliteOperation]
  | readonly ["close", nothing: null];

/** What the thread sends back: the result, or what is known of the error. */
export type ThreadReply = readonly [result: unknown, failure?: ThreadFailure];

export interface ThreadFailure {
  readonly message: string;
  readonly code: unknown;
  readonly errcode: unknown;
}

/** `code` of the failure to open a file where Node has no `node:sqlite`. */
export const noNodeSqlite = "CROSS_BORDER_NO_SQLITE";

/** The program as a text, for `new Worker(text, { eval: true })`: bundlers follow no file names, and leave texts as they are. */
export function threadProgram(): string {
  return `"use strict"; (${serve.toString()})(${openSqliteEngine.toString()});`;
}

/**
 * Takes requests, first in, first out, and sends the replies of one message in one. Operations side by side share a transaction. Like
 * `openSqliteEngine`, it uses nothing from outside itself.
 */
function serve(openEngine: (database: SqliteDatabase) => SqliteEngine): void {
  const threads = process.getBuiltinModule("node:worker_threads");
  const port = threads.parentPort as MessagePort;
  const largestBatch = 500;
  let database: (SqliteDatabase & { close(): void }) | undefined;
  let engine: SqliteEngine | undefined;

  const server = {
    work(requests: readonly ThreadRequest[]): void {
      const replies: ThreadReply[] = [];
      for (let from = 0; from < requests.length; from = replies.length) {
        const end = server.endOfBatch(requests, from);
        if (end > from) replies.push.apply(replies, server.batch(requests.slice(from, end)));
        else replies.push(server.single(requests[from] as ThreadRequest));
      }
      port.postMessage(replies);
      if (requests.some((request) => request[0] === "close")) port.close();
    },

    endOfBatch(requests: readonly ThreadRequest[], from: number): number {
      let end = from;
      while (end < requests.length && end - from < largestBatch && (requests[end] as ThreadRequest)[0] === "run") end++;
      return end;
    },

    batch(requests: readonly ThreadRequest[]): ThreadReply[] {
      const replies = (engine as SqliteEngine).run(requests.map((request) => request[1] as SqliteOperation));
      return replies.map((reply) => ("error" in reply ? [undefined, server.failure(reply.error)] : [reply]));
    },

    single(request: ThreadRequest): ThreadReply {
      try {
        return [server.result(request)];
      } catch (error) {
        return [undefined, server.failure(error)];
      }
    },

    result(request: ThreadRequest): unknown {
      if (request[0] === "open") return server.open(request[1]);
      if (request[0] === "close") return database?.close();
      if (request[0] === "start") return (engine as SqliteEngine).start(request[1]);
      const sql = String(request[1]);
      return request[0] === "exec" ? (engine as SqliteEngine).exec(sql) : (engine as SqliteEngine).all(sql);
    },

    open(path: string): void {
      const sqlite = process.getBuiltinModule("node:sqlite") as
        | { readonly DatabaseSync: new (path: string) => SqliteDatabase & { close(): void } }
        | undefined;
      if (sqlite === undefined) throw Object.assign(new Error("no node:sqlite"), { code: "CROSS_BORDER_NO_SQLITE" });
      database = new sqlite.DatabaseSync(path);
      engine = openEngine(database);
    },

    failure(error: unknown): ThreadFailure {
      const { message, code, errcode } = Object(error);
      return { message: String(message), code, errcode };
    },
  };
  // That node:sqlite is experimental in some releases of Node is the journal's own decision, not its user's.
  process.removeAllListeners("warning");
  port.on("message", server.work);
}

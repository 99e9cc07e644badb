import type { MessagePort } from "node:worker_threads";
import { openSqliteEngine, type SqliteDatabase, type SqliteEngine, type SqliteOperation } from "./sqlite-engine.js";

/** What the journal sends to its thread. */
export type ThreadRequest = readonly [
  id: number,
  ...work:
    | readonly ["open", path: string]
    | readonly ["exec" | "all", sql: string]
    | readonly ["start", statements: Readonly<Record<string, string>>]
    | readonly ["run", operation: SqliteOperation]
    | readonly ["close", nothing: null],
];

/** What the thread sends back: the result, or what is known of the error. */
export type ThreadReply = readonly [id: number, result: unknown, failure?: ThreadFailure];

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
 * Takes requests, first in, first out. Operations that have gathered share a transaction. Like `openSqliteEngine`, it uses nothing
 * from outside itself.
 */
function serve(openEngine: (database: SqliteDatabase) => SqliteEngine): void {
  const threads = process.getBuiltinModule("node:worker_threads");
  const port = threads.parentPort as MessagePort;
  const largestBatch = 500;
  let database: (SqliteDatabase & { close(): void }) | undefined;
  let engine: SqliteEngine | undefined;
  let queue: ThreadRequest[] = [];

  const server = {
    drain(): void {
      for (;;) {
        const received = threads.receiveMessageOnPort(port);
        if (received === undefined) return;
        queue = queue.concat(received.message);
      }
    },

    work(): void {
      for (server.drain(); queue.length > 0; server.drain()) {
        const next = queue.findIndex((request) => request[1] !== "run");
        if (next === 0) server.single(queue.splice(0, 1)[0] as ThreadRequest);
        else server.batch(queue.splice(0, Math.min(next < 0 ? queue.length : next, largestBatch)));
      }
    },

    batch(requests: ThreadRequest[]): void {
      const replies = (engine as SqliteEngine).run(requests.map((request) => request[2] as SqliteOperation));
      port.postMessage(
        replies.map((reply, index) => {
          const id = (requests[index] as ThreadRequest)[0];
          return "error" in reply ? [id, undefined, server.failure(reply.error)] : [id, reply];
        }),
      );
    },

    single(request: ThreadRequest): void {
      try {
        port.postMessage([[request[0], server.result(request)]]);
      } catch (error) {
        port.postMessage([[request[0], undefined, server.failure(error)]]);
      }
      if (request[1] === "close") port.close();
    },

    result(request: ThreadRequest): unknown {
      if (request[1] === "open") return server.open(request[2]);
      if (request[1] === "close") return database?.close();
      if (request[1] === "start") return (engine as SqliteEngine).start(request[2]);
      const sql = String(request[2]);
      return request[1] === "exec" ? (engine as SqliteEngine).exec(sql) : (engine as SqliteEngine).all(sql);
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
  port.on("message", (requests: ThreadRequest[]) => {
    queue = queue.concat(requests);
    server.work();
  });
}

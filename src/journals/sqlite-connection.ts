import { setImmediate } from "node:timers";
import { openSqliteEngine, type SqliteDatabase, type SqliteOperation, type SqliteReply } from "./sqlite-engine.js";

/** A SQLite file, on this thread or another. */
export interface SqliteConnection {
  /** Runs statements that return no rows. */
  exec(sql: string): Promise<void>;
  all(sql: string): Promise<readonly unknown[]>;
  start(statements: Readonly<Record<string, string>>): Promise<void>;
  /** May be called after `start`. Operations run in their order; resolves after the commit. */
  run(operation: SqliteOperation): Promise<SqliteReply>;
  /** Waits until what is pending has ended. */
  close(): Promise<void>;
}

/** Keeps a handle that belongs to the caller on the caller's thread. Operations of one turn of the event loop share a transaction. */
export function connectHandle(database: SqliteDatabase): SqliteConnection {
  const engine = openSqliteEngine(database);
  let pending: { readonly operation: SqliteOperation; readonly resolve: (reply: SqliteReply) => void }[] = [];
  const flush = (): void => {
    const batch = pending;
    pending = [];
    if (batch.length === 0) return;
    const replies = engine.run(batch.map(({ operation }) => operation));
    for (const [index, reply] of replies.entries()) batch[index]?.resolve(reply);
  };
  return {
    exec: async (sql) => engine.exec(sql),
    all: async (sql) => engine.all(sql),
    start: async (statements) => engine.start(statements),
    run: (operation) =>
      new Promise((resolve) => {
        if (pending.length === 0) setImmediate(flush);
        pending.push({ operation, resolve });
      }),
    close: async () => flush(),
  };
}

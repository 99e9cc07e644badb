/**
 * What a journal needs of a SQLite handle: `DatabaseSync` of `node:sqlite`, better-sqlite3's `Database`, or one like them.
 *
 * Nobody else may use the handle while the journal is open: a transaction that is left open on it would delay what the journal
 * writes.
 */
export interface SqliteDatabase {
  exec(sql: string): unknown;
  prepare(sql: string): SqliteStatement;
}

/** Its parameters are strings, numbers and null. Their type is wider, since that of better-sqlite3's own statements is no union. */
export interface SqliteStatement {
  all(...parameters: unknown[]): unknown[];
  run(...parameters: unknown[]): { readonly changes: number | bigint };
}

export type SqliteParameters = readonly (string | number | null)[];

/** Statements by name, one after the other. All or none of it is stored. */
export type SqliteOperation = readonly (readonly [statement: string, parameters: SqliteParameters])[];

/** What an operation returned, and how many rows it changed; or why it failed, with nothing stored unless the disk failed. */
export type SqliteReply = { readonly rows: readonly unknown[]; readonly changes: number } | { readonly error: unknown };

export interface SqliteEngine {
  exec(sql: string): void;
  all(sql: string): readonly unknown[];
  /** Takes the file's identity, from which on `run` may be called. */
  start(statements: Readonly<Record<string, string>>): void;
  /** Runs operations one after the other in one transaction, and replies after its commit. */
  run(operations: readonly SqliteOperation[]): SqliteReply[];
}

/** `code` of the error of every operation after the file, or its log, was replaced. */
export const fileReplaced = "CROSS_BORDER_FILE_REPLACED";
/** The same of those that were committed, to which of the files nobody can tell. */
export const replacedAtCommit = "CROSS_BORDER_FILE_REPLACED_AT_COMMIT";
/** `code` of the error of an operation that found the handle in a transaction of somebody else's. */
export const inTransaction = "CROSS_BORDER_IN_TRANSACTION";

/**
 * The part of the journal that works synchronously on a handle. Its text is also part of the program of the journal's thread: it
 * uses nothing from outside itself, and no syntax for which compilers and bundlers call helpers of theirs. That is why it has methods
 * in place of functions (esbuild's `keepNames` wraps those), and counts in place of `for … of`.
 */
export function openSqliteEngine(database: SqliteDatabase): SqliteEngine {
  const fs = process.getBuiltinModule("node:fs");
  const prepared = new Map<string, { readonly statement: SqliteStatement; readonly returnsRows: boolean }>();
  let sql: Readonly<Record<string, string>> = {};
  let path = "";
  let identity = "";
  let isReplaced = false;

  const engine = {
    exec(text: string): void {
      database.exec(text);
    },

    all(text: string): readonly unknown[] {
      return database.prepare(text).all();
    },

    start(statements: Readonly<Record<string, string>>): void {
      sql = statements;
      const files = engine.all("PRAGMA database_list");
      const main = files.find((row) => Reflect.get(Object(row), "name") === "main");
      path = String(Reflect.get(Object(main), "file"));
      identity = engine.identityNow();
    },

    run(operations: readonly SqliteOperation[]): SqliteReply[] {
      try {
        return engine.transaction(operations);
      } catch (error) {
        if (operations.length === 1 || engine.concernsAll(error)) return operations.map(() => ({ error }));
        return operations.map((operation) => engine.run([operation])[0] as SqliteReply);
      }
    },

    transaction(operations: readonly SqliteOperation[]): SqliteReply[] {
      engine.assertNoTransaction();
      engine.assertSameFile();
      if (operations.every(engine.onlyReads)) return operations.map(engine.reply);
      database.exec("BEGIN IMMEDIATE");
      try {
        const replies = operations.map(engine.reply);
        engine.assertSameFile();
        database.exec("COMMIT");
        engine.assertSameFile("_AT_COMMIT");
        return replies;
      } catch (error) {
        engine.rollBack();
        throw error;
      }
    },

    onlyReads(operation: SqliteOperation): boolean {
      return operation.every((step) => /^SELECT/.test(String(sql[step[0]])));
    },

    reply(operation: SqliteOperation): SqliteReply {
      const rows: unknown[] = [];
      let changes = 0;
      operation.forEach((step) => {
        const known = prepared.get(step[0]) || engine.prepare(step[0]);
        const statement = known.statement;
        const parameters = step[1] as (string | number | null)[];
        if (known.returnsRows) rows.push.apply(rows, statement.all.apply(statement, parameters));
        else changes += Number(statement.run.apply(statement, parameters).changes);
      });
      return { rows, changes };
    },

    // Never `get`, which stops at the first row: node:sqlite then commits a lone statement while it resets it and, before Node 26,
    // drops the failure of that commit. A write that was lost would look stored.
    prepare(name: string): { readonly statement: SqliteStatement; readonly returnsRows: boolean } {
      const text = String(sql[name]);
      const known = { statement: database.prepare(text), returnsRows: /^SELECT|RETURNING/.test(text) };
      prepared.set(name, known);
      return known;
    },

    rollBack(): void {
      try {
        database.exec("ROLLBACK");
      } catch (_) {
        // After the worst failures SQLite has already rolled back; the first failure is the one to report.
      }
    },

    // A lock, the disk and the file itself are in the way of every operation alike.
    concernsAll(error: unknown): boolean {
      const errcode: unknown = Reflect.get(Object(error), "errcode");
      if (typeof errcode === "number") return (errcode & 0xff) === 5 || (errcode & 0xff) === 10;
      return /^(?:SQLITE_BUSY|SQLITE_IOERR|CROSS_BORDER_)/.test(String(Reflect.get(Object(error), "code")));
    },

    // `isTransaction` of node:sqlite, `inTransaction` of better-sqlite3; a handle with neither can't be asked.
    assertNoTransaction(): void {
      if (Reflect.get(database, "isTransaction") !== true && Reflect.get(database, "inTransaction") !== true) return;
      throw Object.assign(new Error("a transaction is open"), { code: "CROSS_BORDER_IN_TRANSACTION" });
    },

    // A process that deletes a file or renames another one over it leaves this one with a file that nobody else will ever read. The locks
    // of all processes are in `-shm`: without the same one, two of them write over each other's commits.
    assertSameFile(when = ""): void {
      isReplaced = isReplaced || engine.identityNow() !== identity;
      const code = `CROSS_BORDER_FILE_REPLACED${when}`;
      if (isReplaced) throw Object.assign(new Error("the file was replaced"), { code });
    },

    identityNow(): string {
      return engine.identityOf(path) + engine.identityOf(`${path}-wal`) + engine.identityOf(`${path}-shm`);
    },

    // What can't be looked at, as where a folder's rights were taken away, may be another file.
    identityOf(file: string): string {
      try {
        const stats = fs.statSync(file, { bigint: true });
        return `${stats.dev}:${stats.ino} `;
      } catch (_) {
        return "none ";
      }
    },
  };
  return engine;
}

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type SqliteDatabase, SqliteJournal } from "cross-border-payments/journal/sqlite";
import { onTestFinished } from "vitest";

export type Handle = SqliteDatabase & { close(): void };

/** `node:sqlite`, where this Node has it. */
export const nodeSqlite = process.getBuiltinModule("node:sqlite") as
  | { readonly DatabaseSync: new (path: string) => Handle }
  | undefined;

export const withoutSqlite =
  nodeSqlite === undefined ? ` (skipped: Node ${process.versions.node} has no node:sqlite)` : "";

if (withoutSqlite !== "") process.stdout.write(`SqliteJournal is tested on Node 22.13 and newer${withoutSqlite}\n`);

/** The path of a file that is not there yet, in a folder that is removed after the test. */
export function newFile(): string {
  const folder = mkdtempSync(join(tmpdir(), "cross-border-journal-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return join(folder, "payments.db");
}

/** Until the test is over. */
export async function openSqliteJournal(...parameters: Parameters<typeof SqliteJournal.open>): Promise<SqliteJournal> {
  const journal = await SqliteJournal.open(...parameters);
  onTestFinished(() => journal.close());
  return journal;
}

export function openHandle(path: string): Handle {
  if (nodeSqlite === undefined) throw new Error("this Node has no node:sqlite");
  const database = new nodeSqlite.DatabaseSync(path);
  onTestFinished(() => {
    try {
      database.close();
    } catch {
      // The test has closed it.
    }
  });
  return database;
}

const codes = new Map<unknown, string>([
  [5, "SQLITE_BUSY"],
  [13, "SQLITE_FULL"],
]);

/** A handle that behaves like better-sqlite3: `all` only where rows come back, `run` only where none do, and its own kind of error. */
export function likeBetterSqlite3(database: Handle, onStatement: (sql: string) => void = () => {}): SqliteDatabase {
  const translated = <T>(work: () => T): T => {
    try {
      return work();
    } catch (error) {
      const errcode: unknown = Reflect.get(Object(error), "errcode");
      throw Object.assign(new Error(String(error)), { code: codes.get(errcode) ?? "SQLITE_ERROR" });
    }
  };
  return {
    exec: (sql) => translated(() => database.exec(sql)),
    prepare: (sql) => {
      const statement = translated(() => database.prepare(sql));
      const returnsData = /^(?:SELECT|PRAGMA)|RETURNING/.test(sql);
      return {
        all: (...parameters) => {
          if (!returnsData) throw new TypeError("This statement does not return data. Use run() instead");
          assertBindable(parameters);
          onStatement(sql);
          return translated(() => statement.all(...parameters));
        },
        run: (...parameters) => {
          if (returnsData) throw new TypeError("This statement returns data. Use get(), all(), or iterate() instead");
          assertBindable(parameters);
          onStatement(sql);
          return translated(() => statement.run(...parameters));
        },
      };
    },
  };
}

function assertBindable(parameters: readonly unknown[]): void {
  if (parameters.some((parameter) => typeof parameter === "boolean"))
    throw new TypeError("SQLite3 can't bind booleans");
}

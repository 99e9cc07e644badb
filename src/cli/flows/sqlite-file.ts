import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { ConfigError, type CrossBorderError } from "../../core/errors.js";
import type { Journal } from "../../flows/index.js";
import { type SqliteDatabase, SqliteJournal, type SqliteJournalOptions } from "../../journals/sqlite-journal.js";
import { sqliteFailure } from "../../journals/sqlite-store.js";

/** A journal, and what closes it with all that was opened for it. */
export interface OpenJournal {
  readonly journal: Journal;
  close(): Promise<void>;
}

/** Where a file can be opened by. */
export interface SqliteHost {
  readonly hasNodeSqlite: boolean;
  /** A project that may have better-sqlite3 installed. */
  readonly folder: string;
}

type Handle = SqliteDatabase & { close(): void };

/**
 * Opens the journal in an existing file, by `node:sqlite`, or by the better-sqlite3 of the working directory.
 *
 * @throws {ConfigError} Neither is there; or as `SqliteJournal.open`.
 * @throws {JournalError} As `SqliteJournal.open`.
 */
export async function openSqliteFile(
  path: string,
  options: SqliteJournalOptions,
  host: SqliteHost = {
    hasNodeSqlite: process.getBuiltinModule("node:sqlite") !== undefined,
    folder: process.cwd(),
  },
): Promise<OpenJournal> {
  if (host.hasNodeSqlite) {
    const journal = await SqliteJournal.open(path, options);
    return { journal, close: () => journal.close() };
  }
  const database = openByBetterSqlite3(resolve(path), host.folder);
  try {
    const journal = await SqliteJournal.open(database, options);
    const close = async (): Promise<void> => {
      await journal.close();
      database.close();
    };
    return { journal, close };
  } catch (error) {
    database.close();
    throw error;
  }
}

/** It loads its compiled part when it opens its first file, so that either line can fail. */
function openByBetterSqlite3(path: string, folder: string): Handle {
  try {
    const Database: new (path: string, options: { readonly fileMustExist: true }) => Handle = createRequire(
      join(folder, "package.json"),
    )("better-sqlite3");
    return new Database(path, { fileMustExist: true });
  } catch (error) {
    throw toFailure(error);
  }
}

function toFailure(error: unknown): CrossBorderError {
  const code = String(Reflect.get(Object(error), "code"));
  if (code.startsWith("SQLITE_")) return sqliteFailure(error, "open the file");
  const why =
    code === "MODULE_NOT_FOUND"
      ? ""
      : `, and better-sqlite3, which is installed here, can't be loaded (${String(error)})`;
  return new ConfigError(
    `Node ${process.versions.node} can't open a SQLite file${why}. If better-sqlite3 is installed in the working ` +
      "directory's project, the command uses it. Otherwise run it by a newer Node: npx -p node@22 -p cross-border-payments cross-border flows …",
    { cause: error },
  );
}

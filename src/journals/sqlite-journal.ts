import { ConfigError } from "../core/errors.js";
import { type CheckTable, isBoolean, isWholeFrom, parseOptions } from "../core/parse.js";
import { SqlJournal } from "./sql-journal.js";
import { openHandle, openThread, type SqlitePlace, SqliteStore, sqliteFailure } from "./sqlite-store.js";
import type { OpenOptions, SqliteDatabase, SqliteJournalOptions } from "./sqlite-worker.js";

export type { SqlJournal } from "./sql-journal.js";
export type { SqliteDatabase, SqliteJournalOptions, SqliteStatement } from "./sqlite-worker.js";

const sqliteOptions: CheckTable<SqliteJournalOptions> = {
  processes: { accepts: (value) => value === "many" || value === "one", expected: '"many" or "one"' },
  busyTimeoutMs: { accepts: isWholeFrom(0, 2 ** 31 - 1), expected: "a whole number of milliseconds" },
  migrate: { accepts: isBoolean, expected: "true or false" },
};

/**
 * A journal in its own SQLite file on a local disk, for the processes of one machine.
 *
 * Every write is flushed (`synchronous=FULL`) before its promise resolves. `close` waits for pending writes, and leaves your own
 * handle open.
 *
 * A flow's data is stored as is, with account numbers and names. Only the service's user may read the file.
 */
export class SqliteJournal extends SqlJournal {
  private constructor(place: SqlitePlace) {
    super(new SqliteStore(place));
  }

  /**
   * Opens the journal, and creates its tables if the file is new.
   *
   * @param place A file, opened with `node:sqlite` (Node 22.22.3, 24.15 or newer), or an open handle like that of better-sqlite3. You close
   *   the handle after the journal.
   * @throws {ConfigError} Node has no `node:sqlite`, SQLite is too old for several processes (`processes`), the file belongs to another
   *   program or a newer release or is in memory, it has no tables or older ones (with `migrate: false`), or a bundle lacks the file of
   *   the journal's thread.
   * @throws {JournalError} The file can't be opened or written, or another process has it to itself.
   */
  static async open(place: string | SqliteDatabase, options: SqliteJournalOptions = {}): Promise<SqliteJournal> {
    const refuse = (message: string) => new ConfigError(`SqliteJournal: ${message}`);
    const read: SqliteJournalOptions = parseOptions(sqliteOptions, options, "the options", refuse);
    const checked: OpenOptions = { processes: "many", busyTimeoutMs: 5_000, migrate: true, ...read };
    if (typeof place === "string" && place !== "") return new SqliteJournal(await openThread(place, checked));
    if (typeof place !== "object" || typeof place?.exec !== "function" || typeof place.prepare !== "function") {
      throw refuse("open needs a file's path, or an open handle with exec and prepare");
    }
    try {
      return new SqliteJournal(openHandle(place, checked));
    } catch (error) {
      throw sqliteFailure(error, "open the journal");
    }
  }
}

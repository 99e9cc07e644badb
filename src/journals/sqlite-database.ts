import { ConfigError } from "../errors/errors.js";
import { sqliteFailure, sqliteResult } from "./sqlite-failure.js";

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

export interface SqliteStatement {
  all(...parameters: (string | number)[]): unknown[];
}

export interface SqliteJournalOptions {
  /**
   * `many` (default): several processes, threads or handles may share the file. Needs SQLite >= 3.51.3: in older builds two
   * connections that write and checkpoint at the same time can damage the file.
   *
   * `one`: this handle keeps the file to itself, with any SQLite >= 3.37; a second one is refused while it is open.
   */
  readonly processes?: "many" | "one";
  /** How long a statement waits for another process's write, in milliseconds, while it blocks the event loop. Default: 5,000. */
  readonly busyTimeoutMs?: number;
}

/** Loads `node:sqlite`, which Node has since 22.13, and opens the file. */
export function openNodeSqlite(path: string): SqliteDatabase & { close(): void } {
  const sqlite = process.getBuiltinModule("node:sqlite");
  if (sqlite === undefined) {
    throw new ConfigError(
      `SqliteJournal: Node ${process.versions.node} has no node:sqlite. Use Node 22.13 or newer, ` +
        "pass an open better-sqlite3 database in place of the path, or use PostgresJournal.",
    );
  }
  const { DatabaseSync } = sqlite as {
    readonly DatabaseSync: new (path: string) => SqliteDatabase & { close(): void };
  };
  try {
    return new DatabaseSync(path);
  } catch (error) {
    throw sqliteFailure(error, "open the file");
  }
}

/** Makes the handle durable and its file a journal of the newest version. Safe for many processes at once. */
export async function prepareDatabase(database: SqliteDatabase, options: SqliteJournalOptions): Promise<void> {
  const { processes = "many", busyTimeoutMs = 5_000 } = options;
  if (processes !== "many" && processes !== "one") {
    throw new ConfigError('SqliteJournal: processes must be "many" or "one"');
  }
  if (!Number.isInteger(busyTimeoutMs) || busyTimeoutMs < 0 || busyTimeoutMs >= 2 ** 31) {
    throw new ConfigError("SqliteJournal: busyTimeoutMs must be a whole number of milliseconds");
  }
  // A process that switches the file to WAL, or recovers it, locks out readers too, so that even reading the version can fail.
  await untilNotBusy(busyTimeoutMs, () => {
    assertBuild(String(pragma(database, "SELECT sqlite_version()")), processes);
  });
  pragma(database, `PRAGMA busy_timeout = ${busyTimeoutMs}`);
  await untilNotBusy(busyTimeoutMs, () => {
    const encoding = pragma(database, "PRAGMA encoding");
    assertSupported(encoding === "UTF-8", "the file's encoding is not UTF-8, which orders keys");
  });
  if (processes === "one") pragma(database, "PRAGMA locking_mode = EXCLUSIVE");
  await untilNotBusy(busyTimeoutMs, () => {
    const mode = pragma(database, "PRAGMA journal_mode = WAL");
    assertSupported(mode === "wal", "SQLite can't keep a write-ahead log for it. A journal in memory is MemoryJournal");
  });
  database.exec("PRAGMA synchronous = FULL");
  // Only macOS knows the difference: there, fsync alone leaves the data in the disk's cache.
  database.exec("PRAGMA fullfsync = ON");
  await untilNotBusy(busyTimeoutMs, () => migrate(database));
}

/** "CBPJ": distinguishes a journal's file from another program's. */
const applicationId = 0x4342504a;

/** In order. A migration that was released never changes. `user_version` stores how many of them have run. */
const migrations: readonly string[] = [
  `CREATE TABLE flows (
    key TEXT NOT NULL PRIMARY KEY,
    epoch INTEGER NOT NULL,
    phase TEXT NOT NULL,
    settled INTEGER NOT NULL CHECK (settled IN (0, 1)),
    data TEXT NOT NULL,
    owner TEXT NOT NULL,
    lease_until_ms INTEGER,
    created_at_ms INTEGER NOT NULL,
    updated_at_ms INTEGER NOT NULL
  ) STRICT;
  CREATE INDEX flows_by_phase ON flows (phase, key);
  CREATE INDEX flows_unsettled ON flows (key) WHERE settled = 0;`,
];

function migrate(database: SqliteDatabase): void {
  database.exec("BEGIN IMMEDIATE");
  try {
    const version = fileVersion(database);
    for (const migration of migrations.slice(version)) database.exec(migration);
    if (version < migrations.length) {
      database.exec(`PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${migrations.length}`);
    }
    database.exec("COMMIT");
  } catch (error) {
    rollBack(database);
    throw error;
  }
}

/** @throws {ConfigError} when the file is another program's, or a newer release's. */
function fileVersion(database: SqliteDatabase): number {
  const version = Number(pragma(database, "PRAGMA user_version"));
  if (Number(pragma(database, "PRAGMA application_id")) !== applicationId) {
    const isEmpty = version === 0 && Number(pragma(database, "SELECT count(*) FROM sqlite_schema")) === 0;
    assertSupported(isEmpty, "it holds another program's tables. Give the journal a file of its own");
    return 0;
  }
  assertSupported(
    version <= migrations.length,
    `it has version ${version}, and this release of cross-border-payments knows ${migrations.length}. Use the newer release`,
  );
  return version;
}

function assertBuild(version: string, processes: "many" | "one"): void {
  assertSupported(isAtLeast(version, [3, 37, 0]), `SQLite ${version} is too old, 3.37 is needed`);
  if (processes === "one" || isAtLeast(version, [3, 51, 3])) return;
  throw new ConfigError(
    `SqliteJournal: SQLite ${version} can damage a write-ahead log that several processes share (fixed in 3.51.3). ` +
      "Use a Node or a better-sqlite3 with SQLite 3.51.3 or newer, " +
      'or, if only one process ever opens the file, the option processes: "one".',
  );
}

function isAtLeast(version: string, wanted: readonly number[]): boolean {
  const parts = version.split(".").map(Number);
  for (const [index, part] of wanted.entries()) {
    const difference = (parts[index] ?? 0) - part;
    if (difference !== 0) return difference > 0;
  }
  return true;
}

function assertSupported(holds: boolean, otherwise: string): void {
  if (!holds) throw new ConfigError(`SqliteJournal: this file can't be the journal: ${otherwise}.`);
}

/** The first column of the first row. */
function pragma(database: SqliteDatabase, sql: string): unknown {
  const row: unknown = database.prepare(sql).all()[0];
  return typeof row === "object" && row !== null ? Object.values(row)[0] : undefined;
}

function rollBack(database: SqliteDatabase): void {
  try {
    database.exec("ROLLBACK");
  } catch {
    // After the worst failures SQLite has already rolled back; the first failure is the one to report.
  }
}

// Switching a file to its write-ahead log fails at once, whatever busy_timeout says, while another process does the same.
async function untilNotBusy(patienceMs: number, work: () => void): Promise<void> {
  const giveUpAt = performance.now() + patienceMs;
  for (;;) {
    try {
      return work();
    } catch (error) {
      if (sqliteResult(error) !== "SQLITE_BUSY" || performance.now() >= giveUpAt) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, 5 + Math.random() * 20));
  }
}

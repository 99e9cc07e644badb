import { clock, sleep } from "../core/clock.js";
import { ConfigError } from "../core/errors.js";
import { type CheckTable, isBoolean, isWholeFrom, parseOptions } from "../core/parse.js";
import { assertKnownVersion, earlier, newest, openFlow } from "./journal-version.js";
import type { SqliteConnection } from "./sqlite-connection.js";
import { sqliteResult } from "./sqlite-failure.js";
import { whyLogIsApart } from "./sqlite-place.js";

export interface SqliteJournalOptions {
  /**
   * `many` (default): several processes, threads or handles may share the file. Needs SQLite >= 3.51.3: in older builds two
   * connections that write and checkpoint at the same time can damage the file.
   *
   * `one`: this handle keeps the file to itself, with any SQLite >= 3.37; a second one is refused while it is open.
   */
  readonly processes?: "many" | "one";
  /**
   * How long a statement waits for another process's write, in milliseconds. With a handle that is passed in, it blocks the event loop
   * while it waits. Default: 5,000.
   */
  readonly busyTimeoutMs?: number;
  /** Whether a new file gets its tables, and an older release's file is migrated; with `false` it is refused. Default: true. */
  readonly migrate?: boolean;
}

/** @throws {ConfigError} for options that can't be meant. */
export function assertSqliteOptions(options: SqliteJournalOptions): Required<SqliteJournalOptions> {
  const refuse = (message: string) => new ConfigError(`SqliteJournal: ${message}`);
  const read: SqliteJournalOptions = parseOptions(sqliteOptions, options, "the options", refuse);
  return { processes: "many", busyTimeoutMs: 5_000, migrate: true, ...read };
}

const sqliteOptions: CheckTable<SqliteJournalOptions> = {
  processes: { accepts: (value) => value === "many" || value === "one", wanted: '"many" or "one"' },
  busyTimeoutMs: {
    accepts: isWholeFrom(0, 2 ** 31 - 1),
    wanted: "a whole number of milliseconds",
  },
  migrate: { accepts: isBoolean, wanted: "true or false" },
};

/** Makes the connection durable and its file a journal of the newest version. Safe for many processes at once. */
export async function prepareDatabase(
  database: SqliteConnection,
  { processes, busyTimeoutMs, migrate }: Required<SqliteJournalOptions>,
): Promise<void> {
  await assertOneLog(database);
  // A process that switches the file to WAL, or recovers it, locks out readers too, so that even reading the version can fail.
  await untilNotBusy(busyTimeoutMs, async () => {
    assertBuild(String(await pragma(database, "SELECT sqlite_version()")), processes);
  });
  await pragma(database, `PRAGMA busy_timeout = ${busyTimeoutMs}`);
  await untilNotBusy(busyTimeoutMs, async () => {
    const encoding = await pragma(database, "PRAGMA encoding");
    assertSupported(encoding === "UTF-8", "the file's encoding is not UTF-8, which orders keys");
  });
  if (processes === "one") await pragma(database, "PRAGMA locking_mode = EXCLUSIVE");
  await untilNotBusy(busyTimeoutMs, async () => {
    const mode = await pragma(database, "PRAGMA journal_mode = WAL");
    assertSupported(mode === "wal", "SQLite can't keep a write-ahead log for it. A journal in memory is MemoryJournal");
  });
  await database.exec("PRAGMA synchronous = FULL");
  // Only macOS knows the difference: there, fsync alone leaves the data in the disk's cache.
  await database.exec("PRAGMA fullfsync = ON");
  await untilNotBusy(busyTimeoutMs, () => (migrate ? migrateFile(database) : assertNewest(database)));
}

/** "CBPJ": distinguishes a journal's file from another program's. */
const applicationId = 0x4342504a;

// Flows that are not settled, which change most often, are in one small index, and are found by their phase there.
const newTables = `CREATE TABLE flows (
    key TEXT NOT NULL PRIMARY KEY,
    epoch INTEGER NOT NULL,
    phase TEXT NOT NULL,
    settled INTEGER NOT NULL CHECK (settled IN (0, 1)),
    data TEXT NOT NULL,
    owner TEXT NOT NULL,
    lease_until_ms INTEGER,
    created_at_ms INTEGER NOT NULL,
    updated_at_ms INTEGER NOT NULL,
    service TEXT NOT NULL,
    gateway TEXT NOT NULL,
    nonce TEXT NOT NULL,
    revision INTEGER NOT NULL,
    expires_at_ms INTEGER,
    pruned_at_ms INTEGER
  ) STRICT;
  CREATE INDEX flows_unsettled ON flows (key) WHERE settled = 0;
  CREATE INDEX flows_settled ON flows (phase, key, service, gateway) WHERE settled = 1 AND pruned_at_ms IS NULL;`;

// Without these columns, processes of release 0.3.0 can store nothing any more. Its service was the base URL.
const fromEarlier = `DELETE FROM flows WHERE phase = 'quoted' AND pruned_at_ms IS NULL;
  UPDATE flows SET service = substr(service, instr(service, '://') + 3) WHERE instr(service, '://') > 0;
  UPDATE flows SET service = substr(service, 1, instr(service, '/') - 1) WHERE instr(service, '/') > 1;
  ALTER TABLE flows DROP COLUMN evidence;
  ALTER TABLE flows DROP COLUMN lease_ms;
  ALTER TABLE flows DROP COLUMN lease_nonce;
  ALTER TABLE flows DROP COLUMN incarnation_mark;`;

async function migrateFile(database: SqliteConnection): Promise<void> {
  await database.exec("BEGIN IMMEDIATE");
  try {
    const version = await fileVersion(database);
    if (version === earlier) {
      await assertNoneOpen(database);
      await database.exec(fromEarlier);
    } else if (version === 0) await database.exec(newTables);
    if (version < newest) {
      await database.exec(`PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${newest}`);
    }
    await database.exec("COMMIT");
  } catch (error) {
    // After the worst failures SQLite has already rolled back; the first failure is the one to report.
    await database.exec("ROLLBACK").catch(() => {});
    throw error;
  }
}

/** @throws {ConfigError} `journal_outdated` */
async function assertNoneOpen(database: SqliteConnection): Promise<void> {
  const [row] = await database.all(
    "SELECT key FROM flows WHERE settled = 0 AND pruned_at_ms IS NULL ORDER BY key LIMIT 1",
  );
  if (row !== undefined) throw openFlow("SqliteJournal", String(Reflect.get(Object(row), "key")));
}

async function assertNewest(database: SqliteConnection): Promise<void> {
  const version = await fileVersion(database);
  if (version === newest) return;
  const present = version === 0 ? "it has no tables yet" : `it has version ${version}`;
  assertSupported(false, `${present}, this release needs version ${newest}, and migrate is false`);
}

/** @throws {ConfigError} when the file is another program's, or a newer release's. */
async function fileVersion(database: SqliteConnection): Promise<number> {
  const version = Number(await pragma(database, "PRAGMA user_version"));
  if (Number(await pragma(database, "PRAGMA application_id")) !== applicationId) {
    const isEmpty = version === 0 && Number(await pragma(database, "SELECT count(*) FROM sqlite_schema")) === 0;
    assertSupported(isEmpty, "it holds another program's tables. Give the journal a file of its own");
    return 0;
  }
  assertKnownVersion("SqliteJournal", version);
  return version;
}

function assertBuild(version: string, processes: "many" | "one"): void {
  assertSupported(isAtLeast(version, [3, 37, 0]), `SQLite ${version} is too old, 3.37 is needed`);
  if (processes === "one" || isAtLeast(version, [3, 51, 3])) return;
  throw new ConfigError(
    `SqliteJournal: SQLite ${version} can damage a write-ahead log that several processes share (fixed in 3.51.3). ` +
      "Use Node 22.22.3, 24.15 or newer, or a better-sqlite3 with SQLite 3.51.3 or newer; " +
      'if only one process ever opens the file, the option processes: "one" will do.',
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

/** @throws {ConfigError} when two who open the file would write two logs. */
async function assertOneLog(database: SqliteConnection): Promise<void> {
  const files = await database.all("PRAGMA database_list");
  const main = files.find((row) => Reflect.get(Object(row), "name") === "main");
  assertSupported(!files.some(Array.isArray), "the handle returns rows without names. Open it without returnArrays");
  const why = whyLogIsApart(String(Reflect.get(Object(main), "file") ?? ""));
  assertSupported(why === undefined, String(why));
}

function assertSupported(holds: boolean, otherwise: string): void {
  if (!holds) throw new ConfigError(`SqliteJournal: this file can't be the journal: ${otherwise}.`);
}

/** The first column of the first row. */
async function pragma(database: SqliteConnection, sql: string): Promise<unknown> {
  const [row] = await database.all(sql);
  return typeof row === "object" && row !== null ? Object.values(row)[0] : undefined;
}

// Switching a file to its write-ahead log fails at once, whatever busy_timeout says, while another process does the same.
async function untilNotBusy(patienceMs: number, work: () => Promise<void>): Promise<void> {
  const giveUpAt = clock.monotonicMs() + patienceMs;
  for (;;) {
    try {
      return await work();
    } catch (error) {
      if (sqliteResult(error) !== "SQLITE_BUSY" || clock.monotonicMs() >= giveUpAt) throw error;
    }
    await sleep(5 + Math.random() * 20);
  }
}

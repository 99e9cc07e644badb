import { type MessagePort, parentPort, workerData } from "node:worker_threads";
import type { Input, StatementName } from "./sql-journal.js";

/**
 * Everything that touches a SQLite file, synchronously. It runs on the caller's thread for a given handle, and as the program of
 * the journal's thread for a path. A program must stand alone, so it imports nothing but types.
 */

/**
 * The part of a SQLite handle that a journal uses. It fits `DatabaseSync` of `node:sqlite` and better-sqlite3's `Database`.
 *
 * Nothing else may use the handle while the journal is open. An open transaction on it would delay the journal's writes.
 */
export interface SqliteDatabase {
  exec(sql: string): unknown;
  prepare(sql: string): SqliteStatement;
}

/** Parameters are strings, numbers, and null. The type is wider, since better-sqlite3's own type isn't a union. */
export interface SqliteStatement {
  all(...parameters: unknown[]): unknown[];
  run(...parameters: unknown[]): { readonly changes: number | bigint };
}

export interface SqliteJournalOptions {
  /**
   * `many` (default): several processes, threads, or handles may share the file. It needs SQLite >= 3.51.3, since older builds
   * can damage a file that two connections write and checkpoint at the same time.
   *
   * `one`: this handle keeps the file to itself, with SQLite >= 3.37. A second handle is refused.
   */
  readonly processes?: "many" | "one";
  /**
   * How long a statement waits for another process's write, in milliseconds. With a handle that is passed in, it blocks the event loop
   * while it waits. Default: 5,000.
   */
  readonly busyTimeoutMs?: number;
  /** Whether a new file gets its tables and an older release's file is migrated. With `false` such a file is refused. Default: true. */
  readonly migrate?: boolean;
}

export type OpenOptions = Required<SqliteJournalOptions>;

/** A statement by name. A change is followed by `read` if its caller can't know the row. */
export type SqliteOperation = readonly [statement: StatementName, input: Input];

/** What is known of an error, also in another thread. */
export interface SqliteError {
  readonly message: string;
  readonly code: unknown;
  /** Of `node:sqlite`. */
  readonly errcode: unknown;
  /** Of a thread that ended. */
  readonly stored?: "nothing" | "unknown";
}

/** What an operation found and how many rows it changed, or why it failed. */
export type SqliteReply = SqliteResult | { readonly error: SqliteError };

interface SqliteResult {
  readonly rows: readonly unknown[];
  readonly changes: number;
  readonly error?: undefined;
}

/** `code` of the refusal of a file that can't be a journal's. */
export const refused = "CROSS_BORDER_REFUSED";
/** `code` of the refusal of an earlier release's file. */
export const outdatedFile = "CROSS_BORDER_OUTDATED";
export const threadName = "cross-border-payments journal";

// SQLite reads its clock once per statement, after it has the lock, so a lease starts when it is granted.
const nowMs = "CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER)";
const isFree = `(lease_until_ms IS NULL OR lease_until_ms <= ${nowMs})`;
const isInScope = "service = @service AND (@gateway = '' OR gateway = @gateway)";
const isOwned = "key = @key AND epoch = @epoch AND nonce = @nonce AND pruned_at_ms IS NULL";

const columns = `key, service, gateway, epoch, nonce, revision, owner, lease_until_ms, created_at_ms, updated_at_ms,
  expires_at_ms, pruned_at_ms, phase, settled, data, ${nowMs} AS read_at_ms`;
const lease = `epoch = epoch + 1, nonce = @nonce, owner = @owner, lease_until_ms = ${nowMs} + @lease_ms`;
const newLease = `iif(@settled OR @phase = 'quoted', NULL, ${nowMs} + @lease_ms)`;
const ofQuote = "(@new_nonce <> '')";

const listed = (which: string): string =>
  `SELECT ${columns} FROM flows ${which} AND key > @after AND ${isInScope} ORDER BY key LIMIT @limit`;
const isSettled = "INDEXED BY flows_settled WHERE settled = 1 AND pruned_at_ms IS NULL";
const isUnsettled = "INDEXED BY flows_unsettled WHERE settled = 0 AND pruned_at_ms IS NULL";
/** The clock may have been set back. */
const counted = (unowned: string, which: string): string => `SELECT service, gateway, phase, settled, count(*) AS flows,
    ${unowned} AS unowned, max(0, ${nowMs} - min(created_at_ms)) AS oldest_ms
  FROM flows ${which} GROUP BY service, gateway, phase, settled`;

/** A change to one known row returns nothing. For `RETURNING`, SQLite makes a table in memory each time. */
const statements: Readonly<Record<StatementName, string>> = {
  begin: `INSERT INTO flows (key, service, gateway, epoch, revision, nonce, owner, lease_until_ms,
      phase, settled, data, created_at_ms, updated_at_ms, expires_at_ms)
    VALUES (@key, @service, @gateway, 1, 1, @nonce, @owner, ${newLease}, @phase, @settled, @data, ${nowMs}, ${nowMs}, ${nowMs} + @ttl_ms)
    ON CONFLICT (key) DO NOTHING`,
  read: `SELECT ${columns} FROM flows WHERE key = @key`,
  acquire: `UPDATE flows SET ${lease} WHERE key = @key AND pruned_at_ms IS NULL AND phase <> 'quoted' AND ${isFree}`,
  acquireAbandoned: `UPDATE flows SET ${lease}
    WHERE key = (SELECT key FROM flows ${isUnsettled} AND phase <> 'quoted' AND key > @after AND ${isFree} AND ${isInScope}
      ORDER BY key LIMIT 1)
    RETURNING ${columns}`,
  renew: `UPDATE flows SET lease_until_ms = ${nowMs} + @lease_ms WHERE ${isOwned} AND lease_until_ms IS NOT NULL`,
  write: `UPDATE flows SET phase = @phase, settled = @settled, data = @data, updated_at_ms = ${nowMs},
      expires_at_ms = ${nowMs} + @ttl_ms, revision = revision + 1, epoch = epoch + ${ofQuote},
      nonce = iif(${ofQuote}, @new_nonce, nonce), owner = iif(${ofQuote}, @owner, owner),
      lease_until_ms = iif(${ofQuote}, ${newLease}, iif(@settled, NULL, lease_until_ms))
    WHERE ${isOwned} AND revision = @revision AND (phase = 'quoted') = ${ofQuote}
      AND (NOT @in_time OR expires_at_ms > ${nowMs})`,
  release: `UPDATE flows SET lease_until_ms = NULL WHERE ${isOwned}`,
  list: listed("WHERE pruned_at_ms IS NULL"),
  listPhase: `SELECT * FROM (${listed(`${isSettled} AND phase = @phase`)})
    UNION ALL SELECT * FROM (${listed(`${isUnsettled} AND phase = @phase`)}) ORDER BY key LIMIT @limit`,
  counts: `${counted(`sum(phase <> 'quoted' AND ${isFree})`, isUnsettled)} UNION ALL ${counted("0", isSettled)}`,
  pruneQuoted: `DELETE FROM flows WHERE key IN (SELECT key FROM flows ${isSettled} AND phase = 'quoted'
      AND key > @after AND expires_at_ms < min(@before, ${nowMs} - 86400000) ORDER BY key LIMIT @limit) RETURNING key`,
  pruneSettled: `UPDATE flows SET data = '', lease_until_ms = NULL, pruned_at_ms = ${nowMs}
    WHERE key IN (SELECT key FROM flows ${isSettled}
      AND phase = @phase AND key > @after AND updated_at_ms < @before ORDER BY key LIMIT @limit)
    RETURNING key`,
};

/**
 * The version of the tables of this release, the oldest one whose releases may write to them, and that of release 0.3.0, the only
 * one that is migrated.
 */
const [newest, oldestWriter, earlier] = [4, 4, 3];
/** "CBPJ" tells a journal's file from the file of another program. */
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

// Without these columns, processes of release 0.3.0 can't store anything any more. Its service was the base URL.
const fromEarlier = `DELETE FROM flows WHERE phase = 'quoted' AND pruned_at_ms IS NULL;
  UPDATE flows SET service = substr(service, instr(service, '://') + 3) WHERE instr(service, '://') > 0;
  UPDATE flows SET service = substr(service, 1, instr(service, '/') - 1) WHERE instr(service, '/') > 1;
  ALTER TABLE flows DROP COLUMN evidence;
  ALTER TABLE flows DROP COLUMN lease_ms;
  ALTER TABLE flows DROP COLUMN lease_nonce;
  ALTER TABLE flows DROP COLUMN incarnation_mark;`;
const openFlow = "SELECT key FROM flows WHERE settled = 0 AND pruned_at_ms IS NULL ORDER BY key LIMIT 1";

/** Makes the file durable and brings it to the newest version. Only one of the processes that open it does so. */
export function openSqliteEngine(database: SqliteDatabase, options: OpenOptions): SqliteEngine {
  const giveUpAtMs = performance.now() + options.busyTimeoutMs;
  for (;;) {
    try {
      prepareFile(database, options);
      return new SqliteEngine(database);
    } catch (error) {
      if (!isOf(error, "BUSY", 5) || performance.now() >= giveUpAtMs) throw error;
    }
    // Switching to the write-ahead log fails at once while another process does the same. busy_timeout doesn't apply.
    Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 5 + Math.random() * 20);
  }
}

function prepareFile(database: SqliteDatabase, { processes, busyTimeoutMs, migrate }: OpenOptions): void {
  assertBuild(String(ask(database, "SELECT sqlite_version()")), processes);
  ask(database, `PRAGMA busy_timeout = ${busyTimeoutMs}`);
  if (processes === "one") ask(database, "PRAGMA locking_mode = EXCLUSIVE");
  if (ask(database, "PRAGMA journal_mode = WAL") !== "wal") {
    throw refusal("SQLite can't keep a write-ahead log for this file. A journal in memory is MemoryJournal.");
  }
  // Only macOS has fullfsync. Its fsync leaves the data in the disk's cache.
  database.exec("PRAGMA synchronous = FULL; PRAGMA fullfsync = ON");
  inTransaction(database, () => migrateTables(database, migrate));
}

function migrateTables(database: SqliteDatabase, mayMigrate: boolean): void {
  const version = Number(ask(database, "PRAGMA user_version"));
  if (Number(ask(database, "PRAGMA application_id")) !== applicationId) {
    const isEmpty = version === 0 && ask(database, "SELECT name FROM sqlite_schema") === undefined;
    if (!isEmpty) throw refusal("the file holds another program's tables. Give the journal a file of its own.");
  }
  const found = version === 0 ? "the file has no tables yet" : `the tables have version ${version}`;
  if (version >= newest) {
    const oldest = Number(ask(database, "SELECT version FROM oldest_writer"));
    if (oldest <= newest) return;
    throw refusal(
      `${found}, only ${oldest} or newer may write to them, and this release has ${newest}. Use a newer release.`,
    );
  }
  if (version !== 0 && version < earlier) throw refusal(found, outdatedFile);
  if (!mayMigrate) throw refusal(`${found}, this release needs version ${newest}, and migrate is false.`);
  const open = version === 0 ? undefined : ask(database, openFlow);
  if (open !== undefined) throw refusal(`the flow of key ${JSON.stringify(open)} is open`, outdatedFile);
  database.exec(version === 0 ? newTables : fromEarlier);
  database.exec(`CREATE TABLE oldest_writer AS SELECT ${oldestWriter} AS version;
    PRAGMA application_id = ${applicationId}; PRAGMA user_version = ${newest}`);
}

function assertBuild(version: string, processes: "many" | "one"): void {
  const isAtLeast = (expected: string) => version.localeCompare(expected, "en", { numeric: true }) >= 0;
  if (!isAtLeast("3.37")) throw refusal(`SQLite ${version} is too old, 3.37 is needed.`);
  if (processes === "one" || isAtLeast("3.51.3")) return;
  throw refusal(
    `SQLite ${version} can damage a write-ahead log that several processes share (fixed in 3.51.3). ` +
      "Use Node 22.22.3, 24.15 or newer, or a better-sqlite3 with SQLite 3.51.3 or newer; " +
      'if only one process ever opens the file, set processes: "one".',
  );
}

/** The first column of the first row. */
function ask(database: SqliteDatabase, sql: string): unknown {
  return Object.values(Object(database.prepare(sql).all()[0]))[0];
}

function refusal(message: string, code = refused): Error {
  return Object.assign(new Error(message), { code });
}

export class SqliteEngine {
  readonly #database: SqliteDatabase;
  readonly #prepared = new Map<
    StatementName,
    { readonly statement: SqliteStatement; readonly names: readonly string[] }
  >();

  constructor(database: SqliteDatabase) {
    this.#database = database;
  }

  /** Runs operations one after the other in one transaction, and replies after its commit. One that fails, fails alone. */
  run(operations: readonly SqliteOperation[]): SqliteReply[] {
    try {
      const onlyReads = operations.every(([name]) => statements[name].startsWith("SELECT"));
      const work = () => operations.map(this.#perform);
      return onlyReads ? work() : inTransaction(this.#database, work);
    } catch (error) {
      // A lock and the disk are in the way of every operation alike.
      const concernsAll = isOf(error, "BUSY", 5) || isOf(error, "IOERR", 10);
      if (operations.length === 1 || concernsAll) return operations.map(() => ({ error: toSqliteError(error) }));
      return operations.flatMap((operation) => this.run([operation]));
    }
  }

  // Don't use `get`, which stops at the first row. node:sqlite then commits a lone statement while it resets it and, before Node 26,
  // drops the failure of that commit. A write that was lost would look stored.
  readonly #perform = ([name, input]: SqliteOperation): SqliteResult => {
    const { statement, names } = this.#prepared.get(name) ?? this.#prepare(name);
    const parameters = names.map((each) => (typeof input[each] === "boolean" ? Number(input[each]) : input[each]));
    if (/^SELECT|RETURNING/.test(statements[name])) return { rows: statement.all(...parameters), changes: 0 };
    const changes = Number(statement.run(...parameters).changes);
    // Only the journal's clock knows when a flow began, or until when it is leased.
    const isKnown = changes === 1 && name !== "begin" && name !== "acquire";
    return isKnown ? { rows: [], changes } : { ...this.#perform(["read", input]), changes };
  };

  #prepare(name: StatementName) {
    const names = Array.from(statements[name].matchAll(/@(\w+)/g), ([, each = ""]) => each);
    const known = { statement: this.#database.prepare(statements[name].replace(/@\w+/g, "?")), names };
    this.#prepared.set(name, known);
    return known;
  }
}

function inTransaction<T>(database: SqliteDatabase, work: () => T): T {
  // This fails if the caller left a transaction open on the handle. The journal must not roll it back.
  database.exec("BEGIN IMMEDIATE");
  try {
    const result = work();
    database.exec("COMMIT");
    return result;
  } catch (error) {
    try {
      database.exec("ROLLBACK");
    } catch {
      // After the worst failures SQLite has already rolled back, so the first failure is reported.
    }
    throw error;
  }
}

/** Whether it is that result of SQLite, by node:sqlite's number or better-sqlite3's code. Extended codes count, too. */
function isOf(error: unknown, name: string, number: number): boolean {
  const { errcode, code } = toSqliteError(error);
  return typeof errcode === "number" ? (errcode & 0xff) === number : String(code).startsWith(`SQLITE_${name}`);
}

function toSqliteError(error: unknown): SqliteError {
  const { message, code, errcode } = Object(error);
  return { message: String(message), code, errcode };
}

/** Replies first whether the file was opened, then to each list of operations. An empty list closes the file. */
export function serve(port: MessagePort, path: string, options: OpenOptions): void {
  // That node:sqlite is experimental in some releases of Node is the journal's own decision, not its user's.
  process.removeAllListeners("warning");
  const { DatabaseSync } = process.getBuiltinModule("node:sqlite") as unknown as {
    readonly DatabaseSync: new (path: string) => SqliteDatabase & { close(): void };
  };
  try {
    const database = new DatabaseSync(path);
    const engine = openSqliteEngine(database, options);
    port.on("message", (operations: readonly SqliteOperation[]) => {
      if (operations.length > 0) return port.postMessage(engine.run(operations));
      database.close();
      port.close();
    });
    port.postMessage([{ rows: [], changes: 0 }]);
  } catch (error) {
    port.postMessage([{ error: toSqliteError(error) }]);
  }
}

if (parentPort !== null && workerData?.name === threadName) serve(parentPort, workerData.path, workerData.options);

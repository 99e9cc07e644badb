import { ConfigError, JournalError } from "../errors/errors.js";
import type { Journal, JournalEntry, JournalState, LeaseRequest } from "../flows/journal.js";
import {
  assertAfter,
  assertEpoch,
  assertKey,
  assertLease,
  assertLeaseMs,
  assertQuery,
  assertState,
} from "../flows/journal-arguments.js";
import { optionalEntry, type Row, toEntry } from "./entry-of-row.js";
import {
  openNodeSqlite,
  prepareDatabase,
  type SqliteDatabase,
  type SqliteJournalOptions,
  type SqliteStatement,
} from "./sqlite-database.js";
import { sqliteFailure } from "./sqlite-failure.js";

export type { SqliteDatabase, SqliteJournalOptions, SqliteStatement } from "./sqlite-database.js";

type Statements = Record<keyof typeof statements, SqliteStatement>;

/**
 * A journal in a SQLite file of its own, on a local disk: for the processes of one machine. Network file systems do not lock
 * files as SQLite needs.
 *
 * Every write is flushed to the disk (write-ahead log, `synchronous=FULL`) before its promise resolves. SQLite works synchronously: a
 * write blocks the event loop for as long as the disk takes.
 *
 * The data of a flow is stored as it is given, account numbers and names included. Keep the file, and the two beside it whose names end in
 * `-wal` and `-shm`, where only the service's own user can read them.
 */
export class SqliteJournal implements Journal {
  readonly #database: SqliteDatabase;
  readonly #closeDatabase: () => void;
  readonly #statements: Statements;
  #isClosed = false;

  private constructor(database: SqliteDatabase, closeDatabase: () => void) {
    this.#database = database;
    this.#closeDatabase = closeDatabase;
    const prepared = Object.entries(statements).map(([name, sql]) => [name, database.prepare(sql)]);
    this.#statements = Object.fromEntries(prepared) as Statements;
  }

  /**
   * Opens the journal, and creates its tables if the file is new.
   *
   * @param place A file, opened with `node:sqlite` (Node >= 22.13); or an open handle of better-sqlite3 or one like it. The caller
   *   closes the handle, after the journal.
   * @throws {ConfigError} Node has no `node:sqlite`; SQLite is too old to be shared by several processes (`processes`); the file
   *   belongs to another program or a newer release, or is in memory.
   * @throws {JournalError} The file can't be opened or written, or another process has it to itself.
   */
  static async open(place: string | SqliteDatabase, options: SqliteJournalOptions = {}): Promise<SqliteJournal> {
    const { database, close } = toDatabase(place);
    try {
      await prepareDatabase(database, options);
      return new SqliteJournal(database, close);
    } catch (error) {
      close();
      throw sqliteFailure(error, "open the journal");
    }
  }

  async begin(
    key: string,
    state: JournalState,
    lease: LeaseRequest,
  ): Promise<{ readonly entry: JournalEntry; readonly created: boolean }> {
    assertKey(key);
    assertState(state);
    assertLease(lease);
    const settled = state.settled ? 1 : 0;
    for (;;) {
      const created = this.#first("begin", key, state.phase, settled, state.data, lease.owner, settled, lease.leaseMs);
      if (created !== undefined) return { entry: toEntry(created), created: true };
      const present = this.#first("read", key);
      if (present !== undefined) return { entry: toEntry(present), created: false };
    }
  }

  async read(key: string): Promise<JournalEntry | undefined> {
    assertKey(key);
    return optionalEntry(this.#first("read", key));
  }

  async acquire(key: string, lease: LeaseRequest): Promise<JournalEntry | undefined> {
    assertKey(key);
    assertLease(lease);
    return optionalEntry(this.#first("acquire", lease.owner, lease.leaseMs, key));
  }

  async acquireAbandoned(lease: LeaseRequest, after: string | undefined): Promise<JournalEntry | undefined> {
    assertLease(lease);
    assertAfter(after);
    return optionalEntry(this.#first("acquireAbandoned", lease.owner, lease.leaseMs, after ?? ""));
  }

  async renew(key: string, epoch: number, leaseMs: number): Promise<boolean> {
    assertKey(key);
    assertEpoch(epoch);
    assertLeaseMs(leaseMs);
    return this.#first("renew", leaseMs, key, epoch) !== undefined;
  }

  async write(key: string, epoch: number, state: JournalState): Promise<boolean> {
    assertKey(key);
    assertEpoch(epoch);
    assertState(state);
    const settled = state.settled ? 1 : 0;
    return this.#first("write", state.phase, settled, state.data, settled, key, epoch) !== undefined;
  }

  async release(key: string, epoch: number): Promise<void> {
    assertKey(key);
    assertEpoch(epoch);
    this.#first("release", key, epoch);
  }

  async list(query: {
    readonly phase: string;
    readonly after?: string | undefined;
    readonly limit: number;
  }): Promise<readonly JournalEntry[]> {
    assertQuery(query);
    return this.#all("list", query.phase, query.after ?? "", query.limit).map(toEntry);
  }

  /** Closes the file; a handle that was passed in stays open. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    try {
      this.#closeDatabase();
    } catch (error) {
      throw sqliteFailure(error, "close the file");
    }
  }

  #first(name: keyof typeof statements, ...parameters: (string | number)[]): Row | undefined {
    return this.#all(name, ...parameters)[0];
  }

  // Always `all`: a statement commits when it has run to its end, and `get` stops at the first row. node:sqlite then commits
  // while it resets the statement and, before Node 26, drops the failure of that commit: a write that was lost would look stored.
  #all(name: keyof typeof statements, ...parameters: (string | number)[]): Row[] {
    if (this.#isClosed) throw new JournalError("SqliteJournal: the journal is closed.");
    if (isInTransaction(this.#database)) {
      throw new JournalError(
        "SqliteJournal: a transaction is open on the handle that was passed in; nothing would be durable.",
      );
    }
    try {
      return this.#statements[name].all(...parameters) as Row[];
    } catch (error) {
      throw sqliteFailure(error, workOf[name]);
    }
  }
}

// SQLite reads its clock once per statement, after it has the lock: a lease counts from when it is granted.
const nowMs = "CAST(round((julianday('now') - 2440587.5) * 86400000) AS INTEGER)";
const columns = "key, epoch, phase, settled, data, created_at_ms, updated_at_ms";
const isFree = `(lease_until_ms IS NULL OR lease_until_ms <= ${nowMs})`;

const statements = {
  begin: `INSERT INTO flows (key, epoch, phase, settled, data, owner, lease_until_ms, created_at_ms, updated_at_ms)
    VALUES (?, 1, ?, ?, ?, ?, iif(?, NULL, ${nowMs} + ?), ${nowMs}, ${nowMs})
    ON CONFLICT (key) DO NOTHING RETURNING ${columns}`,
  read: `SELECT ${columns} FROM flows WHERE key = ?`,
  acquire: `UPDATE flows SET epoch = epoch + 1, owner = ?, lease_until_ms = ${nowMs} + ?
    WHERE key = ? AND ${isFree} RETURNING ${columns}`,
  acquireAbandoned: `UPDATE flows SET epoch = epoch + 1, owner = ?, lease_until_ms = ${nowMs} + ?
    WHERE key = (SELECT key FROM flows WHERE settled = 0 AND key > ? AND ${isFree} ORDER BY key LIMIT 1)
    RETURNING ${columns}`,
  renew: `UPDATE flows SET lease_until_ms = ${nowMs} + ?
    WHERE key = ? AND epoch = ? AND lease_until_ms IS NOT NULL RETURNING epoch`,
  write: `UPDATE flows SET phase = ?, settled = ?, data = ?, updated_at_ms = ${nowMs}, lease_until_ms = iif(?, NULL, lease_until_ms)
    WHERE key = ? AND epoch = ? RETURNING epoch`,
  release: "UPDATE flows SET lease_until_ms = NULL WHERE key = ? AND epoch = ? RETURNING epoch",
  list: `SELECT ${columns} FROM flows WHERE phase = ? AND key > ? ORDER BY key LIMIT ?`,
};

const workOf: Readonly<Record<keyof typeof statements, string>> = {
  begin: "store a new flow",
  read: "read a flow",
  acquire: "lease a flow",
  acquireAbandoned: "lease an abandoned flow",
  renew: "renew a lease",
  write: "store a state",
  release: "release a lease",
  list: "list flows",
};

function toDatabase(place: string | SqliteDatabase): { readonly database: SqliteDatabase; readonly close: () => void } {
  if (typeof place === "string" && place !== "") {
    const database = openNodeSqlite(place);
    return { database, close: () => database.close() };
  }
  if (typeof place !== "object" || typeof place?.exec !== "function" || typeof place.prepare !== "function") {
    throw new ConfigError("SqliteJournal: open needs a file's path, or an open handle with exec and prepare");
  }
  return { database: place, close: () => {} };
}

/** `isTransaction` of node:sqlite, `inTransaction` of better-sqlite3; a handle with neither can't be asked. */
function isInTransaction(database: SqliteDatabase): boolean {
  return Reflect.get(database, "isTransaction") === true || Reflect.get(database, "inTransaction") === true;
}

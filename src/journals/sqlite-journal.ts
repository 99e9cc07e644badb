import { ConfigError, JournalError } from "../errors/errors.js";
import {
  type FlowScope,
  finalPhases,
  type Journal,
  type JournalEntry,
  type JournalState,
  type LeaseId,
  type LeaseRequest,
  type PruneOptions,
  type PruneReport,
  type ScopeFilter,
} from "../flows/journal.js";
import {
  assertAfter,
  assertKey,
  assertLease,
  assertLeaseId,
  assertLeaseMs,
  assertPrune,
  assertQuery,
  assertScope,
  assertScopeFilter,
  assertState,
} from "../flows/journal-arguments.js";
import { countsOf, lastKey, optionalEntry, type Row, toEntry } from "./entry-of-row.js";
import { connectHandle, type SqliteConnection } from "./sqlite-connection.js";
import { assertSqliteOptions, prepareDatabase, type SqliteJournalOptions } from "./sqlite-database.js";
import type { SqliteDatabase, SqliteParameters } from "./sqlite-engine.js";
import { sqliteFailure } from "./sqlite-failure.js";
import { type SqliteStatementName, sqliteStatements, sqliteWork } from "./sqlite-statements.js";
import { SqliteThread } from "./sqlite-thread.js";

export type { SqliteJournalOptions } from "./sqlite-database.js";
export type { SqliteDatabase, SqliteStatement } from "./sqlite-engine.js";

type Step = readonly [statement: SqliteStatementName, parameters: SqliteParameters];

/**
 * A journal in a SQLite file of its own, on a local disk: for the processes of one machine. Network file systems do not lock
 * files as SQLite needs.
 *
 * Every write is flushed to the disk (write-ahead log, `synchronous=FULL`) before its promise resolves. What is pending at the same
 * time shares one commit.
 *
 * The data of a flow is stored as it is given, account numbers and names included. Keep the file, and the two beside it whose names end in
 * `-wal` and `-shm`, where only the service's own user can read them.
 */
export class SqliteJournal implements Journal {
  readonly #connection: SqliteConnection;
  #isClosed = false;

  private constructor(connection: SqliteConnection) {
    this.#connection = connection;
  }

  /**
   * Opens the journal, and creates its tables if the file is new.
   *
   * @param place A file, opened with `node:sqlite` (Node >= 22.13); or an open handle of better-sqlite3 or one like it. The caller
   *   closes the handle, after the journal.
   * @throws {ConfigError} Node has no `node:sqlite`; SQLite is too old to be shared by several processes (`processes`); the file
   *   belongs to another program or a newer release, or is in memory; with `migrate: false`, it has no tables or older ones.
   * @throws {JournalError} The file can't be opened or written, or another process has it to itself.
   */
  static async open(place: string | SqliteDatabase, options: SqliteJournalOptions = {}): Promise<SqliteJournal> {
    const checked = assertSqliteOptions(options);
    const connection = await connect(place);
    try {
      await prepareDatabase(connection, checked);
      await connection.start(sqliteStatements);
      return new SqliteJournal(connection);
    } catch (error) {
      await connection.close().catch(() => {});
      throw sqliteFailure(error, "open the journal");
    }
  }

  async begin(
    key: string,
    scope: FlowScope,
    state: JournalState,
    lease: LeaseRequest,
  ): Promise<{ readonly entry: JournalEntry; readonly created: boolean }> {
    assertKey(key);
    assertScope(scope);
    assertState(state);
    assertLease(lease);
    const [phase, settled, ...texts] = stateParameters(state);
    const owned = [lease.nonce, lease.owner, settled, lease.leaseMs];
    const parameters = [key, scope.service, scope.gateway, ...owned, phase, settled, ...texts];
    const { rows, changes } = await this.#run([
      ["begin", parameters],
      ["read", [key]],
    ]);
    return { entry: toEntry(firstOf(rows)), created: changes === 1 };
  }

  async read(key: string): Promise<JournalEntry | undefined> {
    assertKey(key);
    return optionalEntry((await this.#run([["read", [key]]], true)).rows[0]);
  }

  async acquire(key: string, lease: LeaseRequest): Promise<JournalEntry | undefined> {
    assertKey(key);
    assertLease(lease);
    return optionalEntry(await this.#first("acquire", [lease.nonce, lease.owner, lease.leaseMs, key]));
  }

  async acquireAbandoned(
    scope: ScopeFilter,
    lease: LeaseRequest,
    after: string | undefined,
  ): Promise<JournalEntry | undefined> {
    assertScopeFilter(scope);
    assertLease(lease);
    assertAfter(after);
    const parameters = [lease.nonce, lease.owner, lease.leaseMs, after ?? "", ...scopeParameters(scope)];
    return optionalEntry(await this.#first("acquireAbandoned", parameters));
  }

  async renew(key: string, id: LeaseId, leaseMs: number): Promise<boolean> {
    assertLeaseMs(leaseMs);
    return this.#change("renew", [leaseMs, ...ownedParameters(key, id)]);
  }

  async write(key: string, id: LeaseId, state: JournalState, leaseMs?: number): Promise<boolean> {
    assertState(state);
    if (leaseMs !== undefined) assertLeaseMs(leaseMs);
    const parameters = [...stateParameters(state), state.settled ? 1 : 0];
    const owned = ownedParameters(key, id);
    return leaseMs === undefined
      ? this.#change("write", [...parameters, ...owned])
      : this.#change("writeAndRenew", [...parameters, leaseMs, ...owned]);
  }

  async replaceQuote(
    key: string,
    seen: LeaseId,
    state: JournalState,
    lease: LeaseRequest,
    expired: boolean | undefined,
  ): Promise<JournalEntry | undefined> {
    assertState(state);
    assertLease(lease);
    const parameters = [
      ...stateParameters(state),
      ...[lease.nonce, lease.owner, state.settled ? 1 : 0, lease.leaseMs],
      ...ownedParameters(key, seen),
      expired === undefined ? null : Number(expired),
    ];
    const { rows, changes } = await this.#run([
      ["replaceQuote", parameters],
      ["read", [key]],
    ]);
    return changes === 1 ? toEntry(firstOf(rows)) : undefined;
  }

  async release(key: string, id: LeaseId): Promise<void> {
    await this.#change("release", ownedParameters(key, id));
  }

  async list(query: {
    readonly scope: ScopeFilter;
    readonly phase?: string | undefined;
    readonly after?: string | undefined;
    readonly limit: number;
  }): Promise<readonly JournalEntry[]> {
    assertQuery(query);
    const { phase, after = "", limit } = query;
    const scope = scopeParameters(query.scope);
    const ofPhase = [phase ?? "", after, ...scope, limit];
    const step: Step =
      phase === undefined ? ["list", [after, ...scope, limit]] : ["listPhase", [...ofPhase, ...ofPhase, limit]];
    return (await this.#run([step], true)).rows.map(toEntry);
  }

  async counts(scope: ScopeFilter): Promise<Readonly<Record<string, number>>> {
    assertScopeFilter(scope);
    const parameters = [...scopeParameters(scope), ...scopeParameters(scope)];
    return countsOf((await this.#run([["counts", parameters]], true)).rows);
  }

  /** Deletes and empties 500 flows at a time, so that others are not kept waiting. */
  async prune(options: PruneOptions): Promise<PruneReport> {
    assertPrune(options);
    const { settledBeforeMs, quotedBeforeMs, keep } = options;
    let quoted = 0;
    if (quotedBeforeMs !== undefined) {
      quoted = await this.#eachSlice((after) => ["pruneQuoted", [after, quotedBeforeMs, sliceSize]]);
    }
    let settled = 0;
    for (const phase of settledBeforeMs === undefined ? [] : finalPhases) {
      const kept = keep === "evidence" ? 1 : 0;
      settled += await this.#eachSlice((after) => [
        "pruneSettled",
        [kept, phase, after, Number(settledBeforeMs), sliceSize],
      ]);
    }
    return { settled, quoted };
  }

  /** Lets what is pending end, and closes the file; a handle that was passed in stays open. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    try {
      await this.#connection.close();
    } catch (error) {
      throw sqliteFailure(error, "close the file");
    }
  }

  async #eachSlice(step: (after: string) => Step): Promise<number> {
    let count = 0;
    for (let after = ""; ; ) {
      const { rows } = await this.#run([step(after)]);
      count += rows.length;
      if (rows.length < sliceSize) return count;
      after = lastKey(rows);
    }
  }

  /** Whether it changed its row. */
  async #change(name: SqliteStatementName, parameters: SqliteParameters): Promise<boolean> {
    return (await this.#run([[name, parameters]])).changes === 1;
  }

  async #first(name: SqliteStatementName, parameters: SqliteParameters): Promise<Row | undefined> {
    return (await this.#run([[name, parameters]])).rows[0];
  }

  async #run(
    steps: readonly [Step, ...Step[]],
    isRead = false,
  ): Promise<{ readonly rows: readonly Row[]; readonly changes: number }> {
    if (this.#isClosed) throw new JournalError("SqliteJournal: the journal is closed.");
    const reply = await this.#connection.run({ steps, isRead });
    if ("error" in reply) throw sqliteFailure(reply.error, sqliteWork[steps[0][0]]);
    return { rows: reply.rows as Row[], changes: reply.changes };
  }
}

const sliceSize = 500;

function stateParameters({ phase, settled, data, evidence, quoteTtlMs }: JournalState) {
  return [phase, settled ? 1 : 0, data, evidence, quoteTtlMs ?? null] as const;
}

function ownedParameters(key: string, id: LeaseId): SqliteParameters {
  assertKey(key);
  assertLeaseId(id);
  return [key, id.epoch, id.nonce];
}

function scopeParameters({ service, gateway = "" }: ScopeFilter): SqliteParameters {
  return [service, gateway, gateway];
}

function firstOf(rows: readonly Row[]): Row {
  const [row] = rows;
  if (row === undefined) throw new JournalError("SqliteJournal could not store a new flow: the database refused.");
  return row;
}

async function connect(place: string | SqliteDatabase): Promise<SqliteConnection> {
  if (typeof place === "string" && place !== "") return SqliteThread.open(place);
  if (typeof place !== "object" || typeof place?.exec !== "function" || typeof place.prepare !== "function") {
    throw new ConfigError("SqliteJournal: open needs a file's path, or an open handle with exec and prepare");
  }
  return connectHandle(place);
}

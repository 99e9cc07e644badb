import { ConfigError, JournalError } from "../errors/errors.js";
import { CheckedJournal } from "../flows/checked-journal.js";
import {
  type BacklogCount,
  type FlowScope,
  finalPhases,
  type Journal,
  type JournalEntry,
  type JournalQuery,
  type JournalState,
  type LeaseId,
  type LeaseRequest,
  type ObservedLease,
  type PruneOptions,
  type PruneReport,
  type ScopeCounts,
  type ScopeFilter,
  type StateId,
} from "../flows/journal.js";
import { backlogOf, countsOf, lastKey, optionalEntry, type Row, scopeCountsOf, toEntry } from "./entry-of-row.js";
import { connectHandle, type SqliteConnection } from "./sqlite-connection.js";
import { assertSqliteOptions, prepareDatabase, type SqliteJournalOptions } from "./sqlite-database.js";
import type { SqliteDatabase, SqliteParameters } from "./sqlite-engine.js";
import { sqliteFailure } from "./sqlite-failure.js";
import { type SqliteStatementName, sqliteStatements, sqliteWork } from "./sqlite-statements.js";
import { SqliteThread } from "./sqlite-thread.js";

export type { CheckedJournal } from "../flows/checked-journal.js";
export type { SqliteJournalOptions } from "./sqlite-database.js";
export type { SqliteDatabase, SqliteStatement } from "./sqlite-engine.js";

type Step = readonly [statement: SqliteStatementName, parameters: SqliteParameters];

/**
 * A journal in a SQLite file of its own, on a local disk: for the processes of one machine. Network file systems do not lock
 * files as SQLite needs.
 *
 * Every write is flushed to the disk (write-ahead log, `synchronous=FULL`) before its promise resolves. What is pending at the same
 * time shares one commit. `close` lets what is pending end, and closes the file; a handle that was passed in stays open.
 *
 * The data of a flow is stored as it is given, account numbers and names included. Keep the file, and the two beside it whose names end in
 * `-wal` and `-shm`, where only the service's own user can read them.
 */
export class SqliteJournal extends CheckedJournal {
  private constructor(store: Journal) {
    super(store);
  }

  /**
   * Opens the journal, and creates its tables if the file is new.
   *
   * @param place A file, opened with `node:sqlite` (Node 22.22.3, 24.15 or newer); or an open handle of better-sqlite3 or one like it. The caller
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
      return new SqliteJournal(new SqliteStore(connection, await connection.start(sqliteStatements)));
    } catch (error) {
      await connection.close().catch(() => {});
      throw sqliteFailure(error, "open the journal");
    }
  }
}

class SqliteStore implements Journal {
  readonly #connection: SqliteConnection;
  /** The file that was opened: as soon as it is another one, every operation fails. */
  readonly #incarnation: string | undefined;
  #isClosed = false;

  constructor(connection: SqliteConnection, incarnation: string | undefined) {
    this.#connection = connection;
    this.#incarnation = incarnation;
  }

  async begin(key: string, scope: FlowScope, state: JournalState, { nonce, owner, leaseMs }: LeaseRequest) {
    const stored = stateParameters(state);
    const owned = [nonce, owner, nonce, stored[1], leaseMs, leaseMs] as const;
    const parameters = [key, scope.service, scope.gateway, ...owned, ...stored];
    const { rows, changes } = await this.#run([
      ["begin", parameters],
      ["read", [key]],
    ]);
    return { entry: this.#lent(firstOf(rows)), created: changes === 1 };
  }

  async read(key: string): Promise<JournalEntry | undefined> {
    return optionalEntry((await this.#read("read", [key]))[0]);
  }

  async acquire(key: string, lease: LeaseRequest, observed?: ObservedLease): Promise<JournalEntry | undefined> {
    const parameters = [...leaseParameters(lease), key];
    if (observed === undefined) return this.#lease("acquire", parameters);
    const { epoch, nonce, revision, leaseUntilMs } = observed;
    return this.#lease("acquireObserved", [...parameters, epoch, nonce, revision, leaseUntilMs]);
  }

  async acquireAbandoned(scope: ScopeFilter, lease: LeaseRequest, after: string | undefined) {
    const parameters = [...leaseParameters(lease), after ?? "", ...scopeParameters(scope)];
    return this.#lease("acquireAbandoned", parameters);
  }

  async overlong(query: Omit<JournalQuery, "phase">): Promise<readonly JournalEntry[]> {
    return (await this.#read("overlong", pageParameters(query))).map(toEntry);
  }

  async renew(key: string, id: LeaseId, leaseMs: number): Promise<boolean> {
    return this.#change("renew", [leaseMs, leaseMs, ...ownedParameters(key, id)]);
  }

  write(key: string, { epoch, nonce, revision }: StateId, state: JournalState, leaseMs?: number): Promise<boolean> {
    const { scope, incarnationMark = null } = state;
    const stored = stateParameters(state);
    const moved = [incarnationMark, scope?.service ?? null, scope?.gateway ?? null, stored[1]] as const;
    return leaseMs === undefined
      ? this.#change("write", [...stored, ...moved, key, epoch, nonce, revision])
      : this.#change("writeAndRenew", [...stored, ...moved, leaseMs, leaseMs, key, epoch, nonce, revision]);
  }

  async replaceQuote(
    key: string,
    seen: StateId,
    state: JournalState,
    lease: LeaseRequest,
    expired: boolean | undefined,
  ): Promise<JournalEntry | undefined> {
    const { nonce, owner, leaseMs } = lease;
    const parameters = [
      ...stateParameters(state),
      ...[nonce, owner, nonce, state.settled ? 1 : 0, leaseMs, leaseMs],
      ...ownedParameters(key, seen),
      seen.revision,
      expired === undefined ? null : Number(expired),
    ];
    return this.#replace("replaceQuote", parameters, key);
  }

  async fenceQuote(key: string, seen: StateId, nonce: string): Promise<JournalEntry | undefined> {
    return this.#replace("fenceQuote", [nonce, ...ownedParameters(key, seen), seen.revision], key);
  }

  async release(key: string, id: LeaseId): Promise<void> {
    await this.#change("release", ownedParameters(key, id));
  }

  async list(query: JournalQuery): Promise<readonly JournalEntry[]> {
    const { phase, limit } = query;
    const page = pageParameters(query);
    const rows =
      phase === undefined ? this.#read("list", page) : this.#read("listPhase", [phase, ...page, phase, ...page, limit]);
    return (await rows).map(toEntry);
  }

  async counts(scope: ScopeFilter): Promise<Readonly<Record<string, number>>> {
    const parameters = [...scopeParameters(scope), ...scopeParameters(scope)];
    return countsOf(await this.#read("counts", parameters));
  }

  async scopes(): Promise<readonly ScopeCounts[]> {
    return scopeCountsOf(await this.#read("scopes", []));
  }

  async backlog(): Promise<readonly BacklogCount[]> {
    return backlogOf(await this.#read("backlog", []));
  }

  async prune(options: PruneOptions): Promise<PruneReport> {
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

  async #read(name: SqliteStatementName, parameters: SqliteParameters): Promise<readonly Row[]> {
    return (await this.#run([[name, parameters]])).rows;
  }

  /** Whether it changed its row. */
  async #change(name: SqliteStatementName, parameters: SqliteParameters): Promise<boolean> {
    return (await this.#run([[name, parameters]])).changes === 1;
  }

  /** The row that it changed, if any. */
  async #lease(name: SqliteStatementName, parameters: SqliteParameters): Promise<JournalEntry | undefined> {
    const [row] = (await this.#run([[name, parameters]])).rows;
    return row && this.#lent(row);
  }

  /** The row of the key, if the statement changed it. */
  async #replace(
    name: SqliteStatementName,
    parameters: SqliteParameters,
    key: string,
  ): Promise<JournalEntry | undefined> {
    const { rows, changes } = await this.#run([
      [name, parameters],
      ["read", [key]],
    ]);
    return changes === 1 ? this.#lent(firstOf(rows)) : undefined;
  }

  #lent(row: Row): JournalEntry {
    return { ...toEntry(row), incarnation: this.#incarnation };
  }

  async #run(steps: readonly [Step, ...Step[]]): Promise<{ readonly rows: readonly Row[]; readonly changes: number }> {
    if (this.#isClosed) throw new JournalError("SqliteJournal: the journal is closed.");
    const reply = await this.#connection.run(steps);
    if ("error" in reply) throw sqliteFailure(reply.error, sqliteWork[steps[0][0]]);
    return { rows: reply.rows as Row[], changes: reply.changes };
  }
}

/** How many flows `prune` deletes or empties at a time, so that others are not kept waiting. */
const sliceSize = 500;

function stateParameters({ phase, settled, data, evidence, quoteTtlMs }: JournalState) {
  return [phase, settled ? 1 : 0, data, evidence, quoteTtlMs ?? null] as const;
}

function leaseParameters({ nonce, owner, leaseMs }: LeaseRequest): SqliteParameters {
  return [nonce, owner, nonce, leaseMs, leaseMs];
}

function ownedParameters(key: string, id: LeaseId): SqliteParameters {
  return [key, id.epoch, id.nonce];
}

function scopeParameters({ service, gateway = "" }: ScopeFilter): SqliteParameters {
  return [service, gateway, gateway];
}

function pageParameters({ scope, after = "", limit }: Omit<JournalQuery, "phase">): SqliteParameters {
  return [after, ...scopeParameters(scope), limit];
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

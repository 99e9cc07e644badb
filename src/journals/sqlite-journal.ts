import { ConfigError, JournalError } from "../core/errors.js";
import { assertFlowKey } from "../flows/flow-key.js";
import {
  type FlowScope,
  finalPhases,
  type Journal,
  type JournalEntry,
  type JournalList,
  type JournalQuery,
  type JournalState,
  type LeaseId,
  type LeaseRequest,
  type PruneOptions,
  type PruneReport,
  type ScopeFilter,
  type StateId,
} from "../flows/journal.js";
import { lastKey, optionalEntry, type Row, toCount, toEntry } from "./entry-of-row.js";
import {
  assertDuration,
  assertLease,
  assertNew,
  assertState,
  isBegun,
  isLeasedTo,
  isWritten,
} from "./journal-arguments.js";
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
 * time shares one commit. `close` lets what is pending end, and closes the file; a handle that was passed in stays open.
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
      await connection.start(sqliteStatements);
      return new SqliteJournal(connection);
    } catch (error) {
      await connection.close().catch(() => {});
      throw sqliteFailure(error, "open the journal");
    }
  }

  async begin(key: string, scope: FlowScope, state: JournalState, lease: LeaseRequest) {
    assertNew(key, scope, state, lease);
    const { nonce, owner, leaseMs } = lease;
    const owned = [nonce, owner, isLeaseless(state), leaseMs] as const;
    const { rows, changes } = await this.#run([
      ["begin", [key, scope.service, scope.gateway, ...owned, ...stateParameters(state)]],
      ["read", [key]],
    ]);
    const entry = toEntry(firstOf(rows));
    return { entry, created: changes === 1 || isBegun(entry, nonce) };
  }

  async read(key: string): Promise<JournalEntry | undefined> {
    assertFlowKey(key);
    return optionalEntry((await this.#read("read", [key]))[0]);
  }

  async acquire(key: string, lease: LeaseRequest): Promise<JournalEntry | undefined> {
    assertFlowKey(key);
    assertLease(lease);
    const { entry, isChanged } = await this.#changeAndRead("acquire", [...leaseParameters(lease), key], key);
    return isChanged || isLeasedTo(entry, lease.nonce) ? entry : undefined;
  }

  async acquireAbandoned(scope: ScopeFilter, lease: LeaseRequest, after: string | undefined) {
    assertLease(lease);
    const parameters = [...leaseParameters(lease), after ?? "", ...scopeParameters(scope)];
    return optionalEntry((await this.#read("acquireAbandoned", parameters))[0]);
  }

  async renew(key: string, id: LeaseId, leaseMs: number): Promise<boolean> {
    assertDuration("leaseMs", leaseMs);
    return this.#change("renew", [leaseMs, ...ownedParameters(key, id)]);
  }

  async write(
    key: string,
    id: StateId,
    state: JournalState,
    quote?: { readonly lease: LeaseRequest; readonly inTime: boolean },
  ): Promise<boolean> {
    assertFlowKey(key);
    assertState(state);
    const [stored, replaced] = [stateParameters(state), [...ownedParameters(key, id), id.revision]];
    const revision = id.revision + 1;
    if (quote === undefined) {
      const parameters = [...stored, isLeaseless(state), ...replaced];
      const { entry, isChanged } = await this.#changeAndRead("write", parameters, key);
      return isChanged || isWritten(entry, { ...id, revision }, state);
    }
    assertLease(quote.lease);
    const { nonce, owner, leaseMs } = quote.lease;
    const parameters = [...stored, nonce, owner, isLeaseless(state), leaseMs, ...replaced, quote.inTime ? 1 : 0];
    const { entry, isChanged } = await this.#changeAndRead("replaceQuote", parameters, key);
    return isChanged || isWritten(entry, { epoch: id.epoch + 1, nonce, revision }, state);
  }

  async release(key: string, id: LeaseId): Promise<void> {
    await this.#change("release", ownedParameters(key, id));
  }

  async list(query: JournalQuery): Promise<JournalList> {
    const { phase, limit, counts = false } = query;
    const page = pageParameters(query);
    const rows =
      phase === undefined ? this.#read("list", page) : this.#read("listPhase", [phase, ...page, phase, ...page, limit]);
    return {
      entries: (await rows).map(toEntry),
      counts: counts ? (await this.#read("counts", [])).map(toCount) : [],
    };
  }

  async prune({ settledBeforeMs, quotedBeforeMs }: PruneOptions): Promise<PruneReport> {
    let quoted = 0;
    if (quotedBeforeMs !== undefined) {
      quoted = await this.#eachSlice((after) => ["pruneQuoted", [after, quotedBeforeMs, sliceSize]]);
    }
    let settled = 0;
    for (const phase of settledBeforeMs === undefined ? [] : finalPhases) {
      settled += await this.#eachSlice((after) => ["pruneSettled", [phase, after, Number(settledBeforeMs), sliceSize]]);
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

  /** Whether it changed its row, and the key's entry afterwards, in one transaction. */
  async #changeAndRead(name: SqliteStatementName, parameters: SqliteParameters, key: string) {
    const { rows, changes } = await this.#run([
      [name, parameters],
      ["read", [key]],
    ]);
    return { entry: optionalEntry(rows[0]), isChanged: changes === 1 };
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

function stateParameters({ phase, settled, data, quoteTtlMs }: JournalState) {
  return [phase, settled ? 1 : 0, data, quoteTtlMs ?? null] as const;
}

/** 1 or 0. */
function isLeaseless({ settled, phase }: JournalState): number {
  return settled || phase === "quoted" ? 1 : 0;
}

function leaseParameters({ nonce, owner, leaseMs }: LeaseRequest): SqliteParameters {
  return [nonce, owner, leaseMs];
}

function ownedParameters(key: string, id: LeaseId): SqliteParameters {
  return [key, id.epoch, id.nonce];
}

function scopeParameters({ service, gateway = "" }: ScopeFilter): SqliteParameters {
  return [service, gateway, gateway];
}

function pageParameters({ scope, after = "", limit }: JournalQuery): SqliteParameters {
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

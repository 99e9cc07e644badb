import { sleep } from "../core/clock.js";
import { ConfigError, JournalError } from "../core/errors.js";
import { type CheckTable, isBoolean, isPositiveInteger, parseOptions } from "../core/parse.js";
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
import { lastKey, optionalEntry, type Row, storedEntry, toCount, toEntry } from "./entry-of-row.js";
import {
  assertDuration,
  assertLease,
  assertNew,
  assertState,
  isBegun,
  isLeasedTo,
  isWritten,
} from "./journal-arguments.js";
import { KeyTurns } from "./key-turns.js";
import { PostgresBatches } from "./postgres-batches.js";
import type { PostgresPool } from "./postgres-connection.js";
import { assertPrimary, isRolledBack, isSingleClient, maxAttempts, postgresFailure } from "./postgres-failure.js";
import { foreignPool, type OpenedPool, openPool } from "./postgres-pool.js";
import {
  type KeyedInput,
  type KeyedName,
  type PostgresStatements,
  postgresStatements,
  postgresWork,
} from "./postgres-statements.js";
import {
  assertKept,
  assertMigrated,
  migrate as migrateTables,
  type PostgresSchemaOptions,
  schemaText,
  tablesOf,
} from "./postgres-tables.js";

export type { PostgresConnection, PostgresPool } from "./postgres-connection.js";
export type { PostgresSchemaOptions } from "./postgres-tables.js";

export interface PostgresJournalOptions {
  /** Letters, digits and underscores. Created when it is missing. Default: `public`. */
  readonly schema?: string;
  /** Letters, digits and underscores. Default: `cross_border_flows`. */
  readonly table?: string;
  /** How long to wait for a connection, and for each response, in milliseconds. Only with a URL: a pool has its own. Default: 10,000. */
  readonly timeoutMs?: number;
  /**
   * Whether missing tables are created, and an older release's migrated. With `false` they are only checked, for which the rights to
   * rows suffice: see {@link PostgresJournal.schema}. Default: true.
   */
  readonly migrate?: boolean;
}

// `tablesOf` checks it.
const name = { accepts: () => true, wanted: "a name" };
const journalOptions: CheckTable<PostgresJournalOptions> = {
  schema: name,
  table: name,
  timeoutMs: {
    accepts: (value) => isPositiveInteger(value) && Number(value) < 2 ** 31,
    wanted: "a whole number of milliseconds above 0",
  },
  migrate: { accepts: isBoolean, wanted: "true or false" },
};

type UnkeyedName = Exclude<keyof PostgresStatements, "keyed">;

/**
 * A journal in a PostgreSQL table, for many machines. Leases run on the database's clock.
 *
 * What is pending at the same time shares a statement and its commit. Each write is flushed before its promise resolves: where
 * `synchronous_commit` is set to less than `on`, it is raised for the journal's own writes. The server's `fsync` and its standbys are
 * up to its operator. `close` lets what is pending end, and ends the connections; a pool that was passed in stays open.
 *
 * The data of a flow is stored as it is given, account numbers and names included.
 */
export class PostgresJournal implements Journal {
  readonly #send: OpenedPool["query"];
  readonly #closePool: () => Promise<void>;
  readonly #statements: PostgresStatements;
  readonly #batches: PostgresBatches;
  readonly #turns = new KeyTurns();
  #isClosed = false;

  private constructor({ query, queryOften, close }: OpenedPool, statements: PostgresStatements) {
    this.#send = query;
    this.#closePool = close;
    this.#statements = statements;
    this.#batches = new PostgresBatches(queryOften, this.#statements.keyed);
  }

  /**
   * Connects, and creates the tables or migrates them: once, however many processes open the journal at the same time.
   *
   * @param place `postgresql://…`, opened with the package `pg`, an optional peer dependency; or a pool of `pg` or one like it. The
   *   caller remains responsible for a pool: its size, its timeouts, its `error` listener, and closing it. Set a `query_timeout` on it.
   *   Where its connections tell of a transaction, statements are sent on them, and refused where somebody has left one open.
   * @throws {ConfigError} `pg` is missing, the URL or a name is malformed, the encoding of the database or of a connection is not UTF-8, the pool changes what it returns, or its tables belong to
   *   a newer release; with `migrate: false`, the tables are missing or belong to an older one; a crash of the server would empty the
   *   table (`UNLOGGED`), or row-level security may hide rows of it from this role.
   * @throws {JournalError} The database can't be reached, or refuses.
   */
  static async open(place: string | PostgresPool, options: PostgresJournalOptions = {}): Promise<PostgresJournal> {
    const refuse = (message: string) => new ConfigError(`PostgresJournal: ${message}`);
    const read: PostgresJournalOptions = parseOptions(journalOptions, options, "the options", refuse);
    const { schema = "public", table = "cross_border_flows", timeoutMs = 10_000, migrate = true } = read;
    const tables = tablesOf(schema, table);
    const own = typeof place === "string" ? await openPool(place, timeoutMs) : foreignPool(assertPool(place));
    try {
      await assertReadable(own.pool);
      await (migrate ? migrateTables(own.pool, tables) : assertMigrated(own.pool, tables));
      await assertKept(own.pool, tables);
      return new PostgresJournal(own, postgresStatements(tables));
    } catch (error) {
      await own.close().catch(() => {});
      throw postgresFailure(error, "open the journal");
    }
  }

  /**
   * SQL text that creates the tables, or migrates them (`from`), and grants a role what the journal needs: to read and write the rows of
   * the flows, and to read the version. For a database administrator, where the services may not do so themselves.
   *
   * @throws {ConfigError} A name is malformed, or there is no such version.
   */
  static schema(options: PostgresSchemaOptions = {}): string {
    return schemaText(options);
  }

  async begin(key: string, scope: FlowScope, state: JournalState, lease: LeaseRequest) {
    assertNew(key, scope, state, lease);
    const { service, gateway } = scope;
    const input = { key, service, gateway, ...stateInput(state), ...leaseInput(lease) };
    this.#assertOpen();
    return this.#turns.take(key, async () => {
      for (let tries = 1; ; tries += 1) {
        const created = await this.#batches.run("begin", input);
        if (created !== undefined) return { entry: storedEntry(created, state), created: true };
        const present = optionalEntry(await this.#batches.run("read", { key }));
        if (present !== undefined) return { entry: present, created: isBegun(present, lease.nonce) };
        // A quote was pruned between the two. Nothing does that again and again.
        if (tries === mostTries) throw neitherThereNorNot();
        await sleep(10 * 2 ** tries);
      }
    });
  }

  async read(key: string): Promise<JournalEntry | undefined> {
    assertFlowKey(key);
    return optionalEntry(await this.#keyed("read", { key }));
  }

  async acquire(key: string, lease: LeaseRequest): Promise<JournalEntry | undefined> {
    assertFlowKey(key);
    assertLease(lease);
    const { row, present } = await this.#changeOrRead("acquire", { key, ...leaseInput(lease) });
    if (row !== undefined) return toEntry(row);
    return isLeasedTo(present, lease.nonce) ? present : undefined;
  }

  async acquireAbandoned(scope: ScopeFilter, lease: LeaseRequest, after: string | undefined) {
    assertLease(lease);
    const values = [...scopeValues(scope), after ?? "", lease.nonce, lease.owner, lease.leaseMs];
    return optionalEntry((await this.#query("acquireAbandoned", values))[0]);
  }

  async renew(key: string, id: LeaseId, leaseMs: number): Promise<boolean> {
    assertDuration("leaseMs", leaseMs);
    return (await this.#keyed("renew", { ...ownedInput(key, id), lease_ms: leaseMs })) !== undefined;
  }

  async write(
    key: string,
    id: StateId,
    state: JournalState,
    quote?: { readonly lease: LeaseRequest; readonly inTime: boolean },
  ): Promise<boolean> {
    assertFlowKey(key);
    assertState(state);
    const input = { ...ownedInput(key, id), revision: id.revision, ...stateInput(state) };
    const next = { epoch: id.epoch, nonce: id.nonce, revision: id.revision + 1 };
    if (quote === undefined) {
      const { row, present } = await this.#changeOrRead("write", input);
      return row !== undefined || isWritten(present, next, state);
    }
    assertLease(quote.lease);
    const { nonce, owner, lease_ms } = leaseInput(quote.lease);
    const replaced = { ...input, new_nonce: nonce, owner, lease_ms, in_time: quote.inTime };
    const { row, present } = await this.#changeOrRead("replaceQuote", replaced);
    return row !== undefined || isWritten(present, { ...next, epoch: id.epoch + 1, nonce }, state);
  }

  async release(key: string, id: LeaseId): Promise<void> {
    await this.#keyed("release", ownedInput(key, id));
  }

  async list(query: JournalQuery): Promise<JournalList> {
    const { phase, counts = false } = query;
    const values = pageValues(query);
    const rows = phase === undefined ? this.#query("list", values) : this.#query("listPhase", [...values, phase]);
    return {
      entries: (await rows).map(toEntry),
      counts: counts ? (await this.#query("counts", [])).map(toCount) : [],
    };
  }

  async prune({ settledBeforeMs, quotedBeforeMs }: PruneOptions): Promise<PruneReport> {
    const quoted = quotedBeforeMs === undefined ? 0 : await this.#eachSlice("pruneQuoted", quotedBeforeMs, []);
    let settled = 0;
    for (const phase of settledBeforeMs === undefined ? [] : finalPhases) {
      settled += await this.#eachSlice("pruneSettled", Number(settledBeforeMs), [phase]);
    }
    return { settled, quoted };
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#turns.idle();
    await this.#closePool();
  }

  async #eachSlice(name: "pruneQuoted" | "pruneSettled", beforeMs: number, values: readonly string[]): Promise<number> {
    let count = 0;
    for (let after = ""; ; ) {
      const rows = await this.#query(name, [after, beforeMs, sliceSize, ...values]);
      count += rows.length;
      if (rows.length < sliceSize) return count;
      after = lastKey(rows);
    }
  }

  async #keyed<Name extends KeyedName>(
    name: Name,
    input: KeyedInput<Name> & { readonly key: string },
  ): Promise<Row | undefined> {
    this.#assertOpen();
    return this.#turns.take(input.key, () => this.#batches.run(name, input));
  }

  /** The row that it changed, or the entry as it is otherwise. Nothing else of this process comes in between. */
  #changeOrRead<Name extends "acquire" | "write" | "replaceQuote">(
    name: Name,
    input: KeyedInput<Name> & { readonly key: string },
  ): Promise<{ readonly row?: Row; readonly present?: JournalEntry | undefined }> {
    this.#assertOpen();
    return this.#turns.take(input.key, async () => {
      const row = await this.#batches.run(name, input);
      if (row !== undefined) return { row };
      return { present: optionalEntry(await this.#batches.run("read", { key: input.key })) };
    });
  }

  async #query(name: UnkeyedName, values: (string | number)[]): Promise<Row[]> {
    this.#assertOpen();
    for (let attempt = 1; ; attempt++) {
      try {
        const rows = (await this.#send(this.#statements[name], values)).rows as Row[];
        assertPrimary(rows[0], postgresWork[name]);
        return rows.filter(isOfTable);
      } catch (error) {
        if (!isRolledBack(error) || attempt === maxAttempts) throw postgresFailure(error, postgresWork[name]);
      }
    }
  }

  #assertOpen(): void {
    if (this.#isClosed) throw new JournalError("PostgresJournal: the journal is closed.");
  }
}

/** How many flows `prune` deletes or empties at a time, so that others are not kept waiting. One that is locked at this moment is left out. */
const sliceSize = 1_000;

/** How often `begin` tries where the database says both that the flow is there and that it is not. */
const mostTries = 8;

function neitherThereNorNot(): JournalError {
  return new JournalError(
    "PostgresJournal could not store a new flow: the database says that it is there, and does not show it. Does the pool, or something behind it, send reads to another server?",
    { stored: "unknown" },
  );
}

/** A server says that it is no replica even where it has read nothing. */
function isOfTable({ key, phase, service }: Row): boolean {
  return (key ?? phase ?? service ?? null) !== null;
}

function stateInput({ phase, settled, data, quoteTtlMs }: JournalState) {
  return { phase, settled, data, ttl_ms: quoteTtlMs };
}

function leaseInput({ nonce, owner, leaseMs }: LeaseRequest) {
  return { nonce, owner, lease_ms: leaseMs };
}

function ownedInput(key: string, id: LeaseId) {
  return { key, epoch: id.epoch, nonce: id.nonce };
}

function scopeValues({ service, gateway = "" }: ScopeFilter): string[] {
  return [service, gateway];
}

function pageValues({ scope, after = "", limit }: JournalQuery) {
  return [...scopeValues(scope), after, limit];
}

async function assertReadable(pool: PostgresPool): Promise<void> {
  // With a parameter, as the journal's own statements: others have no binary results.
  const { rows } = await pool.query(
    "SELECT current_setting('server_encoding') AS stored, current_setting('client_encoding') AS sent, $1::bigint AS lease_ms",
    [600_000],
  );
  const { stored, sent, lease_ms }: { stored?: unknown; sent?: unknown; lease_ms?: unknown } = Object(rows[0]);
  if (Number(lease_ms) !== 600_000) {
    throw new ConfigError(
      "PostgresJournal: the pool returns other names or numbers than the server sends. It must not rename columns, nor ask for binary results (binary: true), whose numbers pg misreads.",
    );
  }
  if (stored === "UTF8" && sent === "UTF8") return;
  throw new ConfigError(
    "PostgresJournal: the encoding of the database, and of each connection, must be UTF8, or keys and names would not be stored exactly.",
  );
}

function assertPool(pool: PostgresPool): PostgresPool {
  if (isSingleClient(pool)) {
    throw new ConfigError("PostgresJournal: open was given a Client of pg. Pass a Pool, or a postgresql:// URL.");
  }
  if (typeof pool?.query === "function" && typeof pool.connect === "function") return pool;
  throw new ConfigError("PostgresJournal: open needs a postgresql:// URL, or a pool with query and connect");
}

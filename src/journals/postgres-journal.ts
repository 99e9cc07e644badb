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
import { type CheckTable, isBoolean, isPositiveInteger, parseOptions } from "../options/option-table.js";
import { sleep } from "../timing/clock.js";
import {
  backlogOf,
  countsOf,
  lastKey,
  optionalEntry,
  type Row,
  scopeCountsOf,
  storedEntry,
  toEntry,
} from "./entry-of-row.js";
import { KeyTurns } from "./key-turns.js";
import { PostgresBatches } from "./postgres-batches.js";
import type { PostgresPool } from "./postgres-connection.js";
import {
  assertPrimary,
  isRolledBack,
  isSingleClient,
  maxAttempts,
  postgresFailure,
  sqlStateOf,
} from "./postgres-failure.js";
import { foreignPool, type OpenedPool, openPool } from "./postgres-pool.js";
import {
  incarnationOfServer,
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

export type { CheckedJournal } from "../flows/checked-journal.js";
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
export class PostgresJournal extends CheckedJournal {
  private constructor(store: Journal) {
    super(store);
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
      const statements = postgresStatements(tables, await canTellIncarnation(own.pool));
      return new PostgresJournal(new PostgresStore(own, statements));
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
}

class PostgresStore implements Journal {
  readonly #send: OpenedPool["query"];
  readonly #closePool: () => Promise<void>;
  readonly #statements: PostgresStatements;
  readonly #batches: PostgresBatches;
  readonly #turns = new KeyTurns();
  #isClosed = false;

  constructor({ query, queryOften, close }: OpenedPool, statements: PostgresStatements) {
    this.#send = query;
    this.#closePool = close;
    this.#statements = statements;
    this.#batches = new PostgresBatches(queryOften, this.#statements.keyed);
  }

  async begin(key: string, scope: FlowScope, state: JournalState, lease: LeaseRequest) {
    const { service, gateway } = scope;
    const input = { key, service, gateway, ...stateInput(state), ...leaseInput(lease) };
    this.#assertOpen();
    return this.#turns.take(key, async () => {
      for (let tries = 1; ; tries += 1) {
        const created = await this.#batches.run("begin", input);
        if (created !== undefined) return { entry: storedEntry(created, state), created: true };
        const present = await this.#batches.run("read", { key });
        if (present !== undefined) return { entry: toEntry(present), created: false };
        // A quote was pruned between the two. Nothing does that again and again.
        if (tries === mostTries) throw neitherThereNorNot();
        await sleep(10 * 2 ** tries);
      }
    });
  }

  async read(key: string): Promise<JournalEntry | undefined> {
    return optionalEntry(await this.#keyed("read", { key }));
  }

  async acquire(key: string, lease: LeaseRequest, observed?: ObservedLease): Promise<JournalEntry | undefined> {
    return optionalEntry(await this.#keyed("acquire", { key, ...leaseInput(lease), ...observedInput(observed) }));
  }

  async acquireAbandoned(scope: ScopeFilter, lease: LeaseRequest, after: string | undefined) {
    const values = [...scopeValues(scope), after ?? "", lease.nonce, lease.owner, lease.leaseMs];
    return optionalEntry((await this.#query("acquireAbandoned", values))[0]);
  }

  async overlong(query: Omit<JournalQuery, "phase">): Promise<readonly JournalEntry[]> {
    return (await this.#query("overlong", pageValues(query))).map(toEntry);
  }

  async renew(key: string, id: LeaseId, leaseMs: number): Promise<boolean> {
    return (await this.#keyed("renew", { ...ownedInput(key, id), lease_ms: leaseMs })) !== undefined;
  }

  async write(key: string, id: StateId, state: JournalState, leaseMs?: number): Promise<boolean> {
    const { scope, incarnationMark: incarnation_mark } = state;
    const moved = { service: scope?.service, gateway: scope?.gateway, incarnation_mark, lease_ms: leaseMs };
    const row = await this.#keyed("write", { ...replacedInput(key, id), ...stateInput(state), ...moved });
    return row !== undefined;
  }

  async replaceQuote(
    key: string,
    seen: StateId,
    state: JournalState,
    lease: LeaseRequest,
    expired: boolean | undefined,
  ): Promise<JournalEntry | undefined> {
    const { nonce: new_nonce, owner, lease_ms } = leaseInput(lease);
    const next = { new_nonce, owner, lease_ms, expired };
    const row = await this.#keyed("replaceQuote", { ...replacedInput(key, seen), ...stateInput(state), ...next });
    return row === undefined ? undefined : storedEntry(row, state);
  }

  async fenceQuote(key: string, seen: StateId, nonce: string): Promise<JournalEntry | undefined> {
    return optionalEntry(await this.#keyed("fenceQuote", { ...replacedInput(key, seen), new_nonce: nonce }));
  }

  async release(key: string, id: LeaseId): Promise<void> {
    await this.#keyed("release", ownedInput(key, id));
  }

  async list(query: JournalQuery): Promise<readonly JournalEntry[]> {
    const { phase } = query;
    const values = pageValues(query);
    const rows = phase === undefined ? this.#query("list", values) : this.#query("listPhase", [...values, phase]);
    return (await rows).map(toEntry);
  }

  async counts(scope: ScopeFilter): Promise<Readonly<Record<string, number>>> {
    return countsOf(await this.#query("counts", scopeValues(scope)));
  }

  async scopes(): Promise<readonly ScopeCounts[]> {
    return scopeCountsOf(await this.#query("scopes", []));
  }

  async backlog(): Promise<readonly BacklogCount[]> {
    return backlogOf(await this.#query("backlog", []));
  }

  async prune(options: PruneOptions): Promise<PruneReport> {
    const { settledBeforeMs, quotedBeforeMs, keep } = options;
    const quoted = quotedBeforeMs === undefined ? 0 : await this.#eachSlice("pruneQuoted", quotedBeforeMs, []);
    let settled = 0;
    for (const phase of settledBeforeMs === undefined ? [] : finalPhases) {
      settled += await this.#eachSlice("pruneSettled", Number(settledBeforeMs), [phase, keep === "evidence"]);
    }
    return { settled, quoted };
  }

  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#turns.idle();
    await this.#closePool();
  }

  async #eachSlice(
    name: "pruneQuoted" | "pruneSettled",
    beforeMs: number,
    values: readonly (string | boolean)[],
  ): Promise<number> {
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

  async #query(name: UnkeyedName, values: (string | number | boolean)[]): Promise<Row[]> {
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

function stateInput({ phase, settled, data, evidence, quoteTtlMs }: JournalState) {
  return { phase, settled, data, evidence, ttl_ms: quoteTtlMs };
}

function leaseInput({ nonce, owner, leaseMs }: LeaseRequest) {
  return { nonce, owner, lease_ms: leaseMs };
}

function observedInput(observed: ObservedLease | undefined) {
  return {
    seen_epoch: observed?.epoch,
    seen_nonce: observed?.nonce,
    seen_revision: observed?.revision,
    seen_until_ms: observed?.leaseUntilMs,
  };
}

function replacedInput(key: string, id: StateId) {
  return { ...ownedInput(key, id), revision: id.revision };
}

function ownedInput(key: string, id: LeaseId) {
  return { key, epoch: id.epoch, nonce: id.nonce };
}

function scopeValues({ service, gateway = "" }: ScopeFilter): string[] {
  return [service, gateway];
}

function pageValues({ scope, after = "", limit }: Omit<JournalQuery, "phase">) {
  return [...scopeValues(scope), after, limit];
}

/** Managed servers keep some of these functions to themselves. */
async function canTellIncarnation(pool: PostgresPool): Promise<boolean> {
  try {
    await pool.query(`SELECT ${incarnationOfServer} AS incarnation`);
    return true;
  } catch (error) {
    // Nor does a server that is going down say that it can't tell.
    if (/^(?:08|53|57|$)/.test(sqlStateOf(error) ?? "")) throw error;
    return false;
  }
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

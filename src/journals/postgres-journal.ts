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
import { postgresFailure, sqlStateOf } from "./postgres-failure.js";
import { type OwnPool, openPool, type PostgresPool } from "./postgres-pool.js";
import { migrate, type PostgresTables, tablesOf } from "./postgres-tables.js";

export type { PostgresConnection, PostgresPool } from "./postgres-pool.js";

export interface PostgresJournalOptions {
  /** Letters, digits and underscores. Created when it is missing. Default: `public`. */
  readonly schema?: string;
  /** Letters, digits and underscores. Default: `cross_border_flows`. */
  readonly table?: string;
  /** How long to wait for a connection, and for each response, in milliseconds. Only with a URL: a pool has its own. Default: 10,000. */
  readonly timeoutMs?: number;
}

/**
 * A journal in a PostgreSQL table, for many machines. Leases run on the database's clock.
 *
 * Each method is one statement, and each write is flushed before its promise resolves: where `synchronous_commit` is set to
 * less than `on`, it is raised for the journal's own writes. The server's `fsync` and its standbys are up to its operator.
 *
 * The data of a flow is stored as it is given, account numbers and names included.
 */
export class PostgresJournal implements Journal {
  readonly #pool: PostgresPool;
  readonly #closePool: () => Promise<void>;
  readonly #statements: ReturnType<typeof statementsFor>;
  #isClosed = false;

  private constructor({ pool, close }: OwnPool, tables: PostgresTables) {
    this.#pool = pool;
    this.#closePool = close;
    this.#statements = statementsFor(tables);
  }

  /**
   * Connects, and creates the tables or migrates them: once, however many processes open the journal at the same time.
   *
   * @param place `postgresql://…`, opened with the package `pg`, an optional peer dependency; or a pool of `pg` or one like it. The
   *   caller remains responsible for a pool: its size, its timeouts, its `error` listener, and closing it. Set a `query_timeout` on it.
   * @throws {ConfigError} `pg` is missing, the URL or a name is malformed, the database's encoding is not UTF-8, or its tables belong to a newer release.
   * @throws {JournalError} The database can't be reached, or refuses.
   */
  static async open(place: string | PostgresPool, options: PostgresJournalOptions = {}): Promise<PostgresJournal> {
    const { schema = "public", table = "cross_border_flows", timeoutMs = 10_000 } = options;
    const tables = tablesOf(schema, table);
    if (!Number.isInteger(timeoutMs) || timeoutMs < 1 || timeoutMs >= 2 ** 31) {
      throw new ConfigError("PostgresJournal: timeoutMs must be a whole number of milliseconds above 0");
    }
    const own =
      typeof place === "string" ? await openPool(place, timeoutMs) : { pool: assertPool(place), close: async () => {} };
    try {
      await assertEncoding(own.pool);
      await migrate(own.pool, tables);
      return new PostgresJournal(own, tables);
    } catch (error) {
      await own.close().catch(() => {});
      throw postgresFailure(error, "open the journal");
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
    const values = [key, state.phase, state.settled, state.data, lease.owner, lease.leaseMs];
    for (;;) {
      const created = await this.#first("begin", values);
      if (created !== undefined) return { entry: toEntry(created), created: true };
      const present = await this.#first("read", [key]);
      if (present !== undefined) return { entry: toEntry(present), created: false };
    }
  }

  async read(key: string): Promise<JournalEntry | undefined> {
    assertKey(key);
    return optionalEntry(await this.#first("read", [key]));
  }

  async acquire(key: string, lease: LeaseRequest): Promise<JournalEntry | undefined> {
    assertKey(key);
    assertLease(lease);
    return optionalEntry(await this.#first("acquire", [key, lease.owner, lease.leaseMs]));
  }

  async acquireAbandoned(lease: LeaseRequest, after: string | undefined): Promise<JournalEntry | undefined> {
    assertLease(lease);
    assertAfter(after);
    return optionalEntry(await this.#first("acquireAbandoned", [after ?? "", lease.owner, lease.leaseMs]));
  }

  async renew(key: string, epoch: number, leaseMs: number): Promise<boolean> {
    assertKey(key);
    assertEpoch(epoch);
    assertLeaseMs(leaseMs);
    return (await this.#first("renew", [key, epoch, leaseMs])) !== undefined;
  }

  async write(key: string, epoch: number, state: JournalState): Promise<boolean> {
    assertKey(key);
    assertEpoch(epoch);
    assertState(state);
    return (await this.#first("write", [key, epoch, state.phase, state.settled, state.data])) !== undefined;
  }

  async release(key: string, epoch: number): Promise<void> {
    assertKey(key);
    assertEpoch(epoch);
    await this.#first("release", [key, epoch]);
  }

  async list(query: {
    readonly phase: string;
    readonly after?: string | undefined;
    readonly limit: number;
  }): Promise<readonly JournalEntry[]> {
    assertQuery(query);
    return (await this.#all("list", [query.phase, query.after ?? "", query.limit])).map(toEntry);
  }

  /** Ends the connections; a pool that was passed in stays open. */
  async close(): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    await this.#closePool();
  }

  async #first(name: keyof typeof workOf, values: (string | number | boolean)[]): Promise<Row | undefined> {
    return (await this.#all(name, values))[0];
  }

  async #all(name: keyof typeof workOf, values: (string | number | boolean)[]): Promise<Row[]> {
    if (this.#isClosed) throw new JournalError("PostgresJournal: the journal is closed.");
    for (let attempt = 1; ; attempt++) {
      try {
        const { rows } = await this.#pool.query(this.#statements[name], values);
        return rows as Row[];
      } catch (error) {
        // Rolled back in favour of another transaction, where the database's default isolation is stricter than READ COMMITTED.
        const isSafeToRepeat = /^40(?:001|P01)$/.test(sqlStateOf(error) ?? "");
        if (!isSafeToRepeat || attempt === maxAttempts) throw postgresFailure(error, workOf[name]);
      }
    }
  }
}

const maxAttempts = 10;

const workOf = {
  begin: "store a new flow",
  read: "read a flow",
  acquire: "lease a flow",
  acquireAbandoned: "lease an abandoned flow",
  renew: "renew a lease",
  write: "store a state",
  release: "release a lease",
  list: "list flows",
};

// For this statement's own transaction only, so that it works in any pool, and behind a pooler. Stricter settings are kept.
const durably = `set_config('synchronous_commit', CASE
  WHEN current_setting('synchronous_commit') IN ('off', 'local', 'remote_write') THEN 'on'
  ELSE current_setting('synchronous_commit') END, true) AS durably`;

function statementsFor({ flows }: PostgresTables): Record<keyof typeof workOf, string> {
  const columns = `f.key, f.epoch, f.phase, f.settled::int AS settled, f.data,
    floor(extract(epoch FROM f.created_at) * 1000)::bigint AS created_at_ms,
    floor(extract(epoch FROM f.updated_at) * 1000)::bigint AS updated_at_ms`;
  const isFree = "(f.lease_until IS NULL OR f.lease_until <= clock_timestamp())";
  const leaseFor = (milliseconds: string) => `clock_timestamp() + ${milliseconds}::bigint * interval '1 millisecond'`;
  return {
    begin: `INSERT INTO ${flows} AS f (key, epoch, phase, settled, data, owner, lease_until, created_at, updated_at)
      SELECT $1, 1, $2, $3::boolean, $4, $5, CASE WHEN $3::boolean THEN NULL ELSE ${leaseFor("$6")} END, now.at, now.at
      FROM (SELECT clock_timestamp() AS at) AS now
      ON CONFLICT (key) DO NOTHING RETURNING ${columns}, ${durably}`,
    read: `SELECT ${columns} FROM ${flows} AS f WHERE f.key = $1`,
    acquire: `UPDATE ${flows} AS f SET epoch = f.epoch + 1, owner = $2, lease_until = ${leaseFor("$3")}
      WHERE f.key = $1 AND ${isFree} RETURNING ${columns}, ${durably}`,
    acquireAbandoned: `WITH next AS MATERIALIZED (
        SELECT f.key FROM ${flows} AS f WHERE NOT f.settled AND f.key > $1 AND ${isFree}
        ORDER BY f.key LIMIT 1 FOR UPDATE SKIP LOCKED)
      UPDATE ${flows} AS f SET epoch = f.epoch + 1, owner = $2, lease_until = ${leaseFor("$3")}
      FROM next WHERE f.key = next.key RETURNING ${columns}, ${durably}`,
    renew: `UPDATE ${flows} AS f SET lease_until = ${leaseFor("$3")}
      WHERE f.key = $1 AND f.epoch = $2 AND f.lease_until IS NOT NULL RETURNING f.epoch, ${durably}`,
    write: `UPDATE ${flows} AS f SET phase = $3, settled = $4::boolean, data = $5, updated_at = clock_timestamp(),
        lease_until = CASE WHEN $4::boolean THEN NULL ELSE f.lease_until END
      WHERE f.key = $1 AND f.epoch = $2 RETURNING f.epoch, ${durably}`,
    release: `UPDATE ${flows} AS f SET lease_until = NULL WHERE f.key = $1 AND f.epoch = $2 RETURNING f.epoch, ${durably}`,
    list: `SELECT ${columns} FROM ${flows} AS f WHERE f.phase = $1 AND f.key > $2 ORDER BY f.key LIMIT $3`,
  };
}

async function assertEncoding(pool: PostgresPool): Promise<void> {
  const { rows } = await pool.query("SELECT current_setting('server_encoding') AS encoding");
  if (Reflect.get(Object(rows[0]), "encoding") === "UTF8") return;
  throw new ConfigError(
    "PostgresJournal: the database's encoding must be UTF8, or keys and names would not be stored exactly.",
  );
}

function assertPool(pool: PostgresPool): PostgresPool {
  const isPool = typeof pool === "object" && typeof pool?.query === "function" && typeof pool.connect === "function";
  if (!isPool)
    throw new ConfigError("PostgresJournal: open needs a postgresql:// URL, or a pool with query and connect");
  return pool;
}

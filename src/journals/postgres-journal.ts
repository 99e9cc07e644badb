import type { Client, ClientConfig } from "pg";
import { ConfigError } from "../core/errors.js";
import { type CheckTable, isBoolean, isWholeFrom, parseOptions } from "../core/parse.js";
import { postgresFailure, sqlStateOf } from "./postgres-failure.js";
import { isSingleClient, type PostgresPool, postgresName } from "./postgres-migrate.js";
import { type OpenedPool, PostgresStore } from "./postgres-store.js";
import { type PostgresSchemaOptions, prepareTables, schemaText, tablesOf } from "./postgres-tables.js";
import { SqlJournal } from "./sql-journal.js";

export type { PostgresPool } from "./postgres-migrate.js";
export type { PostgresSchemaOptions } from "./postgres-tables.js";
export type { SqlJournal } from "./sql-journal.js";

export interface PostgresJournalOptions {
  /** Letters, digits and underscores. Created when it is missing. Default: `public`. */
  readonly schema?: string;
  /** Letters, digits and underscores. Default: `cross_border_flows`. */
  readonly table?: string;
  /**
   * How long to wait for a connection, and for each response, in milliseconds. It applies to a URL only, since a pool has its own
   * timeouts. Default: 10,000.
   */
  readonly timeoutMs?: number;
  /**
   * Whether missing tables are created and those of an older release migrated. With `false` they are only checked, which needs
   * the rights to rows alone. See {@link PostgresJournal.schema}. Default: true.
   */
  readonly migrate?: boolean;
}

const journalOptions: CheckTable<PostgresJournalOptions> = {
  schema: postgresName,
  table: postgresName,
  timeoutMs: {
    accepts: isWholeFrom(1, 2 ** 31 - 1),
    expected: "a whole number of milliseconds above 0",
  },
  migrate: { accepts: isBoolean, expected: "true or false" },
};

/**
 * A journal in a PostgreSQL table, for many machines. Leases run on the database's clock.
 *
 * Pending writes share a commit, and each promise resolves after it. The operator of the server is responsible for its `fsync`
 * and its standbys. `close` waits for pending writes, and leaves your own pool open.
 *
 * A flow's data is stored as is, with account numbers and names.
 */
export class PostgresJournal extends SqlJournal {
  private constructor(pool: OpenedPool, flows: string) {
    super(new PostgresStore(pool, flows));
  }

  /**
   * Connects, and creates or migrates the tables. If several processes open the journal at the same time, one of them does so.
   *
   * @param place `postgresql://…`, opened with the package `pg`, an optional peer dependency, or a `Pool` of `pg` for the journal alone.
   *   You remain responsible for the pool's size, timeouts, `error` listener, and end. Set a `query_timeout` on it.
   * @throws {ConfigError} `pg` is missing, the URL or a name is malformed, the tables belong to a newer release (with `migrate: false`, they are
   *   missing or belong to an older one), or the server could lose confirmed writes (`UNLOGGED`, `synchronous_commit`).
   * @throws {JournalError} The database can't be reached, refuses, or is a replica.
   */
  static async open(place: string | PostgresPool, options: PostgresJournalOptions = {}): Promise<PostgresJournal> {
    const refuse = (message: string) => new ConfigError(`PostgresJournal: ${message}`);
    const {
      schema = "public",
      table = "cross_border_flows",
      timeoutMs = 10_000,
      migrate = true,
    }: PostgresJournalOptions = parseOptions(journalOptions, options, "the options", refuse);
    const tables = tablesOf(schema, table);
    let opened: OpenedPool | undefined;
    try {
      opened = typeof place === "string" ? await openPool(place, timeoutMs) : givenPool(place);
      await prepareTables(opened.pool, tables, migrate);
      return new PostgresJournal(opened, tables.flows);
    } catch (error) {
      await opened?.close().catch(() => {});
      throw postgresFailure(error, "open the journal");
    }
  }

  /**
   * Returns the SQL that creates the tables, or migrates them (`from`), and grants a role the rights that the journal needs. They
   * cover the rows of the flows and reading the version. Give it to a database administrator if your services must not create
   * tables.
   *
   * @throws {ConfigError} A name is malformed, or there is no such version.
   */
  static schema(options: PostgresSchemaOptions = {}): string {
    return schemaText(options);
  }
}

/** The caller's own pool. Its connections may lead to a pooler, so no statement is prepared on them. */
function givenPool(pool: PostgresPool): OpenedPool {
  if (isSingleClient(pool)) {
    throw new ConfigError("PostgresJournal: open was given a Client of pg. Pass a Pool, or a postgresql:// URL.");
  }
  if (typeof pool?.query !== "function") {
    throw new ConfigError("PostgresJournal: open needs a postgresql:// URL, or a pool with query");
  }
  return { pool, query: (text, values) => pool.query(text, values), close: async () => {} };
}

/** A pool of `pg`, which is loaded here and only here. `timeoutMs` bounds connecting and each statement. */
async function openPool(url: string, timeoutMs: number): Promise<OpenedPool> {
  assertUrl(url);
  const { Client, Pool } = await loadPg();
  const config: ClientConfig = {
    connectionString: url,
    connectionTimeoutMillis: timeoutMs,
    query_timeout: timeoutMs,
    keepAlive: true,
    fallback_application_name: "cross-border-payments",
  };
  let isDirect = await leadsToServer(new Client(config));
  // A server continues a statement after its client gave up, and keeps a plan while the table grows. Poolers refuse such settings.
  const settings = { statement_timeout: timeoutMs, options: "-c enable_seqscan=off" };
  const pool = new Pool({ ...config, allowExitOnIdle: true, ...(isDirect && settings) });
  // The pool drops an idle connection that breaks. Without a listener, the error would end the process.
  pool.on("error", () => {});
  return {
    pool,
    async query(text, given, name) {
      const values = given.map((value) => (isTexts(value) ? textArray(value) : value));
      if (!isDirect) return pool.query(text, values);
      try {
        return await pool.query({ name, text, values });
      } catch (error) {
        // The server knows no statement of that name, or another one, or its result would have other columns.
        if (!/^(?:26000|42P05|0A000)$/.test(sqlStateOf(error) ?? "")) throw error;
        isDirect = false;
        return pool.query(text, values);
      }
    },
    close: () => pool.end(),
  };
}

function isTexts(value: unknown): value is readonly string[] {
  return Array.isArray(value) && typeof value[0] === "string";
}

/** An array in the protocol's binary format. As a text, each quotation mark in it would be escaped here, and parsed there. */
function textArray(texts: readonly string[]): Buffer {
  // One dimension, no null, the type `text`, and the first index.
  const head = [1, 0, 25, texts.length, 1];
  const bytes = Buffer.allocUnsafe(4 * (head.length + texts.length) + Buffer.byteLength(texts.join("")));
  let end = 0;
  for (const number of head) end = bytes.writeInt32BE(number, end);
  for (const text of texts) {
    const start = end + 4;
    const length = bytes.write(text, start);
    bytes.writeInt32BE(length, end);
    end = start + length;
  }
  return bytes;
}

/** A pooler tells its clients of no server process, or of one of its own, and may give each statement to another one. */
async function leadsToServer(client: Client): Promise<boolean> {
  client.on("error", () => {});
  try {
    await client.connect();
    const { rows } = await client.query("SELECT pg_backend_pid() AS pid");
    return Reflect.get(client, "processID") === rows[0]?.pid;
  } finally {
    client.end().catch(() => {});
    // A server that responds no longer doesn't keep the process.
    Object(client).unref?.();
  }
}

async function loadPg(): Promise<Pick<typeof import("pg"), "Client" | "Pool">> {
  try {
    // An older pg has its names on `default` only when it is imported, and no `default` when it is required.
    const pg = await import("pg");
    return pg.default ?? pg;
  } catch (error) {
    throw new ConfigError(
      "PostgresJournal: the package pg can't be loaded. Install it (npm install pg), or pass a pool in place of the URL.",
      { cause: error },
    );
  }
}

// A URL that can't be parsed isn't shown, since any part of it may be the password.
function assertUrl(url: string): void {
  const isUrl = URL.canParse(url) && /^postgres(?:ql)?:$/.test(new URL(url).protocol);
  if (!isUrl)
    throw new ConfigError(
      "PostgresJournal: the URL must be of the form postgresql://host:5432/database, with user:password@ before the host",
    );
}

import { ConfigError } from "../errors/errors.js";
import type { PostgresConnection, PostgresPool } from "./postgres-pool.js";

/** Names of a journal's tables, quoted for SQL. */
export interface PostgresTables {
  readonly schema: string;
  readonly flows: string;
  readonly version: string;
  /** The version table's name alone, unquoted. */
  readonly versionName: string;
  /** An index is in the schema of its table, but is named without it. */
  readonly indexPrefix: string;
}

const identifier = /^[A-Za-z_][A-Za-z0-9_]{0,39}$/;

export function tablesOf(schema: string, table: string): PostgresTables {
  for (const [option, name] of Object.entries({ schema, table })) {
    if (typeof name === "string" && identifier.test(name)) continue;
    throw new ConfigError(
      `PostgresJournal: ${option} must be 1 to 40 letters, digits and underscores, and must not begin with a digit`,
    );
  }
  const versionName = `${table}_version`;
  return {
    schema,
    flows: `"${schema}"."${table}"`,
    version: `"${schema}"."${versionName}"`,
    versionName,
    indexPrefix: table,
  };
}

/** In order. A migration that was released never changes. The version table stores how many of them have run. */
const migrations: readonly ((tables: PostgresTables) => string)[] = [
  ({ flows, indexPrefix }) => `
    CREATE TABLE ${flows} (
      key text COLLATE "C" NOT NULL PRIMARY KEY,
      epoch bigint NOT NULL,
      phase text COLLATE "C" NOT NULL,
      settled boolean NOT NULL,
      data text NOT NULL,
      owner text NOT NULL,
      lease_until timestamptz,
      created_at timestamptz NOT NULL,
      updated_at timestamptz NOT NULL
    );
    CREATE INDEX "${indexPrefix}_by_phase" ON ${flows} (phase, key);
    CREATE INDEX "${indexPrefix}_unsettled" ON ${flows} (key) WHERE NOT settled;`,
];

/** Creates the tables, or migrates them to this release's version. Each migration runs once, however many processes start at once. */
export async function migrate(pool: PostgresPool, tables: PostgresTables): Promise<void> {
  // A role that may only read and write rows can open a journal that is up to date.
  if ((await versionOf(pool, tables)) === migrations.length) return;
  const connection = await pool.connect();
  let isBroken = true;
  try {
    // A stricter level would show the tables as they were before this process waited for the lock.
    await connection.query("BEGIN ISOLATION LEVEL READ COMMITTED");
    await migrateAlone(connection, tables);
    await connection.query("COMMIT");
    isBroken = false;
  } finally {
    // Closing a connection rolls its transaction back.
    connection.release(isBroken);
  }
}

async function migrateAlone(connection: PostgresConnection, tables: PostgresTables): Promise<void> {
  await connection.query("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [
    `cross-border-payments ${tables.flows}`,
  ]);
  const version = await versionOf(connection, tables);
  if (version === migrations.length) return;
  const schemas = await connection.query("SELECT 1 FROM pg_namespace WHERE nspname = $1", [tables.schema]);
  if (schemas.rows.length === 0) await connection.query(`CREATE SCHEMA "${tables.schema}"`);
  await connection.query(`CREATE TABLE IF NOT EXISTS ${tables.version} (version integer NOT NULL)`);
  for (const migration of migrations.slice(version)) await connection.query(migration(tables));
  await connection.query(`DELETE FROM ${tables.version}`);
  await connection.query(`INSERT INTO ${tables.version} (version) VALUES ($1)`, [migrations.length]);
}

async function versionOf(on: Pick<PostgresPool, "query">, tables: PostgresTables): Promise<number> {
  // Not to_regclass: it may read the connection's cache, as it was before this process waited for the lock.
  const found = await on.query(
    "SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname = $2",
    [tables.schema, tables.versionName],
  );
  if (found.rows.length === 0) return 0;
  const { rows } = await on.query(`SELECT version FROM ${tables.version}`);
  const version = Number(Reflect.get(Object(rows[0]), "version") ?? 0);
  if (version <= migrations.length) return version;
  throw new ConfigError(
    `PostgresJournal: the tables have version ${version}, and this release of cross-border-payments knows ${migrations.length}. ` +
      "Use the newer release.",
  );
}

import { ConfigError, JournalError } from "../core/errors.js";
import { type CheckTable, parseOptions } from "../core/parse.js";
import {
  type Migration,
  migrate,
  migrationText,
  type PostgresPool,
  postgresName,
  selectTable,
} from "./postgres-migrate.js";
import { outdated } from "./sql-journal.js";

/**
 * The version of the tables of this release, the oldest one whose releases may write to them, and that of release 0.3.0, the only
 * one that is migrated.
 */
const [newest, oldestWriter, earlier] = [4, 4, 3];

/** Names of a journal's tables: `flows` and `version` are quoted for SQL. */
export function tablesOf(schema: string, name: string) {
  return { schema, name, flows: `"${schema}"."${name}"`, version: `"${schema}"."${name}_version"` };
}

type PostgresTables = ReturnType<typeof tablesOf>;

// No index has a column that changes while a flow is not settled, so that PostgreSQL need not touch any index then.
// Where all tables are published for logical replication, a row is changed only in one that has an identity or a key.
const newTables = ({ schema, name, flows, version }: PostgresTables): string => `
  IF NOT EXISTS (${selectTable(schema, `${name}_version`)}) THEN
    CREATE TABLE ${version} (version integer NOT NULL, oldest_writer integer NOT NULL);
    ALTER TABLE ${version} REPLICA IDENTITY FULL;
    INSERT INTO ${version} VALUES (${newest}, ${oldestWriter});
    CREATE TABLE ${flows} (
      key text COLLATE "C" NOT NULL PRIMARY KEY,
      epoch bigint NOT NULL,
      phase text COLLATE "C" NOT NULL,
      settled boolean NOT NULL,
      data text NOT NULL,
      owner text NOT NULL,
      lease_until timestamptz,
      created_at timestamptz NOT NULL,
      updated_at timestamptz NOT NULL,
      service text COLLATE "C" NOT NULL,
      gateway text COLLATE "C" NOT NULL,
      nonce text COLLATE "C" NOT NULL,
      revision bigint NOT NULL,
      expires_at timestamptz,
      pruned_at timestamptz,
      settled_phase text COLLATE "C" GENERATED ALWAYS AS (CASE WHEN settled AND pruned_at IS NULL THEN phase END) STORED
    );
    CREATE INDEX "${name}_unsettled" ON ${flows} (key) WHERE NOT settled;
    CREATE INDEX "${name}_settled" ON ${flows} (settled_phase, key) WHERE settled_phase IS NOT NULL;
    -- States are long, and the default takes several times as long to compress them. Servers before 14 have no other, and some are built without it.
    BEGIN
      EXECUTE 'ALTER TABLE ${flows} ALTER COLUMN data SET COMPRESSION lz4';
    EXCEPTION WHEN syntax_error OR feature_not_supported OR invalid_parameter_value THEN
      NULL;
    END;
  END IF;`;

/**
 * The lock keeps a process of release 0.3.0 from beginning a flow, and the new columns keep it from storing anything later. In
 * 0.3.0 the service was the base URL.
 */
const fromEarlier = ({ flows, version }: PostgresTables): string => `
  LOCK TABLE ${flows} IN ACCESS EXCLUSIVE MODE;
  IF (SELECT version FROM ${version}) = ${earlier} THEN
    IF EXISTS (SELECT FROM ${flows} WHERE ${isOpen}) THEN
      RAISE EXCEPTION 'flows of release 0.3.0 are open: finish them with that release first';
    END IF;
    DELETE FROM ${flows} WHERE settled_phase = 'quoted';
    UPDATE ${flows} SET service = split_part(split_part(service, '://', 2), '/', 1) WHERE service LIKE '%://%';
    ALTER TABLE ${flows}
      DROP COLUMN evidence,
      DROP COLUMN lease_ms,
      DROP COLUMN lease_nonce,
      DROP COLUMN incarnation_mark;
    ALTER TABLE ${version} REPLICA IDENTITY FULL, ADD COLUMN oldest_writer integer NOT NULL DEFAULT ${oldestWriter};
    UPDATE ${version} SET version = ${newest};
  END IF;`;
const isOpen = "NOT settled AND pruned_at IS NULL";

function migrationOf(tables: PostgresTables, from: number): Migration {
  const steps = from === earlier ? fromEarlier : newTables;
  return { schema: tables.schema, table: tables.flows, steps: steps(tables) };
}

export interface PostgresSchemaOptions {
  /** Letters, digits and underscores. Default: `public`. */
  readonly schema?: string;
  /** Letters, digits and underscores. Default: `cross_border_flows`. */
  readonly table?: string;
  /** The database role of the services that open the journal. It gets only the rights that they need. Default: `payments`. */
  readonly role?: string;
  /** The version of the tables that are there: 3, or 0 if there are none. Default: 0. */
  readonly from?: number;
}

const schemaOptions: CheckTable<PostgresSchemaOptions> = {
  schema: postgresName,
  table: postgresName,
  role: postgresName,
  from: { accepts: (value) => value === 0 || value === earlier, expected: `0 or ${earlier}` },
};

/** What a database administrator runs, in one transaction, for services that open the journal with `migrate: false`. */
export function schemaText(options: PostgresSchemaOptions = {}): string {
  const refuse = (message: string) => new ConfigError(`PostgresJournal: ${message}`);
  const {
    schema = "public",
    table = "cross_border_flows",
    role = "payments",
    from = 0,
  }: PostgresSchemaOptions = parseOptions(schemaOptions, options, "the options", refuse);
  const tables = tablesOf(schema, table);
  return migrationText(migrationOf(tables, from), [
    `USAGE ON SCHEMA "${schema}" TO "${role}"`,
    `SELECT, INSERT, UPDATE, DELETE ON ${tables.flows} TO "${role}"`,
    `SELECT ON ${tables.version} TO "${role}"`,
  ]);
}

/**
 * Brings the tables to this release's version, or says why not.
 *
 * @throws {ConfigError} The tables belong to another release, have open flows of 0.3.0, are missing and may not be created, or the server
 *   could lose confirmed writes.
 */
export async function prepareTables(pool: PostgresPool, tables: PostgresTables, mayMigrate: boolean): Promise<void> {
  const { version, oldest } = await versionOf(pool, tables);
  const found = version === 0 ? "the tables are not there" : `the tables have version ${version}`;
  const refuse = (what: string) => new ConfigError(`PostgresJournal: ${found}, ${what}`);
  if (version > newest && !(oldest <= newest)) {
    throw refuse(
      `only version ${oldest} or newer may write to them, and this release has ${newest}. Use a newer release.`,
    );
  }
  if (version !== 0 && version < earlier) throw outdated("PostgresJournal", found);
  if (version < newest && !mayMigrate) {
    throw refuse(
      `this release needs version ${newest} in the schema "${tables.schema}", and migrate is false. ` +
        `PostgresJournal.schema({ from: ${version} }) returns the SQL that makes them.`,
    );
  }
  if (version === earlier) await assertNoneOpen(pool, tables);
  if (version < newest) await migrate(pool, migrationOf(tables, version));
  await assertKept(pool, tables);
}

async function versionOf(pool: PostgresPool, { schema, name, version }: PostgresTables) {
  const { length } = (await pool.query(selectTable(schema, `${name}_version`))).rows;
  const row = length === 0 ? undefined : (await pool.query(`SELECT * FROM ${version}`)).rows[0];
  return { version: Number(Object(row).version ?? 0), oldest: Number(Object(row).oldest_writer) };
}

/** The migration looks again, under the lock. */
async function assertNoneOpen(pool: PostgresPool, { flows }: PostgresTables): Promise<void> {
  const { rows } = await pool.query(`SELECT key FROM ${flows} WHERE ${isOpen} ORDER BY key LIMIT 1`);
  if (rows.length === 0) return;
  throw outdated("PostgresJournal", `the flow of key ${JSON.stringify(Reflect.get(Object(rows[0]), "key"))} is open`);
}

/** Whether the server keeps what it confirms, as far as one query can tell. */
async function assertKept(pool: PostgresPool, { flows }: PostgresTables): Promise<void> {
  const { rows } = await pool.query(`SELECT pg_is_in_recovery()::int AS is_replica,
    current_setting('synchronous_commit') AS commits, (relpersistence <> 'p')::int AS is_unlogged
    FROM pg_class WHERE oid = '${flows}'::regclass`);
  const { is_replica, commits, is_unlogged } = Object(rows[0]);
  if (Number(is_replica) === 1) {
    throw new JournalError(
      "PostgresJournal could not open the journal: the server is in recovery, such as a replica. Connect to the primary: not through a pool or a proxy that splits reads from writes.",
      { code: "journal_replica" },
    );
  }
  if (["off", "local", "remote_write"].includes(String(commits))) {
    throw new ConfigError(
      `PostgresJournal: synchronous_commit is ${commits}, so the server may lose what it confirmed. Set it to on for the role: ALTER ROLE … SET synchronous_commit = on`,
    );
  }
  if (Number(is_unlogged) === 1) {
    throw new ConfigError(
      `PostgresJournal: the table ${flows} is UNLOGGED, so that a crash of the server empties it: ALTER TABLE ${flows} SET LOGGED`,
    );
  }
}

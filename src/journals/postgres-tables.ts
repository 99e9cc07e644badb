import { sleep } from "../core/clock.js";
import { ConfigError } from "../core/errors.js";
import { type CheckTable, parseOptions } from "../core/parse.js";
import { assertKnownVersion, earlier, newest, openFlow } from "./journal-version.js";
import { onConnection, type PostgresConnection, type PostgresPool } from "./postgres-connection.js";
import { sqlStateOf } from "./postgres-failure.js";
import { assertPostgresNames } from "./postgres-names.js";

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

export function tablesOf(schema: string, table: string): PostgresTables {
  assertPostgresNames("PostgresJournal", { schema, table });
  const versionName = `${table}_version`;
  return {
    schema,
    flows: `"${schema}"."${table}"`,
    version: `"${schema}"."${versionName}"`,
    versionName,
    indexPrefix: table,
  };
}

// No index has a column that changes while a flow is not settled, so that PostgreSQL need not touch any index then.
const newTables = ({ flows, indexPrefix }: PostgresTables): string => `
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
    CREATE INDEX "${indexPrefix}_unsettled" ON ${flows} (key) WHERE NOT settled;
    CREATE INDEX "${indexPrefix}_settled" ON ${flows} (settled_phase, key) WHERE settled_phase IS NOT NULL;
    -- States are long, and the default takes several times as long to compress them. Servers before 14 have no other, and some are built without it.
    DO $$ BEGIN
      EXECUTE 'ALTER TABLE ${flows} ALTER COLUMN data SET COMPRESSION lz4';
    EXCEPTION WHEN syntax_error OR feature_not_supported OR invalid_parameter_value THEN
      NULL;
    END $$;`;

/** Without the lock, a process of release 0.3.0 could begin a flow meanwhile; without these columns, it can store nothing any more. */
const isOpen = "NOT settled AND pruned_at IS NULL";
const locked = ({ flows }: PostgresTables): string => `
    SET LOCAL lock_timeout = '2s';
    LOCK TABLE ${flows} IN ACCESS EXCLUSIVE MODE;`;

/** The service of release 0.3.0 was the base URL. */
const fromEarlier = ({ flows }: PostgresTables): string => `
    DELETE FROM ${flows} WHERE settled_phase = 'quoted';
    UPDATE ${flows} SET service = split_part(split_part(service, '://', 2), '/', 1) WHERE service LIKE '%://%';
    ALTER TABLE ${flows}
      DROP COLUMN evidence,
      DROP COLUMN lease_ms,
      DROP COLUMN lease_nonce,
      DROP COLUMN incarnation_mark;`;

/** For an administrator, whose transaction ends here if a flow is open. */
const refusal = ({ flows }: PostgresTables): string => `
    DO $$ BEGIN
      IF EXISTS (SELECT FROM ${flows} WHERE ${isOpen}) THEN
        RAISE EXCEPTION 'flows of release 0.3.0 are open: finish them with that release first';
      END IF;
    END $$;`;

export interface PostgresSchemaOptions {
  /** Letters, digits and underscores. Default: `public`. */
  readonly schema?: string;
  /** Letters, digits and underscores. Default: `cross_border_flows`. */
  readonly table?: string;
  /** The database role of the services that open the journal: it is granted what they need, and no more. Default: `payments`. */
  readonly role?: string;
  /** The version of the tables that are there: 3, or 0 if there are none. Default: 0. */
  readonly from?: number;
}

// `tablesOf` and `assertPostgresNames` check it.
const name = { accepts: () => true, wanted: "a name" };
const schemaOptions: CheckTable<PostgresSchemaOptions> = {
  schema: name,
  table: name,
  role: name,
  from: {
    accepts: (value) => value === 0 || value === earlier || value === newest,
    wanted: `0, ${earlier}, or ${newest}`,
  },
};

/** Where all tables are published for logical replication, a row is deleted only from one that has an identity or a key. */
function publishable({ version }: PostgresTables): string {
  return `ALTER TABLE ${version} REPLICA IDENTITY FULL`;
}

/** What a database administrator runs, in one transaction, for services that open the journal with `migrate: false`. */
export function schemaText(options: PostgresSchemaOptions = {}): string {
  const refuse = (message: string) => new ConfigError(`PostgresJournal: ${message}`);
  const read: PostgresSchemaOptions = parseOptions(schemaOptions, options, "the options", refuse);
  const { schema = "public", table = "cross_border_flows", role = "payments", from = 0 } = read;
  const tables = tablesOf(schema, table);
  assertPostgresNames("PostgresJournal", { role });
  const create = [
    `CREATE SCHEMA IF NOT EXISTS "${schema}";`,
    `CREATE TABLE ${tables.version} (version integer NOT NULL);`,
  ];
  const migration = from === earlier ? [locked, refusal, fromEarlier] : [];
  const pending = from === 0 ? [newTables] : migration;
  const statements = [
    "BEGIN;",
    ...(from === 0 ? create : []),
    ...pending.map((part) => part(tables).replace(/^\n|^ {4}/gm, "")),
    `${publishable(tables)};`,
    `DELETE FROM ${tables.version};`,
    `INSERT INTO ${tables.version} (version) VALUES (${newest});`,
    `GRANT USAGE ON SCHEMA "${schema}" TO "${role}";`,
    `GRANT SELECT, INSERT, UPDATE, DELETE ON ${tables.flows} TO "${role}";`,
    `GRANT SELECT ON ${tables.version} TO "${role}";`,
    "COMMIT;",
  ];
  return `${statements.join("\n")}\n`;
}

/** @throws {ConfigError} when the tables are not there, or are not this release's. */
export async function assertMigrated(pool: PostgresPool, tables: PostgresTables): Promise<void> {
  const version = await versionOf(pool, tables);
  if (version === newest) return;
  const present = version === 0 ? "are not there" : `have version ${version}`;
  throw new ConfigError(
    `PostgresJournal: the tables in the schema "${tables.schema}" ${present}, this release of cross-border-payments needs ` +
      `version ${newest}, and migrate is false. PostgresJournal.schema({ from: ${version} }) returns the SQL that makes them.`,
  );
}

/** @throws {ConfigError} when the server may lose the flows, or leave them out of what it changes, without a failure. */
export async function assertKept(pool: PostgresPool, { flows }: PostgresTables): Promise<void> {
  // As numbers: a program may have booleans read as it likes.
  const ask = async (flags: string): Promise<Readonly<Record<string, unknown>>> =>
    Object((await pool.query(`SELECT ${flags} FROM pg_class WHERE oid = '${flows}'::regclass`)).rows[0]);
  const { is_unlogged, is_secured } = await ask(
    `EXISTS (WITH RECURSIVE parts AS (SELECT '${flows}'::regclass::oid AS oid UNION SELECT inhrelid FROM pg_inherits JOIN parts ON inhparent = parts.oid)
      SELECT 1 FROM parts JOIN pg_class USING (oid) WHERE relpersistence <> 'p')::int AS is_unlogged, relrowsecurity::int AS is_secured`,
  );
  if (Number(is_unlogged) === 1) {
    throw new ConfigError(
      `PostgresJournal: the table ${flows}, or a partition of it, is UNLOGGED, so that a crash of the server empties it: ALTER TABLE ${flows} SET LOGGED`,
    );
  }
  // Its function is not there on every server that speaks PostgreSQL's protocol.
  if (Number(is_secured) !== 1) return;
  const { is_active } = await ask("row_security_active(oid)::int AS is_active");
  if (Number(is_active) !== 1) return;
  throw new ConfigError(
    `PostgresJournal: row-level security may hide rows of ${flows} from this role, and what is not done then looks like another's flow: ` +
      "disable it on the table, or give the role BYPASSRLS",
  );
}

/** Creates the tables, or migrates them to this release's version. Each migration runs once, however many processes start at once. */
export async function migrate(pool: PostgresPool, tables: PostgresTables): Promise<void> {
  // A role that may only read and write rows can open a journal that is up to date.
  if ((await versionOf(pool, tables)) === newest) return;
  for (let attempt = 1; ; attempt += 1) {
    try {
      return await onConnection(pool, async (connection) => {
        // A stricter level would show the tables as they were before this process waited for the lock.
        await connection.query("BEGIN ISOLATION LEVEL READ COMMITTED");
        await migrateAlone(connection, tables);
        await connection.query("COMMIT");
      });
    } catch (error) {
      // Such as while a backup reads the table. Whoever waits for its lock keeps all others waiting, so it waits a little, and often.
      if (sqlStateOf(error) !== "55P03" || attempt === mostLockAttempts) throw error;
    }
    await sleep(500);
  }
}

const mostLockAttempts = 10;

async function migrateAlone(connection: PostgresConnection, tables: PostgresTables): Promise<void> {
  await connection.query("SELECT pg_advisory_xact_lock(hashtextextended($1, 0))", [
    `cross-border-payments ${tables.flows}`,
  ]);
  const version = await versionOf(connection, tables);
  if (version === newest) return;
  if (version === earlier) {
    await connection.query(locked(tables));
    await assertNoneOpen(connection, tables);
    await connection.query(fromEarlier(tables));
  } else {
    const schemas = await connection.query("SELECT 1 FROM pg_namespace WHERE nspname = $1", [tables.schema]);
    if (schemas.rows.length === 0) await connection.query(`CREATE SCHEMA "${tables.schema}"`);
    await connection.query(`CREATE TABLE IF NOT EXISTS ${tables.version} (version integer NOT NULL)`);
    await connection.query(newTables(tables));
  }
  await connection.query(publishable(tables));
  await connection.query(`DELETE FROM ${tables.version}`);
  await connection.query(`INSERT INTO ${tables.version} (version) VALUES ($1)`, [newest]);
}

/** @throws {ConfigError} `journal_outdated` */
async function assertNoneOpen(connection: PostgresConnection, { flows }: PostgresTables): Promise<void> {
  const { rows } = await connection.query(`SELECT key FROM ${flows} WHERE ${isOpen} ORDER BY key LIMIT 1`);
  if (rows.length > 0) throw openFlow("PostgresJournal", String(Reflect.get(Object(rows[0]), "key")));
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
  assertKnownVersion("PostgresJournal", version);
  return version;
}

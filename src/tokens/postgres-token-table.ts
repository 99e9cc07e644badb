import { assertPostgresNames } from "../journals/postgres-names.js";
import { maxStoredLength } from "./token-cipher.js";

/** The table of the store. */
export interface TokenTable {
  readonly schema: string;
  /** Unquoted, without its schema. */
  readonly name: string;
  /** Quoted for SQL. */
  readonly quoted: string;
}

/** @throws {ConfigError} when a name could not stand in SQL as it is. */
export function tokenTableOf(schema: string, name: string): TokenTable {
  assertPostgresNames("PostgresTokenStore", { schema, table: name });
  return { schema, name, quoted: `"${schema}"."${name}"` };
}

/** What a database administrator runs for processes that may not create tables. */
export function tokenTableText(table: TokenTable, role: string): string {
  assertPostgresNames("PostgresTokenStore", { role });
  const statements = [
    "BEGIN;",
    `CREATE SCHEMA IF NOT EXISTS "${table.schema}";`,
    `${creation(table)};`,
    `GRANT USAGE ON SCHEMA "${table.schema}" TO "${role}";`,
    `GRANT SELECT, INSERT, UPDATE, DELETE ON ${table.quoted} TO "${role}";`,
    "COMMIT;",
  ];
  return `${statements.join("\n")}\n`;
}

/** A row has a value, a lock, or both. A value or a lock whose time is over counts as none. */
export function tokenStatements(table: TokenTable) {
  const { schema, name, quoted } = table;
  return {
    exists:
      "SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname = $2",
    // Of many processes that start at once, one creates it: CREATE TABLE IF NOT EXISTS alone fails for the others.
    create: `
      DO $$ BEGIN
        PERFORM pg_advisory_xact_lock(hashtextextended('cross-border-payments ${schema}.${name}', 0));
        IF NOT EXISTS (SELECT 1 FROM pg_namespace WHERE nspname = '${schema}') THEN
          CREATE SCHEMA "${schema}";
        END IF;
        ${creation(table)};
      END $$`,
    get: `
      SELECT value FROM ${quoted}
      WHERE key = $1 AND octet_length(value) <= ${maxStoredLength} AND expires_at > clock_timestamp()`,
    insert: `
      INSERT INTO ${quoted} AS stored (key, value, expires_at) VALUES ($1, $2, ${after("$3")})
      ON CONFLICT (key) DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at
        WHERE stored.value IS NULL OR octet_length(stored.value) > ${maxStoredLength}
          OR stored.expires_at <= clock_timestamp()
      RETURNING 1`,
    replace: `
      UPDATE ${quoted} SET value = $2, expires_at = ${after("$3")}
      WHERE key = $1 AND value = $4 AND expires_at > clock_timestamp()
      RETURNING 1`,
    lock: `
      INSERT INTO ${quoted} AS stored (key, lock_owner, locked_until) VALUES ($1, $2, ${after("$3")})
      ON CONFLICT (key) DO UPDATE SET lock_owner = excluded.lock_owner, locked_until = excluded.locked_until
        WHERE stored.lock_owner IS NULL OR stored.lock_owner = excluded.lock_owner
          OR stored.locked_until <= clock_timestamp()
      RETURNING 1`,
    unlock: `UPDATE ${quoted} SET lock_owner = NULL, locked_until = NULL WHERE key = $1 AND lock_owner = $2`,
    prune: `
      DELETE FROM ${quoted}
      WHERE coalesce(greatest(expires_at, locked_until), '-infinity') < clock_timestamp() - interval '1 day'`,
  };
}

function creation({ quoted }: TokenTable): string {
  return `CREATE TABLE IF NOT EXISTS ${quoted} (
  key text COLLATE "C" NOT NULL PRIMARY KEY,
  value text COLLATE "C",
  expires_at timestamptz,
  lock_owner text COLLATE "C",
  locked_until timestamptz
)`;
}

function after(milliseconds: string): string {
  return `clock_timestamp() + ${milliseconds}::double precision * interval '1 millisecond'`;
}

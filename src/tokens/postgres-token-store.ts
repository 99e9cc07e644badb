import type { StoredToken, TokenStore } from "../auth/token-store.js";
import { clock } from "../core/clock.js";
import { ConfigError } from "../core/errors.js";
import { type CheckTable, isFunction, parseOptions } from "../core/parse.js";
import { retrying, tokenStoreFailure } from "../journals/postgres-failure.js";
import {
  isSingleClient,
  type Migration,
  migrate,
  migrationText,
  postgresName,
  selectTable,
} from "../journals/postgres-migrate.js";
import { EncryptedTexts, encryptionKeyOption, type ServerTexts, type TokenEncryptionKey } from "./encrypted-texts.js";

export type { TokenEncryptionKey } from "./encrypted-texts.js";

/** The `Pool` of `pg`, or one like it. */
export interface TokenStorePool {
  query(text: string, values?: (string | number | boolean | null)[]): Promise<{ readonly rows: unknown[] }>;
}

export interface PostgresTokenStoreOptions {
  /**
   * A `Pool` of `pg`, or one like it, only for this store. You are responsible for its size, its timeouts, its `error` listener, and
   * closing it. Its `query_timeout` should be 2 s or less.
   */
  readonly pool: TokenStorePool;
  /** 32 random bytes, plain or in Base64. After a change of the key, there is one login. */
  readonly encryptionKey: TokenEncryptionKey;
  /** Letters, digits and underscores. Default: `public`. */
  readonly schema?: string;
  /** Letters, digits and underscores. Default: `cross_border_tokens`. */
  readonly table?: string;
}

export interface TokenSchemaOptions {
  /** Default: `public`. */
  readonly schema?: string;
  /** Default: `cross_border_tokens`. */
  readonly table?: string;
  /** The database role of the processes, which is granted only what they need. Default: `payments`. */
  readonly role?: string;
}

const refuse = (message: string) => new ConfigError(`PostgresTokenStore: ${message}`);
const schemaOptions: CheckTable<TokenSchemaOptions> = { schema: postgresName, table: postgresName, role: postgresName };
const storeOptions: CheckTable<PostgresTokenStoreOptions> = {
  pool: {
    accepts: (value) => isFunction(Reflect.get(Object(value), "query")) && !isSingleClient(value),
    expected: "a Pool of pg (not a Client), or one like it with a method query",
    isRequired: true,
  },
  encryptionKey: encryptionKeyOption,
  schema: postgresName,
  table: postgresName,
};

/** How often sessions that ended long ago are deleted. It reads the whole table. */
const pruneEveryMs = 3_600_000;

/**
 * A token store in a PostgreSQL table. The first use creates the table if it's missing. Values are encrypted with AES-256-GCM and bound
 * to their keys. Times run on the database's clock.
 */
export class PostgresTokenStore implements TokenStore {
  readonly #query: Query;
  readonly #statements: ReturnType<typeof statementsOf>;
  readonly #texts: EncryptedTexts;
  #pruneAtMs = 0;

  /** @throws {ConfigError} that names the option. */
  constructor(options: PostgresTokenStoreOptions) {
    const read = parseOptions<PostgresTokenStoreOptions>(storeOptions, options, "the options", refuse);
    const { pool, encryptionKey, schema = "public", table = "cross_border_tokens" } = read;
    const query = queryOf(pool, schema, table);
    const statements = statementsOf(`"${schema}"."${table}"`);
    this.#query = query;
    this.#statements = statements;
    const texts: ServerTexts = {
      get: async (key) => (await query(statements.get, [key]))[0]?.value,
      put: async (key, text, ttlMs, expected) =>
        (await query(statements.put, [key, text, ttlMs, expected ?? null])).length > 0,
    };
    this.#texts = new EncryptedTexts(texts, encryptionKey);
  }

  /**
   * SQL that creates the table and grants a role what the store needs, for a database administrator if the processes may not create
   * tables.
   *
   * @throws {ConfigError} if a name is malformed.
   */
  static schema(options: TokenSchemaOptions = {}): string {
    const read: TokenSchemaOptions = parseOptions(schemaOptions, options, "the options", refuse);
    const { schema = "public", table = "cross_border_tokens", role = "payments" } = read;
    return migrationText(creation(schema, table), [
      `USAGE ON SCHEMA "${schema}" TO "${role}"`,
      `SELECT, INSERT, UPDATE, DELETE ON "${schema}"."${table}" TO "${role}"`,
    ]);
  }

  read(key: string): Promise<StoredToken | undefined> {
    return this.#texts.read(key);
  }

  async lock(key: string, owner: string, ms: number): Promise<boolean> {
    return (await this.#query(this.#statements.lock, [key, owner, ms])).length > 0;
  }

  async unlock(key: string, owner: string): Promise<void> {
    await this.#query(this.#statements.unlock, [key, owner]);
  }

  write(key: string, value: string, ttlMs: number, version: string | undefined): Promise<boolean> {
    if (clock.monotonicMs() >= this.#pruneAtMs) {
      this.#pruneAtMs = clock.monotonicMs() + pruneEveryMs;
      this.#query(this.#statements.prune, []).catch(() => {});
    }
    return this.#texts.write(key, value, ttlMs, version);
  }
}

type Query = (statement: string, values: (string | number | null)[]) => Promise<{ readonly value?: string }[]>;

/** Queries the table, and creates it first if it's missing. A role that may only read and write rows can use an existing one. */
function queryOf(pool: TokenStorePool, schema: string, table: string): Query {
  let created: Promise<void> | undefined;
  const create = async () => {
    const { rows } = await pool.query(selectTable(schema, table));
    if (rows.length === 0) await migrate(pool, creation(schema, table));
  };
  return async (statement, values) => {
    try {
      created ??= create();
      await created.catch((error: unknown) => {
        created = undefined;
        throw error;
      });
      const { rows } = await retrying(() => pool.query(statement, values));
      return rows as { readonly value?: string }[];
    } catch (error) {
      throw tokenStoreFailure(error);
    }
  };
}

function creation(schema: string, name: string): Migration {
  const table = `"${schema}"."${name}"`;
  const steps = `  CREATE TABLE IF NOT EXISTS ${table} (
    key text COLLATE "C" NOT NULL PRIMARY KEY,
    value text COLLATE "C",
    expires_at timestamptz,
    lock_owner text COLLATE "C",
    locked_until timestamptz
  );`;
  return { schema, table, steps };
}

/** A row has a value, a lock, or both. An expired value or lock counts as none. */
function statementsOf(table: string) {
  const until = "clock_timestamp() + $3::double precision * interval '1 millisecond'";
  return {
    get: `SELECT value FROM ${table} WHERE key = $1 AND expires_at > clock_timestamp()`,
    // The current value must be $4, or there must be none.
    put: `
      INSERT INTO ${table} AS stored (key, value, expires_at)
      SELECT $1, $2, ${until} WHERE $4::text IS NULL OR EXISTS (SELECT FROM ${table} WHERE key = $1)
      ON CONFLICT (key) DO UPDATE SET value = excluded.value, expires_at = excluded.expires_at
        WHERE CASE WHEN stored.expires_at > clock_timestamp() THEN stored.value END IS NOT DISTINCT FROM $4
      RETURNING 1`,
    lock: `
      INSERT INTO ${table} AS stored (key, lock_owner, locked_until) VALUES ($1, $2, ${until})
      ON CONFLICT (key) DO UPDATE SET lock_owner = excluded.lock_owner, locked_until = excluded.locked_until
        WHERE stored.lock_owner IS NULL OR stored.lock_owner = excluded.lock_owner
          OR stored.locked_until <= clock_timestamp()
      RETURNING 1`,
    unlock: `UPDATE ${table} SET lock_owner = NULL, locked_until = NULL WHERE key = $1 AND lock_owner = $2`,
    prune: `
      DELETE FROM ${table}
      WHERE coalesce(greatest(expires_at, locked_until), '-infinity') < clock_timestamp() - interval '1 day'`,
  };
}

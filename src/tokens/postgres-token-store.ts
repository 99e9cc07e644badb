import type { StoredToken, TokenStore } from "../auth/token-store.js";
import { clock } from "../core/clock.js";
import { ConfigError } from "../core/errors.js";
import { type CheckTable, isFunction, parseOptions } from "../core/parse.js";
import { outsideTransactions, type PostgresPool } from "../journals/postgres-connection.js";
import {
  isRolledBack,
  isSingleClient,
  maxAttempts,
  sqlStateOf,
  tokenStoreFailure,
} from "../journals/postgres-failure.js";
import { EncryptedTexts } from "./encrypted-texts.js";
import { type TokenTable, tokenStatements, tokenTableOf, tokenTableText } from "./postgres-token-table.js";
import type { TokenEncryptionKey } from "./token-cipher.js";

export type { TokenEncryptionKey } from "./token-cipher.js";

/** What the store needs of a pool: `Pool` of `pg`, or one like it. */
export interface TokenStorePool {
  query(text: string, values?: (string | number | boolean | null)[]): Promise<{ readonly rows: unknown[] }>;
}

export interface PostgresTokenStoreOptions {
  /**
   * A pool of `pg`, or one like it. The caller remains responsible for it: its size, its timeouts, its `error` listener, and closing
   * it. Set a `query_timeout` of 2 s or less on it. With `pg` 8.21 or newer, nothing is sent on a connection on which somebody has left a
   * transaction open.
   */
  readonly pool: TokenStorePool;
  /** 32 random bytes, as they are or in Base64. Where it is another one than that of a stored session, there is one login. */
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
  /** The database role of the processes: it is granted what they need, and no more. Default: `payments`. */
  readonly role?: string;
}

/**
 * A token store in a PostgreSQL table, which is created with the first use where it is missing. Values are encrypted with AES-256-GCM and
 * bound to their keys. Times run on the database's clock.
 */
export class PostgresTokenStore implements TokenStore {
  readonly #pool: TokenStorePool;
  readonly #table: TokenTable;
  readonly #statements: ReturnType<typeof tokenStatements>;
  readonly #texts: EncryptedTexts;
  #created: Promise<void> | undefined;
  #pruneAtMs = 0;

  /** @throws {ConfigError} an option is not what is described. */
  constructor(options: PostgresTokenStoreOptions) {
    // Of their types when the table has accepted them.
    const read = parseOptions(storeOptions, options, "the options", refuse) as unknown as PostgresTokenStoreOptions;
    const { pool, encryptionKey, schema = "public", table = "cross_border_tokens" } = read;
    this.#pool = isOfPg(pool) ? outsideTransactions(pool, inTransaction) : pool;
    this.#table = tokenTableOf(schema, table);
    this.#statements = tokenStatements(this.#table);
    const texts = {
      get: (key: string) => this.#get(key),
      put: (key: string, text: string, ttlMs: number, expected: string | undefined) =>
        this.#put(key, text, ttlMs, expected),
    };
    this.#texts = new EncryptedTexts(texts, encryptionKey, "PostgresTokenStore");
  }

  /**
   * SQL text that creates the table and grants a role what the store needs. For a database administrator, where the processes may not
   * create tables.
   *
   * @throws {ConfigError} A name is malformed.
   */
  static schema(options: TokenSchemaOptions = {}): string {
    const read: TokenSchemaOptions = parseOptions(schemaOptions, options, "the options", refuse);
    const { schema = "public", table = "cross_border_tokens", role = "payments" } = read;
    return tokenTableText(tokenTableOf(schema, table), role);
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
    return this.#texts.write(key, value, ttlMs, version);
  }

  async #get(key: string): Promise<string | undefined> {
    const [row] = await this.#query(this.#statements.get, [key]);
    const value: unknown = Reflect.get(Object(row), "value");
    return typeof value === "string" ? value : undefined;
  }

  async #put(key: string, text: string, ttlMs: number, expected: string | undefined): Promise<boolean> {
    const { insert, replace } = this.#statements;
    const values = [key, text, ttlMs];
    if (expected !== undefined) return (await this.#query(replace, [...values, expected])).length > 0;
    const isStored = (await this.#query(insert, values)).length > 0;
    if (!isStored || clock.monotonicMs() < this.#pruneAtMs) return isStored;
    // Sessions that ended long ago. It reads the whole table, so a login seldom does it.
    this.#pruneAtMs = clock.monotonicMs() + 3_600_000;
    this.#query(this.#statements.prune, []).catch(() => {});
    return true;
  }

  async #query(statement: string, values: (string | number)[]): Promise<unknown[]> {
    for (let attempt = 1; ; attempt++) {
      this.#created ??= this.#create().catch((error: unknown) => {
        this.#created = undefined;
        throw tokenStoreFailure(error);
      });
      await this.#created;
      try {
        return (await this.#pool.query(statement, values)).rows;
      } catch (error) {
        // The table is gone, as where the database was restored from before it.
        const isGone = sqlStateOf(error) === "42P01";
        if (isGone) this.#created = undefined;
        if (!(isGone || isRolledBack(error)) || attempt === maxAttempts) throw tokenStoreFailure(error);
      }
    }
  }

  /** A role that may only read and write rows can use a table that is there. */
  async #create(): Promise<void> {
    const { schema, name } = this.#table;
    const { rows } = await this.#pool.query(this.#statements.exists, [schema, name]);
    if (rows.length === 0) await this.#pool.query(this.#statements.create);
  }
}

const refuse = (message: string) => new ConfigError(`PostgresTokenStore: ${message}`);
const isOfPg = (pool: TokenStorePool): pool is PostgresPool => "totalCount" in pool;
// A mark that is rolled back lets a refresh token be sent again.
const inTransaction = (message: string) => Object.assign(new Error(message), { code: "IN_TRANSACTION" });
// `tokenTableOf` and `tokenTableText` check names, as they check those of the journal's tables.
const name = { accepts: () => true, wanted: "a name" };
const schemaOptions: CheckTable<TokenSchemaOptions> = { schema: name, table: name, role: name };
const storeOptions: CheckTable<PostgresTokenStoreOptions> = {
  pool: {
    accepts: (value) => isFunction(Reflect.get(Object(value), "query")) && !isSingleClient(value),
    wanted: "a Pool of pg (not a Client), or one like it with a method query",
    isRequired: true,
  },
  // `TokenCipher` checks it.
  encryptionKey: { accepts: () => true, wanted: "a key" },
  schema: name,
  table: name,
};

import { ConfigError } from "../errors/errors.js";

/** What a journal needs of a pool: `Pool` of `pg`, or one like it. */
export interface PostgresPool {
  query(text: string, values?: (string | number | boolean | null)[]): Promise<{ readonly rows: unknown[] }>;
  connect(): Promise<PostgresConnection>;
}

export interface PostgresConnection {
  query(text: string, values?: (string | number | boolean | null)[]): Promise<{ readonly rows: unknown[] }>;
  /** With `true`, the connection is closed instead of used again. */
  release(destroy?: boolean): void;
}

export interface OwnPool {
  readonly pool: PostgresPool;
  readonly close: () => Promise<void>;
}

/** A pool of `pg`, which is loaded here and only here. `timeoutMs` bounds connecting and each statement. */
export async function openPool(url: string, timeoutMs: number): Promise<OwnPool> {
  assertUrl(url);
  const { Pool } = await loadPg();
  const pool = new Pool({
    connectionString: url,
    connectionTimeoutMillis: timeoutMs,
    query_timeout: timeoutMs,
    keepAlive: true,
    fallback_application_name: "cross-border-payments",
  });
  // The pool drops an idle connection that breaks; without a listener, the error would end the process.
  pool.on("error", () => {});
  return { pool, close: () => pool.end() };
}

async function loadPg(): Promise<Pick<typeof import("pg"), "Pool">> {
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

// A URL that can't be parsed is not shown: nobody can tell which part of it is the password.
function assertUrl(url: string): void {
  const isUrl = URL.canParse(url) && /^postgres(?:ql)?:$/.test(new URL(url).protocol);
  if (!isUrl)
    throw new ConfigError("PostgresJournal: the URL must be of the form postgresql://user:password@host:5432/database");
}

import { createHash } from "node:crypto";
import type { Pool, PoolClient, QueryResult } from "pg";
import { ConfigError, JournalError } from "../core/errors.js";
import { onConnection, outsideTransactions, type PostgresPool } from "./postgres-connection.js";
import { sqlStateOf } from "./postgres-failure.js";

type Query = PostgresPool["query"];

export interface OpenedPool {
  /** For work on one connection, such as a migration. */
  readonly pool: PostgresPool;
  readonly query: Query;
  /** For statements that are sent again and again: prepared, where that is safe. */
  readonly queryOften: Query;
  readonly close: () => Promise<void>;
}

/** A pool of somebody else's. What its connections lead to is not known, so that nothing is prepared on them. */
export function foreignPool(given: PostgresPool): OpenedPool {
  const pool = outsideTransactions(
    given,
    (message, stored) =>
      new JournalError(`PostgresJournal: ${message} Give the journal a URL, or a pool of its own.`, { stored }),
  );
  return { pool, query: pool.query, queryOften: pool.query, close: async () => {} };
}

/** A pool of `pg`, which is loaded here and only here. `timeoutMs` bounds connecting and each statement. */
export async function openPool(url: string, timeoutMs: number): Promise<OpenedPool> {
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
  // So does one that breaks while it is used, beside the failure of its statement.
  pool.on("connect", (client) => client.on("error", () => {}));
  // One that is closed waits for the server to close it too, which may never come. The pool takes this back for one that is used again.
  pool.on("release", (_, client) => Object(client).unref?.());
  return { pool, ...queries(pool, timeoutMs), close: () => pool.end() };
}

/**
 * Sends statements on connections that are set up where they lead to one server process. Those that are sent often have a name, so that the server
 * parses and plans them once for each connection. A pooler may give each of them to another
 * server process, where the name means nothing: then they are sent as they are.
 */
function queries(pool: Pool, timeoutMs: number): Pick<OpenedPool, "query" | "queryOften"> {
  const names = new Map<string, string>();
  const direct = new WeakMap<PoolClient, boolean>();
  let mayPrepare = true;
  const send = (isPrepared: boolean, text: string, values: Parameters<Query>[1] = []) =>
    onConnection<QueryResult, PoolClient>(pool, async (client) => {
      const isOfOneProcess = await isDirect(client);
      if (!isPrepared || !isOfOneProcess) return client.query(text, values);
      const name = names.get(text) ?? nameOf(text);
      names.set(text, name);
      return client.query({ name, text, values });
    });
  const isDirect = async (client: PoolClient): Promise<boolean> => {
    const known = direct.get(client);
    if (known !== undefined) return known;
    const { rows } = await client.query("SELECT pg_backend_pid() AS pid");
    // Which process the connection was told that it leads to. A pooler tells of none, or of one of its own.
    const found = Reflect.get(client, "processID") === rows[0]?.pid;
    if (found) await client.query(settings, [timeoutMs]);
    direct.set(client, found);
    return found;
  };
  const queryOften: Query = async (text, values) => {
    try {
      return await send(mayPrepare, text, values);
    } catch (error) {
      if (!mayPrepare || !isOfPreparing.test(sqlStateOf(error) ?? "")) throw error;
      mayPrepare = false;
      return send(false, text, values);
    }
  };
  return { query: (text, values) => send(false, text, values), queryOften };
}

/**
 * A plan that is kept has to fit the table when it has grown too. And a server goes on with a statement whose client has given up, as while another
 * has the table locked: connections would be opened beside it until it takes no more. A shorter timeout stays.
 */
const settings = `SELECT set_config('enable_seqscan', 'off', false),
  set_config('statement_timeout', least(nullif(setting::bigint, 0), $1::bigint)::text, false)
  FROM pg_settings WHERE name = 'statement_timeout'`;

/** A pooler may lead to a server process that knows the name already: from another journal, it must not be another statement. */
function nameOf(text: string): string {
  return `cross_border_${createHash("sha256").update(text).digest("hex").slice(0, 32)}`;
}

/** The server knows no statement of that name, or another one, or its result would have other columns. Nothing was executed. */
const isOfPreparing = /^(?:26000|42P05|0A000)$/;

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
    throw new ConfigError(
      "PostgresJournal: the URL must be of the form postgresql://host:5432/database, with user:password@ before the host",
    );
}

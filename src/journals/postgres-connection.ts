import { isOfReplica } from "./postgres-failure.js";

/** What a journal needs of a pool: `Pool` of `pg`, or one like it. */
export interface PostgresPool {
  query(text: string, values?: (string | number | boolean | null)[]): Promise<{ readonly rows: unknown[] }>;
  connect(): Promise<PostgresConnection>;
}

export interface PostgresConnection {
  query(text: string, values?: (string | number | boolean | null)[]): Promise<{ readonly rows: unknown[] }>;
  /** With `true`, the connection is closed instead of used again. */
  release(destroy?: boolean): void;
  /** What the server said last of this connection: `T` or `E` where a transaction is open on it. Clients of `pg` 8.21 and newer can tell. */
  getTransactionStatus?(): string | null;
  on?(event: "error", listener: () => void): unknown;
  off?(event: "error", listener: () => void): unknown;
}

/**
 * A pool of somebody else's, on whose connections a transaction may be open: that may roll back what was confirmed. Where they can tell of one,
 * statements are sent on them, and otherwise by the pool itself.
 *
 * @param refuse makes the error where a transaction is open. The connection stays in the pool, since who sent `BEGIN` by `pool.query` may
 *   still send the rest.
 */
export function outsideTransactions(
  pool: PostgresPool,
  refuse: (message: string, stored: "nothing" | "unknown") => Error,
): PostgresPool {
  let canTell = true;
  const connect = async (): Promise<PostgresConnection> => {
    const connection = await pool.connect();
    const open = openTransaction(connection);
    if (!open) return connection;
    connection.release();
    throw refuse(open, "nothing");
  };
  const query: PostgresPool["query"] = async (text, values) => {
    if (!canTell) return pool.query(text, values);
    const result = await onConnection({ connect }, async (connection) => {
      canTell = connection.getTransactionStatus !== undefined;
      const result = canTell ? await connection.query(text, values) : undefined;
      // It was given back while a BEGIN was on its way.
      const open = openTransaction(connection);
      if (open) throw refuse(open, "unknown");
      return result;
    });
    return result ?? pool.query(text, values);
  };
  return { query, connect };
}

/**
 * Closes the connection where the work failed, as `pool.query` of `pg` does: a transaction that it has left is rolled back then. And one that
 * leads to a replica: by now, another may lead to the primary.
 */
export async function onConnection<T, Connection extends PostgresConnection>(
  pool: { connect(): Promise<Connection> },
  work: (connection: Connection) => Promise<T>,
): Promise<T> {
  const connection = await pool.connect();
  let mustClose = true;
  // One that breaks fails its statement too, or the next one: without a listener, it would end the process.
  connection.on?.("error", ignore);
  try {
    const result = await work(connection);
    mustClose = isOfReplica(Object(result).rows?.[0]);
    return result;
  } finally {
    connection.off?.("error", ignore);
    connection.release(mustClose);
  }
}

const ignore = (): void => {};

/** What is wrong with a connection on which a transaction is open, where it can tell. */
function openTransaction(connection: PostgresConnection): string | undefined {
  if (!isInTransaction(connection)) return undefined;
  return "a transaction is open on a connection of the pool that was passed in, and nothing would be durable. Somebody gave it back without COMMIT or ROLLBACK, or sends BEGIN by pool.query.";
}

function isInTransaction(connection: PostgresConnection): boolean {
  try {
    const status = connection.getTransactionStatus?.();
    return status === "T" || status === "E";
  } catch {
    // pg-native may be older than the pg that asks it.
    return false;
  }
}

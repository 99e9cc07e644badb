// postgres-ledger.ts
import { randomUUID } from "node:crypto";
import type { ReleaseFundsByKey, TakeFundsByKey } from "cross-border-payments/flow";
import type { Pool, PoolClient } from "pg";

/** The ledger's tables. A taking is the first answer to its key, and stays. */
export const postgresTables = `
  create table accounts (
    id text primary key,
    currency text not null,
    balance numeric not null check (balance >= 0)
  );
  create table takings (
    key text primary key,
    transaction_id text not null unique,
    account text not null,
    amount numeric not null check (amount > 0),
    status text not null check (status in ('taken', 'declined', 'released')),
    taken_at timestamptz not null default now()
  )`;

/** A gateway's own ledger in PostgreSQL: each function is one transaction. */
export class PostgresLedger {
  readonly #pool: Pool;

  constructor(pool: Pool) {
    this.#pool = pool;
  }

  readonly takeFunds: TakeFundsByKey = ({ key, intent }) =>
    this.#transaction(async (sql) => {
      const { senderAccount: account, senderAmount: amount, senderCurrency: currency } = intent;
      // Of several calls with one key the first inserts the row, and the others wait here until it has committed.
      const inserted = await sql.query(
        `insert into takings (key, transaction_id, account, amount, status)
         values ($1, $2, $3, $4, 'taken') on conflict (key) do nothing`,
        [key, `TX-${randomUUID()}`, account, amount],
      );
      const isFirst = inserted.rowCount === 1;
      if (isFirst) {
        const booked = await sql.query(
          "update accounts set balance = balance - $3 where id = $1 and currency = $2 and balance >= $3",
          [account, currency, amount],
        );
        if (booked.rowCount === 0) await sql.query("update takings set status = 'declined' where key = $1", [key]);
      }
      const { rows } = await sql.query<{ id: string; status: string; at_ms: string }>(
        `select transaction_id as id, status, floor(extract(epoch from taken_at) * 1000)::bigint as at_ms
         from takings where key = $1`,
        [key],
      );
      const [taking] = rows;
      if (taking?.status !== "taken") return null;
      return { senderGatewayTransactionId: taking.id, replayed: !isFirst, takenAtMs: Number(taking.at_ms) };
    });

  readonly releaseFunds: ReleaseFundsByKey = ({ key, senderGatewayTransactionId: id }) =>
    this.#transaction(async (sql) => {
      const released = await sql.query<{ account: string; amount: string }>(
        `update takings set status = 'released'
         where key = $1 and transaction_id = $2 and status = 'taken' returning account, amount`,
        [key, id],
      );
      for (const { account, amount } of released.rows) {
        const booked = await sql.query("update accounts set balance = balance + $2 where id = $1", [account, amount]);
        if (booked.rowCount === 0)
          throw new Error("the account that it was taken from is not there: nothing was given back");
      }
      if (released.rowCount === 1) return;
      const known = await sql.query(
        "select from takings where key = $1 and transaction_id = $2 and status = 'released'",
        [key, id],
      );
      if (known.rowCount === 0) throw new Error("the ledger knows of no such taking: nothing was given back");
    });

  async #transaction<T>(work: (sql: PoolClient) => Promise<T>): Promise<T> {
    const sql = await this.#pool.connect();
    // A connection that breaks between two statements is an event, too, which would end the process if nobody listened.
    sql.on("error", ignore);
    try {
      await sql.query("begin");
      const result = await work(sql);
      await sql.query("commit");
      sql.off("error", ignore);
      sql.release();
      return result;
    } catch (error) {
      // The connection is closed, which rolls back. Nothing is retried here: the flow calls again.
      sql.release(true);
      throw error;
    }
  }
}

/** The statement that comes next fails, and tells. */
const ignore = () => {};

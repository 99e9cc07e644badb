// sqlite-ledger.ts
import { randomUUID } from "node:crypto";
import type { ReleaseFundsByKey, TakeFundsByKey } from "cross-border-payments/flow";
import type { SqliteDatabase } from "cross-border-payments/journal/sqlite";

/** SQLite has no decimals: amounts are whole numbers of ten-thousandths. */
export const sqliteTables = `
  create table if not exists accounts (
    id text primary key,
    currency text not null,
    balance integer not null check (balance >= 0)
  ) strict;
  create table if not exists takings (
    key text primary key,
    transaction_id text not null unique,
    account text not null,
    amount integer not null check (amount > 0),
    status text not null check (status in ('taken', 'declined', 'released')),
    taken_at_ms integer not null
  ) strict`;

/** A gateway's own ledger in SQLite, by `node:sqlite` or better-sqlite3, for the processes of one machine: each function is one transaction. */
export class SqliteLedger {
  readonly #database: SqliteDatabase;

  constructor(database: SqliteDatabase) {
    this.#database = database;
    // On the disk when a transaction has ended; another process's transaction is waited for.
    database.exec("pragma journal_mode = wal; pragma synchronous = full; pragma busy_timeout = 5000");
    database.exec(sqliteTables);
  }

  readonly takeFunds: TakeFundsByKey = async ({ key, intent }) =>
    this.#transaction(() => {
      const amount = toUnits(intent.senderAmount);
      const { changes } = this.#database
        .prepare(`insert into takings values (?, ?, ?, ?, 'taken', ?) on conflict (key) do nothing`)
        .run(key, `TX-${randomUUID()}`, intent.senderAccount, amount, Date.now());
      const isFirst = Number(changes) === 1;
      if (isFirst) {
        const booked = this.#database
          .prepare("update accounts set balance = balance - ? where id = ? and currency = ? and balance >= ?")
          .run(amount, intent.senderAccount, intent.senderCurrency, amount);
        if (Number(booked.changes) === 0) {
          this.#database.prepare("update takings set status = 'declined' where key = ?").run(key);
        }
      }
      const [taking] = this.#database
        .prepare("select transaction_id as id, status, taken_at_ms as atMs from takings where key = ?")
        .all(key) as { readonly id: string; readonly status: string; readonly atMs: number }[];
      if (taking?.status !== "taken") return null;
      return { senderGatewayTransactionId: taking.id, replayed: !isFirst, takenAtMs: taking.atMs };
    });

  readonly releaseFunds: ReleaseFundsByKey = async ({ key, senderGatewayTransactionId: id }) =>
    this.#transaction(() => {
      const released = this.#database
        .prepare("update takings set status = 'released' where key = ? and transaction_id = ? and status = 'taken'")
        .run(key, id);
      if (Number(released.changes) === 1) {
        const booked = this.#database
          .prepare(
            `update accounts set balance = balance + (select amount from takings where key = ?)
             where id = (select account from takings where key = ?)`,
          )
          .run(key, key);
        if (Number(booked.changes) === 1) return;
        throw new Error("the account that it was taken from is not there: nothing was given back");
      }
      const known = this.#database
        .prepare("select 1 from takings where key = ? and transaction_id = ? and status = 'released'")
        .all(key, id);
      if (known.length === 0) throw new Error("the ledger knows of no such taking: nothing was given back");
    });

  #transaction<T>(work: () => T): T {
    // Immediate: it holds the lock for writing from its first statement, so that no other transaction comes in between.
    this.#database.exec("begin immediate");
    try {
      const result = work();
      this.#database.exec("commit");
      return result;
    } catch (error) {
      try {
        this.#database.exec("rollback");
      } catch {
        // SQLite has rolled back by itself, as it does where the disk is full.
      }
      throw error;
    }
  }
}

/** `"100.28"` is 1,002,800 ten-thousandths. */
export function toUnits(amount: string): bigint {
  const [, whole = "", fraction = ""] = /^(\d+)(?:\.(\d{1,4}))?$/.exec(amount) ?? [];
  if (whole === "") throw new Error("the ledger has no amounts with more than four decimals");
  return BigInt(whole + fraction.padEnd(4, "0"));
}

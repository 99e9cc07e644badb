import { PostgresJournal } from "cross-border-payments/journal/postgres";
import type { Pool } from "pg";
import { orderTables } from "../ledger-sql/orders.js";
import { postgresTables } from "../ledger-sql/postgres-ledger.js";

/** In order. One that was released never changes: what is to be different is a further one. */
const migrations: readonly string[] = [
  postgresTables,
  orderTables,
  `create table users (
     name text primary key check (name = lower(name)),
     role text not null check (role in ('customer', 'operator')),
     account text references accounts,
     password text not null,
     check ((role = 'customer') = (account is not null))
   );
   create table sessions (
     id_hash bytea primary key,
     user_name text not null references users on delete cascade,
     expires_at timestamptz not null
   );
   alter table orders
     add column customer text not null references users,
     add column created_at timestamptz not null default now();
   create index on orders (customer, created_at)`,
];

/** Creates the bank's tables and the journal's, or brings them up to date: once, however many processes start it. Then it may run again. */
export async function migrate(pool: Pool): Promise<void> {
  const sql = await pool.connect();
  try {
    await sql.query("begin");
    await sql.query("select pg_advisory_xact_lock(hashtextextended('bank', 0))");
    await sql.query("create table if not exists bank_version (version integer not null)");
    const from = await versionOf(sql);
    for (const migration of migrations.slice(from)) await sql.query(migration);
    await sql.query("delete from bank_version");
    await sql.query("insert into bank_version values ($1)", [Math.max(from, migrations.length)]);
    await sql.query("commit");
  } finally {
    // What was not committed is rolled back with the connection.
    sql.release(true);
  }
  await (await PostgresJournal.open(pool)).close();
}

/** @throws {Error} where this release's tables are not there. Those of a later one will do: it migrates before it replaces this one. */
export async function assertMigrated(pool: Pool): Promise<void> {
  const { rows } = await pool.query<{ found: boolean }>("select to_regclass('bank_version') is not null as found");
  const version = rows[0]?.found ? await versionOf(pool) : 0;
  if (version >= migrations.length) return;
  throw new Error(
    `the database's tables have version ${version}, and this release needs ${migrations.length}: run migrate.js of this release`,
  );
}

async function versionOf(sql: Pick<Pool, "query">): Promise<number> {
  const { rows } = await sql.query<{ version: number }>("select version from bank_version");
  return rows[0]?.version ?? 0;
}

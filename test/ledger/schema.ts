import { randomBytes } from "node:crypto";
import pg from "pg";
import { onTestFinished } from "vitest";
import { postgresTables } from "../../examples/ledger-sql/postgres-ledger.js";

export const url = process.env.CBP_POSTGRES_URL ?? "";
export const skipped = url === "" ? " (skipped: CBP_POSTGRES_URL is not set)" : "";

/** A schema with the ledger's tables, which is gone after the test, and two pools of connections to it. */
export async function openSchema() {
  const schema = `ledger_${randomBytes(6).toString("hex")}`;
  const [pool, otherPool] = [0, 1].map(
    () => new pg.Pool({ connectionString: url, options: `-c search_path=${schema}` }),
  ) as [pg.Pool, pg.Pool];
  onTestFinished(async () => {
    await pool.query(`drop schema ${schema} cascade`);
    await Promise.all([pool.end(), otherPool.end()]);
  });
  await pool.query(`create schema ${schema}`);
  await pool.query(postgresTables);
  return { pool, otherPool };
}

import { randomBytes } from "node:crypto";
import { PostgresJournal } from "cross-border-payments/journal/postgres";
import pg from "pg";
import { expect, it, onTestFinished } from "vitest";
import { postgresStatements } from "../../src/journals/postgres-statements.js";
import { tablesOf } from "../../src/journals/postgres-tables.js";
import { begin, newLease, scope, state } from "../journals/journal-fixture.js";

const url = process.env.CBP_POSTGRES_URL ?? "";
const skipped = url === "" ? " (skipped: CBP_POSTGRES_URL is not set, see test/support/postgres.sh)" : "";

it.skipIf(url === "")(
  `counts the backlog over PostgreSQL without waiting for rows that others have locked, by its indexes alone${skipped}`,
  async () => {
    const schema = `test_${randomBytes(6).toString("hex")}`;
    const admin = new pg.Pool({ connectionString: url });
    const journal = await PostgresJournal.open(url, { schema });
    onTestFinished(async () => {
      await journal.close();
      await admin.query(`DROP SCHEMA ${schema} CASCADE`);
      await admin.end();
    });
    const paid = { ...state, phase: "paid", settled: true };
    await Promise.all(
      Array.from({ length: 2_000 }, (_, index) => journal.begin(`paid-${index}`, scope, paid, newLease())),
    );
    for (const key of ["a", "b"]) await begin(journal, key);
    const other = await admin.connect();
    await other.query("BEGIN");
    await other.query(`SELECT 1 FROM ${schema}.cross_border_flows FOR UPDATE`);
    expect(await journal.backlog()).toMatchObject([{ ...scope, phase: state.phase, flows: 2, unowned: 0 }]);
    await other.query("ROLLBACK");
    other.release();
    await admin.query(`ANALYZE ${schema}.cross_border_flows`);
    const { backlog } = postgresStatements(tablesOf(schema, "cross_border_flows"), false);
    const { rows } = await admin.query(`EXPLAIN ${backlog}`);
    const plan = rows.map((row: object) => Reflect.get(row, "QUERY PLAN")).join("\n");
    expect(plan).toContain("cross_border_flows_unsettled");
    expect(plan).not.toContain("Seq Scan");
  },
);

import { randomBytes } from "node:crypto";
import { PostgresJournal } from "cross-border-payments/journal/postgres";
import { verifyJournal } from "cross-border-payments/testing";
import pg from "pg";
import { afterAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { expectMigrated } from "./expect-migrated.js";
import { begin, failure } from "./journal-fixture.js";
import { isOpen, postgresRelease03 } from "./release-0-3.js";

const url = process.env.CBP_POSTGRES_URL ?? "";

it.each([
  { schema: "a b" },
  { table: "" },
  { role: 'x"; DROP TABLE y' },
  { from: -1 },
  { from: 1 },
  { from: 5 },
  { from: 0.5 },
])("returns no SQL for the options %o", (options) => {
  expect(() => PostgresJournal.schema(options)).toThrow(expect.objectContaining({ name: "ConfigError" }));
});

it("returns SQL with the names that it is given, quoted", () => {
  const text = PostgresJournal.schema({ schema: "Bank", table: "Flows", role: "payer" });
  expect(text).toContain('CREATE TABLE "Bank"."Flows" (');
  expect(text).toContain('GRANT SELECT, INSERT, UPDATE, DELETE ON "Bank"."Flows" TO "payer";');
  expect(PostgresJournal.schema({ from: 3 })).not.toContain("CREATE TABLE");
});

describe.skipIf(url === "")("with a role that has the least grants", () => {
  const admin = new pg.Pool({ connectionString: url, max: 2 });
  afterAll(() => admin.end());
  let schema = "";
  let roleUrl = "";

  /** A role that may connect, and nothing else. */
  beforeEach(async () => {
    schema = `rights_${randomBytes(6).toString("hex")}`;
    const password = randomBytes(12).toString("hex");
    await admin.query(`CREATE ROLE ${schema} LOGIN PASSWORD '${password}'`);
    const own = new URL(url);
    own.username = schema;
    own.password = password;
    roleUrl = own.href;
    onTestFinished(async () => {
      await admin.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE; DROP OWNED BY ${schema}; DROP ROLE ${schema}`);
    });
  });
  const open = () => PostgresJournal.open(roleUrl, { schema, migrate: false });

  it("keeps the laws of a journal", async () => {
    await admin.query(PostgresJournal.schema({ schema, role: schema }));
    await verifyJournal(open, { openSecond: open, flows: 20 });
  });

  it("opens what is up to date without migrate: false too", async () => {
    await admin.query(PostgresJournal.schema({ schema, role: schema }));
    const journal = await PostgresJournal.open(roleUrl, { schema });
    await begin(journal, "k");
    await journal.close();
  });

  it("makes the same tables as a journal that may migrate", async () => {
    await admin.query(PostgresJournal.schema({ schema, role: schema }));
    const other = `${schema}_2`;
    onTestFinished(async () => void (await admin.query(`DROP SCHEMA ${other} CASCADE`)));
    await (await PostgresJournal.open(url, { schema: other })).close();
    const shape = async (of: string) =>
      (
        await admin.query(
          `SELECT table_name, column_name, data_type, is_nullable, column_default, collation_name, generation_expression
           FROM information_schema.columns WHERE table_schema = $1
           UNION ALL SELECT tablename, indexname, replace(indexdef, $1, ''), '', '', '', ''
           FROM pg_indexes WHERE schemaname = $1 ORDER BY 1, 2`,
          [of],
        )
      ).rows;
    expect(await shape(schema)).toEqual(await shape(other));
    expect((await shape(schema)).length).toBeGreaterThan(15);
  });

  it("migrates tables of release 0.3.0 by the returned SQL", async () => {
    await admin.query(postgresRelease03(schema));
    await admin.query(`GRANT USAGE ON SCHEMA ${schema} TO ${schema};
      GRANT SELECT ON ${schema}.cross_border_flows_version TO ${schema}`);
    expect(await failure(open())).toMatchObject({
      name: "ConfigError",
      message: expect.stringMatching(/have version 3.*needs version 4.*schema\(\{ from: 3 \}\)/),
    });
    await admin.query(PostgresJournal.schema({ schema, role: schema, from: 3 }));
    const journal = await open();
    onTestFinished(() => journal.close());
    await expectMigrated(journal);
  });

  it.each([true, false])("makes and migrates tables of a database that publishes all, migrate: %s", async (migrate) => {
    await admin.query(`CREATE DATABASE ${schema}`);
    const own = new URL(url);
    own.pathname = `/${schema}`;
    const database = new pg.Client({ connectionString: own.href });
    await database.connect();
    onTestFinished(async () => {
      await database.query(`DROP OWNED BY ${schema}`);
      await database.end();
      await admin.query(`DROP DATABASE ${schema}`);
    });
    await database.query("CREATE PUBLICATION everything FOR ALL TABLES");
    await database.query(postgresRelease03("old"));
    for (const [name, from] of Object.entries({ new: 0, old: 3 })) {
      if (!migrate) await database.query(PostgresJournal.schema({ schema: name, role: schema, from }));
      await (await PostgresJournal.open(own.href, { schema: name, migrate })).close();
    }
  });

  it("changes nothing by the returned SQL while flows of release 0.3.0 are open", async () => {
    await admin.query(postgresRelease03(schema));
    await admin.query(`UPDATE ${schema}.cross_border_flows ${isOpen}`);
    const administrator = await admin.connect();
    const migrated = administrator.query(PostgresJournal.schema({ schema, role: schema, from: 3 }));
    await expect(migrated).rejects.toMatchObject({ code: "P0001" });
    administrator.release(true);
    const { rows } = await admin.query(`SELECT version FROM ${schema}.cross_border_flows_version`);
    expect(rows).toEqual([{ version: 3 }]);
  });

  it("says that the tables are missing, and creates none", async () => {
    await admin.query(`CREATE SCHEMA ${schema} AUTHORIZATION ${schema}`);
    expect(await failure(open())).toMatchObject({
      name: "ConfigError",
      message: expect.stringMatching(/are not there.*PostgresJournal\.schema/),
    });
    const tables = await admin.query("SELECT 1 FROM pg_tables WHERE schemaname = $1", [schema]);
    expect(tables.rows).toEqual([]);
  });

  it("names a missing permission and a refused login", async () => {
    expect(await failure(PostgresJournal.open(roleUrl, { schema }))).toMatchObject({
      name: "JournalError",
      message: expect.stringContaining("lacks a permission (42501)"),
    });
    await admin.query(`CREATE SCHEMA ${schema}; CREATE TABLE ${schema}.cross_border_flows_version (version integer)`);
    expect(await failure(open())).toMatchObject({ message: expect.stringContaining("lacks a permission (42501)") });
    const other = new URL(roleUrl);
    other.password = "hunter2hunter2";
    const refused = await failure(PostgresJournal.open(other.href, { schema, migrate: false }));
    expect(refused).toMatchObject({ message: expect.stringContaining("or the password (28P01)") });
  });

  it.each([
    ["a crash of the server would empty", "SET UNLOGGED", /UNLOGGED.*SET LOGGED/],
    ["row-level security hides rows of", "ENABLE ROW LEVEL SECURITY", /row-level security may hide rows/],
  ])("refuses a table that %s", async (_, change, message) => {
    await admin.query(PostgresJournal.schema({ schema, role: schema }));
    await admin.query(`ALTER TABLE ${schema}.cross_border_flows ${change}`);
    expect(await failure(open())).toMatchObject({ name: "ConfigError", message: expect.stringMatching(message) });
    if (change !== "SET UNLOGGED") await (await PostgresJournal.open(url, { schema })).close();
  });

  it.each([
    ["a partition", "cross_border_flows"],
    ["a partition of a partition", "half"],
  ])("refuses a table with %s that a crash of the server would empty", async (_, parent) => {
    await admin.query(PostgresJournal.schema({ schema, role: schema }));
    const flows = `${schema}.cross_border_flows`;
    await admin.query(`ALTER TABLE ${flows} RENAME TO whole;
      CREATE TABLE ${flows} (LIKE ${schema}.whole INCLUDING GENERATED, PRIMARY KEY (key)) PARTITION BY HASH (key);
      GRANT SELECT, INSERT, UPDATE, DELETE ON ${flows} TO ${schema};
      CREATE TABLE ${schema}.logged PARTITION OF ${flows} FOR VALUES WITH (MODULUS 3, REMAINDER 0);
      CREATE TABLE ${schema}.half PARTITION OF ${flows} FOR VALUES WITH (MODULUS 3, REMAINDER 1) PARTITION BY HASH (key)`);
    await (await open()).close();
    await admin.query(
      `CREATE UNLOGGED TABLE ${schema}.lost PARTITION OF ${schema}.${parent} FOR VALUES WITH (MODULUS 3, REMAINDER 2)`,
    );
    const message = expect.stringMatching(/or a partition of it, is UNLOGGED/);
    expect(await failure(open())).toMatchObject({ name: "ConfigError", message });
  });

  it("may change rows only", async () => {
    await admin.query(PostgresJournal.schema({ schema, role: schema }));
    const pool = new pg.Pool({ connectionString: roleUrl, max: 1 });
    onTestFinished(() => pool.end());
    const flows = `${schema}.cross_border_flows`;
    for (const statement of [
      `DROP TABLE ${flows}`,
      `TRUNCATE ${flows}`,
      `ALTER TABLE ${flows} ADD COLUMN more text`,
      `CREATE INDEX ON ${flows} (owner)`,
      `CREATE TABLE ${schema}.more (id integer)`,
      `UPDATE ${flows}_version SET version = 4`,
      `DELETE FROM ${flows}_version`,
    ]) {
      expect(await failure(pool.query(statement)), statement).toMatchObject({ code: "42501" });
    }
  });
});

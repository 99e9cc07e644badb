import { randomBytes } from "node:crypto";
import { PostgresJournal } from "cross-border-payments/journal/postgres";
import { verifyJournal } from "cross-border-payments/testing";
import pg from "pg";
import { afterAll, beforeEach, describe, expect, it, onTestFinished } from "vitest";
import { begin, failure, laterVersions, newLease, refusal, scope, state } from "./journal-fixture.js";
import { postgresOf } from "./releases.js";

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
  expect(() => PostgresJournal.schema(options)).toThrow(expect.objectContaining(refusal(/^PostgresJournal: /)));
});

it("returns SQL with the names that it is given, quoted", () => {
  const text = PostgresJournal.schema({ schema: "Bank", table: "Flows", role: "payer" });
  expect(text).toContain('CREATE TABLE "Bank"."Flows" (');
  expect(text).toContain('GRANT SELECT, INSERT, UPDATE, DELETE ON "Bank"."Flows" TO "payer";');
  expect(PostgresJournal.schema({ from: 3 })).not.toContain("CREATE TABLE");
  expect(PostgresJournal.schema()).toContain('"public"."cross_border_flows" TO "payments"');
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
  const openAsAdmin = () => PostgresJournal.open(url, { schema });

  it.each(["read committed", "serializable"])(
    "makes its tables once when eight start at the same time (%s)",
    async (level) => {
      const leveled = new URL(url);
      leveled.searchParams.set("options", `-c default_transaction_isolation=${level.replace(" ", "\\ ")}`);
      const openLeveled = () => PostgresJournal.open(leveled.href, { schema });
      const journals = await Promise.all(Array.from({ length: 8 }, openLeveled));
      onTestFinished(async () => void (await Promise.all(journals.map((journal) => journal.close()))));
      expect((await admin.query(`SELECT version FROM ${schema}.cross_border_flows_version`)).rows).toEqual([
        { version: 4 },
      ]);
      const begun = await Promise.all(journals.map((journal) => journal.begin("k", scope, state, newLease())));
      expect(begun.filter(({ created }) => created)).toHaveLength(1);
    },
  );

  it.each(laterVersions)(
    "reads the version %i and the oldest writer %i: may write %s",
    async (version, oldest, mayWrite) => {
      await admin.query(PostgresJournal.schema({ schema, role: schema }));
      await admin.query(
        `UPDATE ${schema}.cross_border_flows_version SET version = ${version}, oldest_writer = ${oldest}`,
      );
      for (const openOne of [openAsAdmin, open]) {
        if (!mayWrite) {
          expect(await failure(openOne())).toMatchObject(refusal(/only version \d+ or newer.*a newer release/));
          continue;
        }
        const journal = await openOne();
        onTestFinished(() => journal.close());
        await begin(journal, openOne.name);
      }
    },
  );

  it("refuses tables of release 0.2.0, and changes nothing", async () => {
    await admin.query(postgresOf("0.3.0", schema));
    await admin.query(`UPDATE ${schema}.cross_border_flows_version SET version = 2`);
    const error = await failure(openAsAdmin());
    expect(error).toMatchObject({ name: "ConfigError", code: "journal_outdated" });
    expect(error).toMatchObject({ message: expect.stringMatching(/have version 2,/) });
    const columns = await admin.query("SELECT 1 FROM information_schema.columns WHERE table_schema = $1", [schema]);
    expect(columns.rows).toHaveLength(21);
  });

  it.each([
    ["on a server in recovery", "search_path=RECOVERY", "", { code: "journal_replica", message: /primary/ }],
    ["that a crash would empty", "", "SET UNLOGGED", { name: "ConfigError", message: /UNLOGGED.*SET LOGGED/ }],
    ["without a flush", "synchronous_commit=off", "", { name: "ConfigError", message: /synchronous_commit is off/ }],
    [
      "flushed here alone",
      "synchronous_commit=local",
      "",
      { name: "ConfigError", message: /synchronous_commit is local/ },
    ],
  ])("refuses a table %s", async (_, setting, change, { message, ...error }) => {
    await (await openAsAdmin()).close();
    if (change !== "") await admin.query(`ALTER TABLE ${schema}.cross_border_flows ${change}`);
    await admin.query(`CREATE FUNCTION ${schema}.pg_is_in_recovery() RETURNS boolean LANGUAGE sql AS 'SELECT true'`);
    const own = new URL(url);
    const options = setting.replace("RECOVERY", `${schema},pg_catalog`);
    if (setting !== "") own.searchParams.set("options", `-c ${options}`);
    const opened = await failure(PostgresJournal.open(own.href, { schema }));
    expect(opened).toMatchObject({ ...error, message: expect.stringMatching(message) });
  });

  it("keeps the laws of a journal", async () => {
    await admin.query(PostgresJournal.schema({ schema, role: schema }));
    await verifyJournal(open, { openSecond: open, flows: 20 });
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
    await admin.query(postgresOf("0.3.0", schema));
    await admin.query(`GRANT USAGE ON SCHEMA ${schema} TO ${schema};
      GRANT SELECT ON ${schema}.cross_border_flows_version TO ${schema}`);
    expect(await failure(open())).toMatchObject(refusal(/have version 3.*needs version 4.*schema\(\{ from: 3 \}\)/));
    await admin.query(PostgresJournal.schema({ schema, role: schema, from: 3 }));
    const journal = await open();
    onTestFinished(() => journal.close());
    await begin(journal, "new");
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
    await database.query(postgresOf("0.3.0", "old"));
    for (const [name, from] of Object.entries({ new: 0, old: 3 })) {
      if (!migrate) await database.query(PostgresJournal.schema({ schema: name, role: schema, from }));
      await (await PostgresJournal.open(own.href, { schema: name, migrate })).close();
    }
  });

  it("says that the tables are missing, and creates none", async () => {
    await admin.query(`CREATE SCHEMA ${schema} AUTHORIZATION ${schema}`);
    expect(await failure(open())).toMatchObject(refusal(/are not there.*PostgresJournal\.schema/));
    const tables = await admin.query("SELECT 1 FROM pg_tables WHERE schemaname = $1", [schema]);
    expect(tables.rows).toEqual([]);
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

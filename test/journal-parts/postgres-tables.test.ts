import { expect, it } from "vitest";
import { assertKept, assertMigrated, migrate, schemaText, tablesOf } from "../../src/journals/postgres-tables.js";

const tables = tablesOf("Bank", "Flows");

it("quotes the names of its tables", () => {
  expect(tables).toEqual({
    ...{ schema: "Bank", flows: '"Bank"."Flows"', version: '"Bank"."Flows_version"' },
    ...{ versionName: "Flows_version", indexPrefix: "Flows" },
  });
  expect(() => tablesOf("Bank", "1")).toThrow("PostgresJournal: table must be");
  expect(() => tablesOf("1", "Flows")).toThrow("PostgresJournal: schema must be");
});

interface Found {
  /** Of the tables, each time that it is read; 0 where there are none. */
  readonly versions: number[];
  /** Nothing where the table of versions is empty. */
  readonly isEmpty?: boolean;
  readonly hasSchema?: boolean;
  readonly open?: string;
}

/** A server with tables of these versions. */
function server({ versions, isEmpty = false, hasSchema = true, open }: Found) {
  const sent: string[] = [];
  let version = 0;
  const query = async (text: string, values?: unknown[]): Promise<{ rows: unknown[] }> => {
    const [first = ""] = text.trim().split("\n");
    sent.push(values === undefined ? first : `${first} ${values}`);
    if (text.includes("FROM pg_class c")) {
      version = versions.length > 1 ? Number(versions.shift()) : Number(versions[0]);
      return { rows: version === 0 ? [] : [{}] };
    }
    if (text.startsWith("SELECT version")) return { rows: isEmpty ? [] : [{ version: String(version) }] };
    if (text.includes("pg_namespace WHERE")) return { rows: hasSchema ? [{}] : [] };
    if (text.startsWith("SELECT key")) return { rows: open === undefined ? [] : [{ key: open }] };
    return { rows: [] };
  };
  const release = (isBroken?: boolean) => void sent.push(`release ${isBroken}`);
  return { sent, pool: { query, connect: async () => ({ query, release }) } };
}

const finds =
  "SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = $1 AND c.relname = $2 Bank,Flows_version";
const reads = 'SELECT version FROM "Bank"."Flows_version"';
const locks = [
  "BEGIN ISOLATION LEVEL READ COMMITTED",
  'SELECT pg_advisory_xact_lock(hashtextextended($1, 0)) cross-border-payments "Bank"."Flows"',
];
const open = 'SELECT key FROM "Bank"."Flows" WHERE NOT settled AND pruned_at IS NULL ORDER BY key LIMIT 1';
const schema = "SELECT 1 FROM pg_namespace WHERE nspname = $1 Bank";
const makes = 'CREATE TABLE IF NOT EXISTS "Bank"."Flows_version" (version integer NOT NULL)';
const creates = 'CREATE TABLE "Bank"."Flows" (';
const [waits, deletes] = [
  "SET LOCAL lock_timeout = '2s';",
  `DELETE FROM "Bank"."Flows" WHERE settled_phase = 'quoted';`,
];
const marks = [
  'ALTER TABLE "Bank"."Flows_version" REPLICA IDENTITY FULL',
  'DELETE FROM "Bank"."Flows_version"',
  'INSERT INTO "Bank"."Flows_version" (version) VALUES ($1) 4',
  ...["COMMIT", "release false"],
];

it("makes its tables in one transaction, under a lock, and the schema where it is missing", async () => {
  const { sent, pool } = server({ versions: [0], hasSchema: false });
  await migrate(pool, tables);
  expect(sent).toEqual([finds, ...locks, finds, schema, 'CREATE SCHEMA "Bank"', makes, creates, ...marks]);
});

it("migrates tables of release 0.3.0, once", async () => {
  const old = server({ versions: [3] });
  await migrate(old.pool, tables);
  expect(old.sent).toEqual([finds, reads, ...locks, finds, reads, waits, open, deletes, ...marks]);
  const meanwhile = server({ versions: [3, 4] });
  await migrate(meanwhile.pool, tables);
  expect(meanwhile.sent).toEqual([finds, reads, ...locks, finds, reads, "COMMIT", "release false"]);
  const own = server({ versions: [4] });
  await migrate(own.pool, tables);
  await assertMigrated(own.pool, tables);
  expect(own.sent).toEqual([finds, reads, finds, reads]);
});

it.each<[string, Found, RegExp]>([
  ["a newer release", { versions: [5] }, /^PostgresJournal: .*have version 5, .* knows 4/],
  ["release 0.2.0", { versions: [2] }, /^PostgresJournal: .*have version 2,/],
  ["release 0.3.0, with open flows", { versions: [3], open: "k" }, /^PostgresJournal: the flow of key "k" is open/],
])("changes nothing in tables of %s", async (_, found, message) => {
  const { sent, pool } = server(found);
  await expect(migrate(pool, tables)).rejects.toMatchObject({
    name: "ConfigError",
    message: expect.stringMatching(message),
  });
  expect(sent.filter((text) => /^(?:CREATE|ALTER|DELETE|INSERT|COMMIT|release false)/.test(text))).toEqual([]);
});

it("takes a table of versions without a row for none", async () => {
  const { sent, pool } = server({ versions: [4], isEmpty: true });
  await migrate(pool, tables);
  expect(sent).toContain(creates);
});

it.each([
  [0, "are not there"],
  [3, "have version 3"],
])("says which SQL has to run where the tables have version %i", async (version, present) => {
  await expect(assertMigrated(server({ versions: [version] }).pool, tables)).rejects.toThrow(
    `PostgresJournal: the tables in the schema "Bank" ${present}, this release of cross-border-payments needs ` +
      `version 4, and migrate is false. PostgresJournal.schema({ from: ${version} }) returns the SQL that makes them.`,
  );
});

it.each([
  [{ is_unlogged: 0, is_secured: 0 }, {}, undefined],
  [{ is_unlogged: "0", is_secured: "1" }, { is_active: 0 }, undefined],
  [{}, {}, undefined],
  [
    { is_unlogged: 1, is_secured: 0 },
    {},
    'PostgresJournal: the table "Bank"."Flows", or a partition of it, is UNLOGGED, so that a crash of the server empties it: ALTER TABLE "Bank"."Flows" SET LOGGED',
  ],
  [
    { is_unlogged: 0, is_secured: 1 },
    { is_active: "1" },
    'PostgresJournal: row-level security may hide rows of "Bank"."Flows" from this role, and what is not done then looks like another\'s flow: ' +
      "disable it on the table, or give the role BYPASSRLS",
  ],
])("keeps to tables that the server keeps (%o, %o)", async (found, active, message) => {
  const asked: string[] = [];
  const query = async (text: string) => {
    asked.push(text);
    return { rows: [text.includes("row_security_active(oid)::int AS is_active") ? active : found] };
  };
  const checked = assertKept({ query, connect: () => Promise.reject() }, tables);
  if (message === undefined) await checked;
  else await expect(checked).rejects.toMatchObject({ name: "ConfigError", message });
  const where = ` FROM pg_class WHERE oid = '"Bank"."Flows"'::regclass`;
  const parts = `WITH RECURSIVE parts AS (SELECT '"Bank"."Flows"'::regclass::oid AS oid UNION SELECT inhrelid FROM pg_inherits JOIN parts ON inhparent = parts.oid)`;
  const lost = `EXISTS (${parts}
      SELECT 1 FROM parts JOIN pg_class USING (oid) WHERE relpersistence <> 'p')`;
  expect(asked[0]).toBe(`SELECT ${lost}::int AS is_unlogged, relrowsecurity::int AS is_secured${where}`);
  expect(asked).toHaveLength(Number(Reflect.get(found, "is_secured")) === 1 ? 2 : 1);
});

it("writes what an administrator runs, line by line", () => {
  const lines = schemaText({ schema: "Bank", table: "Flows", role: "payer" }).split("\n");
  expect(lines.slice(0, 5)).toEqual([
    ...[
      "BEGIN;",
      'CREATE SCHEMA IF NOT EXISTS "Bank";',
      'CREATE TABLE "Bank"."Flows_version" (version integer NOT NULL);',
    ],
    ...['CREATE TABLE "Bank"."Flows" (', '  key text COLLATE "C" NOT NULL PRIMARY KEY,'],
  ]);
  const ends = [
    'ALTER TABLE "Bank"."Flows_version" REPLICA IDENTITY FULL;',
    'DELETE FROM "Bank"."Flows_version";',
    'INSERT INTO "Bank"."Flows_version" (version) VALUES (4);',
    'GRANT USAGE ON SCHEMA "Bank" TO "payer";',
    'GRANT SELECT, INSERT, UPDATE, DELETE ON "Bank"."Flows" TO "payer";',
    'GRANT SELECT ON "Bank"."Flows_version" TO "payer";',
    ...["COMMIT;", ""],
  ];
  expect(lines.slice(-ends.length)).toEqual(ends);
  const migrated = schemaText({ from: 3 }).split("\n");
  expect(migrated.slice(0, 3)).toEqual([
    "BEGIN;",
    "SET LOCAL lock_timeout = '2s';",
    'LOCK TABLE "public"."cross_border_flows" IN ACCESS EXCLUSIVE MODE;',
  ]);
  expect(migrated.at(-3)).toBe('GRANT SELECT ON "public"."cross_border_flows_version" TO "payments";');
  expect(schemaText({ from: 4 })).not.toContain("DROP COLUMN");
  expect(schemaText({ from: 0 })).toBe(schemaText());
  const refused = (message: RegExp) => expect.objectContaining({ message: expect.stringMatching(message) });
  for (const from of [-1, 0.5, 1, 2, 5]) {
    expect(() => schemaText({ from })).toThrow(refused(/^PostgresJournal: .*0, 3, or 4/));
  }
  expect(() => schemaText(Object("7"))).toThrow(refused(/^PostgresJournal: the options/));
  expect(() => schemaText({ role: "a b" })).toThrow("PostgresJournal: role must be");
});

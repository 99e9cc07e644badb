import { randomBytes } from "node:crypto";
import { readFileSync } from "node:fs";
import { PostgresJournal } from "cross-border-payments/journal/postgres";
import { SqliteJournal } from "cross-border-payments/journal/sqlite";
import pg from "pg";
import { expect, it, onTestFinished } from "vitest";
import { begin, newLease } from "./journal-fixture.js";
import { newFile, nodeSqlite, openHandle } from "./sqlite-fixture.js";

const postgresUrl = process.env.CBP_POSTGRES_URL ?? "";

/** What docs/journal-versions.md says to run. */
const guide = readFileSync(new URL("../../docs/journal-versions.md", import.meta.url), "utf8");
const [forPostgres = "", forSqlite = ""] = [...guide.matchAll(/```sql\n(BEGIN;\n[^`]*)```/g)].map(([, sql]) => sql);

/** The columns of release 0.2.0, in its order. A released migration never changes, so it is a copy. */
const columns = (first: readonly string[], type: "postgres" | "sqlite") => [
  ...["key", "epoch", "phase", "settled", "data", "owner"],
  ...first,
  ...["service", "gateway", "nonce", "evidence"],
  ...(type === "postgres" ? ["expires_at", "pruned_at", "settled_phase"] : ["expires_at_ms", "pruned_at_ms"]),
];

it.skipIf(postgresUrl === "")("leaves the tables of release 0.2.0 in PostgreSQL, and their flows", async () => {
  const schema = `rollback_${randomBytes(6).toString("hex")}`;
  const client = new pg.Client(postgresUrl);
  await client.connect();
  onTestFinished(async () => {
    await client.query(`DROP SCHEMA ${schema} CASCADE`);
    await client.end();
  });
  const journal = await PostgresJournal.open(postgresUrl, { schema });
  const before = await begin(journal, "k", "é data");
  await journal.close();
  await client.query(`SET search_path TO ${schema}`);
  await client.query(forPostgres);
  const { rows: found } = await client.query(
    "SELECT column_name FROM information_schema.columns WHERE table_schema = $1 AND table_name = 'cross_border_flows' ORDER BY ordinal_position",
    [schema],
  );
  const times = ["lease_until", "created_at", "updated_at"];
  expect(found.map(({ column_name }) => column_name)).toEqual(columns(times, "postgres"));
  expect((await client.query("SELECT version FROM cross_border_flows_version")).rows).toEqual([{ version: 2 }]);
  // What release 0.2.0 does with a flow.
  const { nonce, epoch } = before;
  const write = "UPDATE cross_border_flows SET data = 'of 0.2.0' WHERE key = 'k' AND epoch = $1 AND nonce = $2";
  expect((await client.query(write, [epoch, nonce])).rowCount).toBe(1);

  const again = await PostgresJournal.open(postgresUrl, { schema });
  onTestFinished(() => again.close());
  expect(await again.read("k")).toMatchObject({ epoch, nonce, data: "of 0.2.0", revision: 1 });
  await again.release("k", before);
  expect(await again.acquire("k", newLease())).toMatchObject({ epoch: epoch + 1 });
});

it.skipIf(nodeSqlite === undefined)("leaves the tables of release 0.2.0 in SQLite, and their flows", async () => {
  const path = newFile();
  const journal = await SqliteJournal.open(path);
  const before = await begin(journal, "k", "é data");
  await journal.close();
  const database = openHandle(path);
  database.exec(forSqlite);
  const names = database.prepare("SELECT name FROM pragma_table_info('flows')").all() as { name: string }[];
  const times = ["lease_until_ms", "created_at_ms", "updated_at_ms"];
  expect(names.map(({ name }) => name)).toEqual(columns(times, "sqlite"));
  expect(database.prepare("PRAGMA user_version").all()).toEqual([{ user_version: 2 }]);
  const { nonce, epoch } = before;
  database.exec(`UPDATE flows SET data = 'of 0.2.0' WHERE key = 'k' AND epoch = ${epoch} AND nonce = '${nonce}'`);
  database.close();

  const again = await SqliteJournal.open(path);
  onTestFinished(() => again.close());
  expect(await again.read("k")).toMatchObject({ epoch, nonce, data: "of 0.2.0", revision: 1 });
  await again.release("k", before);
  expect(await again.acquire("k", newLease())).toMatchObject({ epoch: epoch + 1 });
});

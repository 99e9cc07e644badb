import { randomBytes } from "node:crypto";
import { PostgresJournal } from "cross-border-payments/journal/postgres";
import pg from "pg";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { begin, newLease, scope, state } from "./journal-fixture.js";
import { type Change, openPostgresWire } from "./postgres-wire.js";

const url = process.env.CBP_POSTGRES_URL ?? "";

describe.skipIf(url === "")("with a server", () => {
  const admin = new pg.Pool({ connectionString: url, max: 2 });
  afterAll(() => admin.end());

  async function openJournal(changes: { readonly toServer?: Change; readonly toClient?: Change } = {}) {
    const schema = `prepared_${randomBytes(6).toString("hex")}`;
    const wire = await openPostgresWire(url, changes);
    const journal = await PostgresJournal.open(wire.url, { schema });
    onTestFinished(async () => {
      await journal.close();
      await wire.close();
      await admin.query(`DROP SCHEMA ${schema} CASCADE`);
    });
    wire.names.length = 0;
    return { journal, names: wire.names, schema };
  }

  /** A flow from its beginning to its end, one statement after the other. */
  async function runFlow(journal: PostgresJournal, key: string) {
    const entry = await begin(journal, key);
    expect(await journal.write(key, entry, state)).toBe(true);
    expect(await journal.write(key, { ...entry, revision: 2 }, { ...state, phase: "paid", settled: true })).toBe(true);
    expect(await journal.read(key)).toMatchObject({ phase: "paid", revision: 3, data: state.data });
  }

  it("prepares each statement once for each connection", async () => {
    const { journal, names } = await openJournal();
    await runFlow(journal, "one");
    const first = names.filter((name) => name !== "");
    expect(first).toHaveLength(3);
    await runFlow(journal, "two");
    expect(names.filter((name) => name !== "")).toEqual(first);
  });

  it("names each statement after its text: behind a pooler, a server process may know the name from another journal", async () => {
    const [one, two] = [await openJournal(), await openJournal()];
    await runFlow(one.journal, "k");
    await runFlow(two.journal, "k");
    const named = [one, two].map(({ names }) => names.filter((name) => name !== ""));
    expect(named.map(({ length }) => length)).toEqual([3, 3]);
    expect(new Set(named.flat()).size).toBe(6);
  });

  it("prepares nothing behind a pooler, which gives each statement to any server process", async () => {
    // As PgBouncer does, which tells its clients of a process that is none.
    const { journal, names } = await openJournal({
      toClient: ({ type, body }) => ({
        type,
        body: type === "K" ? Buffer.concat([randomBytes(4), body.subarray(4)]) : body,
      }),
    });
    await runFlow(journal, "one");
    await Promise.all(["two", "three", "four"].map((key) => runFlow(journal, key)));
    expect(names).not.toHaveLength(0);
    expect(new Set(names)).toEqual(new Set([""]));
  });

  it("goes on without where the server knows no statement by its name", async () => {
    const { journal, names } = await openJournal({
      toServer: ({ type, body }) => {
        const isNamed = type === "P" && body[0] !== 0;
        return { type, body: isNamed ? Buffer.concat([Buffer.from("X"), body.subarray(1)]) : body };
      },
    });
    await runFlow(journal, "one");
    expect(names.filter((name) => name !== "")).toHaveLength(1);
    const seen = names.length;
    await runFlow(journal, "two");
    expect(new Set(names.slice(seen))).toEqual(new Set([""]));
  });

  it("reads and writes as before, whatever many do at once", async () => {
    const { journal } = await openJournal();
    const keys = Array.from({ length: 60 }, (_, index) => `k${index}`);
    await Promise.all(keys.map((key) => runFlow(journal, key)));
    expect((await journal.list({ scope, phase: "paid", limit: 99 })).entries).toHaveLength(60);
    expect(await journal.acquire("k1", newLease())).toMatchObject({ epoch: 2 });
  });

  it("finds a flow by its key also when the table has grown since the statement was planned", async () => {
    const { journal, schema } = await openJournal();
    const keys = Array.from({ length: 20 }, (_, index) => `k${index}`);
    const entries = await Promise.all(keys.map((key) => begin(journal, key)));
    const renewAll = () => Promise.all(entries.map((entry) => journal.renew(entry.key, entry, 60_000)));
    // From the sixth time on the server keeps the plan.
    for (let times = 0; times < 12; times += 1) await renewAll();
    await admin.query(`INSERT INTO ${schema}.cross_border_flows (key, epoch, revision, nonce, phase, settled, data, owner, created_at, updated_at, service, gateway)
      SELECT 'grown-' || n, 1, 1, 'n', 'paid', true, repeat('x', 200), '', now(), now(), 's', 'g' FROM generate_series(1, 20000) AS n`);
    const scans = async () => {
      const { rows } = await admin.query(
        "SELECT seq_tup_read::int AS read FROM pg_stat_user_tables WHERE schemaname = $1 AND relname = 'cross_border_flows'",
        [schema],
      );
      return Number(rows[0]?.read);
    };
    const before = await scans();
    for (let times = 0; times < 20; times += 1) await renewAll();
    await journal.close();
    expect((await scans()) - before).toBeLessThan(20_000);
  });

  it("compresses states by what takes the least time, where the server has it", async () => {
    const { schema } = await openJournal();
    const { rows } = await admin.query(
      `SELECT attname, attcompression FROM pg_attribute WHERE attrelid = '${schema}.cross_border_flows'::regclass AND attname = 'data'`,
    );
    expect(rows.map(({ attcompression }) => attcompression)).toEqual(["l"]);
  });
});

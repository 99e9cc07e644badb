import { randomBytes } from "node:crypto";
import { createServer, type Socket } from "node:net";
import { PostgresJournal, type PostgresJournalOptions } from "cross-border-payments/journal/postgres";
import { verifyJournal } from "cross-border-payments/testing";
import pg from "pg";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { eventually } from "../support/eventually.js";
import {
  begin,
  expectAllFound,
  expectQuotesPruned,
  failure,
  newLease,
  refusal,
  scope,
  state,
} from "./journal-fixture.js";

const url = process.env.CBP_POSTGRES_URL ?? "";
const skipped = url === "" ? " (skipped: CBP_POSTGRES_URL is not set, see test/support/postgres.sh)" : "";
if (skipped !== "") process.stdout.write(`PostgresJournal is tested with a server only${skipped}\n`);

const newSchema = () => `test_${randomBytes(6).toString("hex")}`;

async function openJournal(...parameters: Parameters<typeof PostgresJournal.open>): Promise<PostgresJournal> {
  const journal = await PostgresJournal.open(...parameters);
  onTestFinished(() => journal.close());
  return journal;
}

/** By a short time limit, which a busy machine may exceed a few times before it opens. */
const openInTime: typeof openJournal = (...parameters) => eventually(() => openJournal(...parameters));

it.each(["", "payments.db", "mysql://user:hunter2hunter2@host/db", "postgresql://user:hunter2hunter2@host:port/db"])(
  "refuses the URL %s without showing it",
  async (malformed) => {
    const error = await failure(PostgresJournal.open(malformed));
    expect(error).toMatchObject(refusal("postgresql://"));
    expect(`${error} ${Reflect.get(Object(error), "stack")}`).not.toContain("hunter2");
  },
);

it.each([
  { schema: 'a"; DROP TABLE x; --' },
  { schema: "" },
  { table: "1st" },
  { table: "é" },
  { table: "t".repeat(41) },
  { timeoutMs: 0 },
  { timeoutMs: 2 ** 31 },
  { migrate: 1 },
  "the options",
])("refuses the options %o", async (options) => {
  const error = await failure(PostgresJournal.open("postgresql://localhost:1/db", options as PostgresJournalOptions));
  expect(error).toMatchObject(refusal(/^PostgresJournal: \S/));
});

it.each([undefined, {}, { connect() {} }])("refuses what is no pool: %j", async (pool) => {
  expect(await failure(PostgresJournal.open(pool as never))).toMatchObject(refusal("a pool with query"));
});

it("gives up on a server that does not respond", async () => {
  const sockets: Socket[] = [];
  const server = createServer((socket) => sockets.push(socket)).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  const address = server.address();
  const port = typeof address === "object" ? address?.port : undefined;
  const open = PostgresJournal.open(`postgresql://user@127.0.0.1:${port}/db`, { timeoutMs: 200 });
  expect(await failure(open)).toMatchObject({ name: "JournalError" });
});

describe.skipIf(url === "")(`with a server${skipped}`, () => {
  const admin = new pg.Pool({ connectionString: url, max: 4 });
  afterAll(() => admin.end());

  const inSchema = (): { readonly schema: string; readonly open: () => Promise<PostgresJournal> } => {
    const schema = newSchema();
    onTestFinished(async () => void (await admin.query(`DROP SCHEMA IF EXISTS ${schema} CASCADE`)));
    return { schema, open: () => PostgresJournal.open(url, { schema }) };
  };

  it("keeps the laws of a journal, with two pools and reopened", async () => {
    const { open } = inSchema();
    await verifyJournal(open, { openSecond: open, reopen: open });
  });

  it("keeps the laws of a journal over a pool that is passed in, which stays open", async () => {
    const { schema } = inSchema();
    await verifyJournal(() => PostgresJournal.open(admin, { schema, table: "Flows_2" }), { flows: 20 });
    expect((await admin.query("SELECT 1 AS one")).rows).toEqual([{ one: 1 }]);
  });

  it("finds keys from the first possible one on, and prunes more than a slice of them", async () => {
    const { schema } = inSchema();
    await expectAllFound(await openJournal(url, { schema }), 1_000);
  });

  it("deletes quotes that expired a day ago or earlier", async () => {
    const { schema } = inSchema();
    const set = `UPDATE ${schema}.cross_border_flows SET expires_at = expires_at - interval '25 hours' WHERE key = $1`;
    await expectQuotesPruned(await openJournal(url, { schema }), (key) => admin.query(set, [key]));
  });

  it("passes over a flow that another process is taking at this moment, without waiting", async () => {
    const { schema, open } = inSchema();
    const journal = await open();
    onTestFinished(() => journal.close());
    for (const key of ["a", "b"]) {
      await journal.release(key, await begin(journal, key));
    }
    const other = await admin.connect();
    await other.query("BEGIN");
    await other.query(`SELECT 1 FROM ${schema}.cross_border_flows WHERE key = 'a' FOR UPDATE`);
    expect((await journal.acquireAbandoned(scope, newLease(), undefined))?.key).toBe("b");
    expect(await journal.acquireAbandoned(scope, newLease(), undefined)).toBeUndefined();
    await other.query("ROLLBACK");
    other.release();
    expect((await journal.acquireAbandoned(scope, newLease(), undefined))?.key).toBe("a");
  });

  it("counts leases by the database's clock, whatever this machine's says", async () => {
    const { open } = inSchema();
    const journal = await open();
    onTestFinished(() => journal.close());
    const real = Date.now;
    Date.now = () => real() + 3_600_000;
    onTestFinished(() => {
      Date.now = real;
    });
    const entry = await begin(journal, "k");
    expect(Math.abs(entry.createdAtMs - real())).toBeLessThan(60_000);
    expect(await journal.acquire("k", newLease())).toBeUndefined();
  });

  it("refuses everything once it is closed, and closes twice", async () => {
    const { open } = inSchema();
    const journal = await open();
    await journal.close();
    await journal.close();
    for (const work of [
      journal.read("k"),
      journal.begin("k", scope, state, newLease()),
      journal.list({ scope, limit: 1 }),
    ]) {
      expect(await failure(work)).toMatchObject({
        name: "JournalError",
        message: "PostgresJournal: the journal is closed.",
      });
    }
  });

  it("leaves the server no statement that it waits for no longer", async () => {
    const { schema } = inSchema();
    const journal = await openInTime(url, { schema, timeoutMs: 300 });
    const locker = await admin.connect();
    onTestFinished(() => locker.release(true));
    await locker.query(`BEGIN; LOCK TABLE ${schema}.cross_border_flows`);
    for (const _ of [1, 2, 3]) expect(await failure(journal.read("k"))).toMatchObject({ name: "JournalError" });
    const left = "SELECT pid FROM pg_locks WHERE NOT granted AND relation = $1::regclass";
    const waiting = async () => (await locker.query(left, [`${schema}.cross_border_flows`])).rows;
    await eventually(async () => expect(await waiting()).toEqual([]));
  });
});

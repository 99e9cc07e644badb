import type { Journal, JournalEntry, JournalState, LeaseRequest } from "cross-border-payments/flow";
import { PostgresJournal } from "cross-border-payments/journal/postgres";
import pg from "pg";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { PostgresServer } from "../crash/postgres-server.js";
import { begin, newLease, scope, state } from "../journals/journal-fixture.js";
import { eventually } from "../support/eventually.js";

const key = "k";
const settled = { ...state, phase: "paid", settled: true };
const quoted = { ...state, phase: "quoted", settled: true, quoteTtlMs: 60_000 };
const another = { ...newLease(), owner: "two" };
const began =
  (first: JournalState, lease: Partial<LeaseRequest> = {}) =>
  async (journal: Journal): Promise<JournalEntry> =>
    (await journal.begin(key, scope, first, { ...newLease(), ...lease })).entry;

/** What the journal confirms, and what must be found after it. */
const confirmed: readonly {
  readonly what: string;
  readonly before?: (journal: Journal) => Promise<JournalEntry>;
  readonly act: (journal: Journal, entry: JournalEntry) => Promise<unknown>;
  readonly found: object | undefined;
}[] = [
  { what: "a flow that began", act: (journal) => begin(journal, key, '"began"'), found: { data: '"began"' } },
  {
    what: "a state",
    before: began(state),
    act: (journal, entry) => journal.write(key, entry, { ...state, data: '"written"' }),
    found: { data: '"written"' },
  },
  {
    what: "a takeover",
    before: began(state, { leaseMs: 1 }),
    act: (journal) => eventually(async () => expect(await journal.acquire(key, another)).toMatchObject({ epoch: 2 })),
    found: { epoch: 2, owner: "two" },
  },
  {
    what: "a release",
    before: began(state),
    act: (journal, entry) => journal.release(key, entry),
    found: { leaseUntilMs: undefined },
  },
  {
    what: "a longer lease",
    before: began(state, { leaseMs: 1000 }),
    act: (journal, entry) => journal.renew(key, entry, 3_600_000),
    found: { leaseUntilMs: expect.toSatisfy((ms: number) => ms > Date.now() + 3_000_000) },
  },
  {
    what: "a takeover of what was abandoned",
    before: began(state, { leaseMs: 1 }),
    act: (journal) =>
      eventually(async () =>
        expect(await journal.acquireAbandoned(scope, another, undefined)).toMatchObject({ epoch: 2 }),
      ),
    found: { epoch: 2, owner: "two" },
  },
  {
    what: "what replaced a quote",
    before: began(quoted),
    act: async (journal, entry) =>
      expect(await journal.write(key, entry, state, { lease: another, inTime: true })).toBe(true),
    found: { phase: state.phase, owner: "two" },
  },
  {
    what: "that an old flow was pruned",
    before: began(settled),
    act: (journal) => journal.prune({ settledBeforeMs: Date.now() + 60_000 }),
    found: { data: "", prunedAtMs: expect.any(Number) },
  },
];

describe.skipIf(process.env.CBP_POSTGRES_URL === undefined)("a server that crashes, without synchronous_commit", () => {
  let server: PostgresServer;
  let pool: pg.Pool;
  beforeAll(async () => {
    server = await PostgresServer.start();
    const lazy = new URL(server.url);
    lazy.searchParams.set("options", "-c synchronous_commit=off");
    pool = new pg.Pool({ connectionString: lazy.href, max: 1 });
    pool.on("error", () => {});
    // As rarely as the server allows.
    await pool.query("ALTER SYSTEM SET wal_writer_delay = '10s'");
    await pool.query("ALTER SYSTEM SET wal_writer_flush_after = '1GB'");
    await pool.query("CREATE TABLE others (note text)");
  });
  afterAll(async () => {
    await pool?.end();
    await server?.[Symbol.asyncDispose]();
  });

  it.each(confirmed)("has kept $what", async ({ before, act, found }) => {
    let wasFlushedByOthers: boolean;
    do {
      const journal = await eventually(() => PostgresJournal.open(pool));
      onTestFinished(() => journal.close());
      await pool.query("DELETE FROM cross_border_flows");
      await pool.query("DELETE FROM others");
      const entry = (await before?.(journal)) as JournalEntry;
      await act(journal, entry);
      await pool.query("INSERT INTO others VALUES ('not flushed')");
      expect((await pool.query("SHOW synchronous_commit")).rows).toEqual([{ synchronous_commit: "off" }]);
      await server.crash("QUIT");
      await eventually(() => pool.query("SELECT 1"));
      const stored = await journal.read(key);
      if (found === undefined) expect(stored).toBeUndefined();
      else expect(stored).toMatchObject(found);
      // Where this is lost, which was written after it, the journal's own flush has kept the flow. The server writes by itself every ten seconds.
      wasFlushedByOthers = (await pool.query("SELECT 1 FROM others")).rows.length > 0;
    } while (wasFlushedByOthers);
  });
});

import { randomBytes } from "node:crypto";
import type { JournalEntry } from "cross-border-payments/flow";
import { PostgresJournal, type PostgresPool } from "cross-border-payments/journal/postgres";
import pg from "pg";
import { afterAll, describe, expect, it, onTestFinished, vi } from "vitest";
import { eventually } from "../support/eventually.js";
import { expectOneAfterAnother } from "./group-commit-model.js";
import { begin, expectLoneRefusal, scope, state } from "./journal-fixture.js";

const url = process.env.CBP_POSTGRES_URL ?? "";
const keys = Array.from({ length: 40 }, (_, index) => `k${index}`);

describe.skipIf(url === "")("with a server", () => {
  const admin = new pg.Pool({ connectionString: url, max: 4 });
  afterAll(() => admin.end());

  /** A journal in a schema of its own, whose statements are counted. */
  async function openJournal(options = "") {
    const schema = `group_${randomBytes(6).toString("hex")}`;
    const own = new URL(url);
    own.searchParams.set("application_name", schema);
    if (options !== "") own.searchParams.set("options", options);
    const pool = new pg.Pool({ connectionString: own.href });
    pool.on("error", () => {});
    const statements: string[] = [];
    const counting: PostgresPool = {
      query: (text, values) => {
        statements.push(text);
        return pool.query(text, values);
      },
    };
    const open = () => PostgresJournal.open(counting, { schema });
    const journal = await open();
    onTestFinished(async () => {
      await journal.close();
      await pool.end();
      await admin.query(`DROP SCHEMA ${schema} CASCADE`);
    });
    statements.length = 0;
    return { journal, open, statements, schema, flows: `${schema}.cross_border_flows` };
  }

  it.each(["read committed", "serializable"])(
    "replies to what comes at once as if it came one after the other (%s)",
    async (level) => {
      const { journal } = await openJournal(`-c default_transaction_isolation=${level.replace(" ", "\\ ")}`);
      await expectOneAfterAnother(journal, 60);
    },
  );

  it("makes one statement of what comes at once, and the simple one of what comes alone", async () => {
    const { journal, statements } = await openJournal();
    const entries = await Promise.all(keys.map((key) => begin(journal, key)));
    expect(statements).toHaveLength(1);
    await Promise.all(entries.map((entry) => journal.write(entry.key, entry, state)));
    expect(statements).toHaveLength(2);
    await journal.renew("k1", entries[1] ?? { epoch: 0, nonce: "" }, 60_000);
    expect(statements[2]).not.toContain("SKIP LOCKED");
    await Promise.all(keys.map((key) => journal.read(key)));
    expect(statements).toHaveLength(4);
    expect(statements[3]).toMatch(/^SELECT/);
  });

  it("fails an operation that is refused, and none of its neighbours", async () => {
    const { journal, schema, flows } = await openJournal();
    const entries = await Promise.all(keys.map((key) => begin(journal, key)));
    await admin.query(`
      CREATE FUNCTION ${schema}.refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'refused'; END $$;
      CREATE TRIGGER refuses BEFORE UPDATE ON ${flows} FOR EACH ROW WHEN (new.key = 'k7') EXECUTE FUNCTION ${schema}.refuse()`);
    await expectLoneRefusal(journal, entries);
  });

  it("lets nobody wait for flows that somebody else has locked", async () => {
    const { journal, flows } = await openJournal();
    const entries = await Promise.all(keys.map((key) => begin(journal, key)));
    const locker = await admin.connect();
    await locker.query("BEGIN");
    await locker.query(`SELECT 1 FROM ${flows} WHERE key LIKE 'k1%' FOR UPDATE`);
    const order: string[] = [];
    const written = entries.map(async (entry) => {
      expect(await journal.write(entry.key, entry, { ...state, data: "changed" })).toBe(true);
      order.push(entry.key);
    });
    const isLocked = (key: string): boolean => key.startsWith("k1");
    await Promise.all(written.filter((_, index) => !isLocked(`k${index}`)));
    expect(order.filter(isLocked)).toEqual([]);
    await begin(journal, "new");
    await locker.query("ROLLBACK");
    locker.release();
    await Promise.all(written);
    expect((await journal.read("k10"))?.data).toBe("changed");
  });

  it("tells each of them that nobody knows, when the connection ends in the middle of a statement", async () => {
    const { journal, schema, flows } = await openJournal();
    const entries = await Promise.all(keys.map((key) => begin(journal, key)));
    await admin.query(`
      CREATE FUNCTION ${schema}.wait() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(60); RETURN new; END $$;
      CREATE TRIGGER waits BEFORE UPDATE ON ${flows} FOR EACH ROW WHEN (new.key = 'k20') EXECUTE FUNCTION ${schema}.wait()`);
    const written = Promise.allSettled(
      entries.map((entry) => journal.write(entry.key, entry, { ...state, data: "changed" })),
    );
    await eventually(async () => {
      const ended = await admin.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1 AND wait_event = 'PgSleep'`,
        [schema],
      );
      expect(ended.rowCount).toBeGreaterThan(0);
    });
    for (const result of await written) {
      expect(result).toMatchObject({ reason: { name: "JournalError", stored: "unknown", effect: "none" } });
    }
    for (const key of keys) expect((await journal.read(key))?.data).toBe("{}");
  });

  it("does not deadlock with journals of other processes that write the same flows", async () => {
    const { journal, open } = await openJournal();
    const journals = [journal, await open(), await open(), await open()];
    const entries = await Promise.all(keys.map((key) => begin(journal, key)));
    const deadlocks = async () =>
      Number(
        (await admin.query("SELECT deadlocks FROM pg_stat_database WHERE datname = current_database()")).rows[0]
          .deadlocks,
      );
    const before = await deadlocks();
    for (let round = 0; round < 20; round++) {
      const written = journals.flatMap((each, index) => {
        const ordered = index % 2 === 0 ? entries : entries.toReversed();
        const write = (entry: JournalEntry) =>
          each.write(entry.key, { ...entry, revision: round + 1 }, { ...state, data: String(round) });
        return ordered.map(write);
      });
      expect(new Set(await Promise.all(written))).toEqual(new Set([true]));
    }
    await admin.query("SELECT pg_stat_clear_snapshot()");
    expect(await deadlocks()).toBe(before);
    expect((await journal.list({ scope, limit: keys.length + 1 })).entries).toHaveLength(keys.length);
  });

  it("stores what was asked for before it was closed", async () => {
    const { open, journal } = await openJournal();
    const closing = await open();
    const begun = Promise.all(keys.map((key) => begin(closing, key)));
    await closing.close();
    await begun;
    expect((await journal.list({ scope, limit: keys.length + 1 })).entries).toHaveLength(keys.length);
  });

  /** Sees each query on its way to the driver, and may change it. Returns the names that statements are prepared under. */
  async function openSeen(change: (client: pg.Client, query: object) => object) {
    const names: string[] = [];
    const { query } = pg.Client.prototype;
    const seen = function (this: pg.Client, given: object, ...more: unknown[]) {
      names.push(Reflect.get(Object(given), "name") ?? "");
      return Reflect.apply(query, this, [change(this, given), ...more]);
    };
    const spy = vi.spyOn(pg.Client.prototype, "query").mockImplementation(seen as never);
    onTestFinished(() => spy.mockRestore());
    const schema = `prepared_${randomBytes(6).toString("hex")}`;
    const journal = await PostgresJournal.open(url, { schema });
    onTestFinished(async () => {
      await journal.close();
      await admin.query(`DROP SCHEMA ${schema} CASCADE`);
    });
    names.length = 0;
    return { journal, names };
  }

  /** A flow from its beginning to its end, one statement after the other. */
  async function runFlow(journal: PostgresJournal, key: string) {
    const entry = await begin(journal, key);
    expect(await journal.write(key, entry, state)).toBe(true);
    expect(await journal.write(key, { ...entry, revision: 2 }, { ...state, phase: "paid", settled: true })).toBe(true);
    expect(await journal.read(key)).toMatchObject({ phase: "paid", revision: 3, data: state.data });
  }

  it("prepares nothing behind a pooler, which gives each statement to any server process", async () => {
    // As PgBouncer does, which tells its clients of a process that is none.
    const { journal, names } = await openSeen((client, query) => {
      Object.assign(client, { processID: -1 });
      return query;
    });
    await runFlow(journal, "one");
    await Promise.all(["two", "three", "four"].map((key) => runFlow(journal, key)));
    expect(names).not.toHaveLength(0);
    expect(new Set(names)).toEqual(new Set([""]));
  });

  it("goes on without where the server knows no statement by its name", async () => {
    const { journal, names } = await openSeen((_, query) => {
      return Reflect.get(Object(query), "name") === undefined ? query : { text: "EXECUTE unknown" };
    });
    await runFlow(journal, "one");
    expect(names.filter((name) => name !== "")).toHaveLength(1);
    const seen = names.length;
    await runFlow(journal, "two");
    expect(new Set(names.slice(seen))).toEqual(new Set([""]));
  });
});

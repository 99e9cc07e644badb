import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { PostgresJournal, type PostgresJournalOptions } from "cross-border-payments/journal/postgres";
import { verifyJournal } from "cross-border-payments/testing";
import pg from "pg";
import { afterAll, describe, expect, it, onTestFinished } from "vitest";
import { eventually } from "../support/eventually.js";
import { openClosedPort } from "../wire/closed-port.js";
import { expectMigrated } from "./expect-migrated.js";
import { begin, expectAllFound, expectQuotesPruned, failure, newLease, scope, state } from "./journal-fixture.js";
import { isOpen as isOpenThere, postgresRelease03 } from "./release-0-3.js";

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
    expect(error).toMatchObject({ name: "ConfigError", message: expect.stringContaining("postgresql://") });
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
  expect(error).toMatchObject({ name: "ConfigError", message: expect.stringMatching(/^PostgresJournal: \S/) });
});

it.each([undefined, { query() {} }, { connect() {} }])("refuses what is no pool: %j", async (pool) => {
  expect(await failure(PostgresJournal.open(pool as never))).toMatchObject({
    name: "ConfigError",
    message: expect.stringContaining("a pool with query and connect"),
  });
});

it("tells a server that can't be reached, without the password", async () => {
  const { port, close } = await openClosedPort();
  onTestFinished(close);
  const error = await failure(PostgresJournal.open(`postgresql://user:hunter2hunter2@127.0.0.1:${port}/db`));
  expect(error).toMatchObject({
    name: "JournalError",
    code: "journal_failed",
    stored: "nothing",
    message: expect.stringMatching(/could not open the journal.*ECONNREFUSED/),
  });
  expect(Reflect.get(Object(error), "stack") + JSON.stringify(error)).not.toContain("hunter2");
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

  it("confirms a quote at no later time than its end, on a server that is stopped within the statement", async () => {
    const { schema } = inSchema();
    const clock = `${schema}_clock`;
    onTestFinished(async () => void (await admin.query(`DROP SCHEMA IF EXISTS ${clock} CASCADE`)));
    await admin.query(`CREATE SCHEMA ${clock};
      CREATE FUNCTION ${clock}.clock_timestamp() RETURNS timestamptz LANGUAGE plpgsql VOLATILE AS
        'BEGIN PERFORM pg_catalog.pg_sleep(0.02); RETURN pg_catalog.clock_timestamp(); END'`);
    const slow = new URL(url);
    slow.searchParams.set("options", `-c search_path=${clock},pg_catalog`);
    const journal = await openJournal(slow.href, { schema });
    const quote = { ...state, phase: "quoted", settled: true, quoteTtlMs: 300 };
    let atTheEnd = 0;
    for (let index = 0; index < 200 && atTheEnd === 0; index += 1) {
      const key = `k-${index}`;
      const { entry } = await journal.begin(key, scope, quote, newLease());
      await new Promise((resolve) => setTimeout(resolve, 200 + ((index * 7) % 80)));
      if (!(await journal.write(key, entry, state, { lease: newLease(), inTime: true }))) continue;
      const confirmed = await journal.read(key);
      expect(confirmed?.updatedAtMs).toBeLessThanOrEqual(entry.expiresAtMs ?? 0);
      if (confirmed?.updatedAtMs === entry.expiresAtMs) atTheEnd += 1;
    }
    expect(atTheEnd).toBe(1);
  });

  it("keeps the laws of a journal over a pool that is passed in, which stays open", async () => {
    const { schema } = inSchema();
    await verifyJournal(() => PostgresJournal.open(admin, { schema, table: "Flows_2" }), { flows: 20 });
    expect((await admin.query("SELECT 1 AS one")).rows).toEqual([{ one: 1 }]);
  });

  const booleansAs = (one: unknown) => ({
    getTypeParser: (oid: number, format?: "text") =>
      oid === pg.types.builtins.BOOL ? (text: string) => (text === "t" ? one : 0) : pg.types.getTypeParser(oid, format),
  });
  it.each<[string, pg.PoolConfig]>([
    ["reads booleans as numbers", { types: booleansAs(1) as pg.CustomTypesConfig }],
    ["reads booleans as texts", { types: booleansAs("t") as pg.CustomTypesConfig }],
  ])("keeps the laws of a journal over a pool that %s", async (_, config) => {
    const { schema } = inSchema();
    const pool = new pg.Pool({ connectionString: url, ...config });
    onTestFinished(() => pool.end());
    await verifyJournal(() => PostgresJournal.open(pool, { schema }), { flows: 20 });
    const journal = await openJournal(pool, { schema });
    const begun = await Promise.all(["a", "b", "c"].map((key) => journal.begin(key, scope, state, newLease())));
    expect(begun.map(({ created }) => created)).toEqual([true, true, true]);
    const read = await Promise.all(["a", "none", "c"].map((key) => journal.read(key)));
    expect(read.map((found) => found?.key)).toEqual(["a", undefined, "c"]);
    expect(await journal.list({ scope: { service: "https://none.example" }, limit: 1 })).toEqual({
      entries: [],
      counts: [],
    });
  });

  it("refuses a pool that renames columns, and one whose numbers are misread", async () => {
    const misread = new pg.Pool({ connectionString: url, ...{ binary: true } });
    onTestFinished(() => misread.end());
    const query = async (text: string, values: unknown[] = []) => ({
      rows: (await admin.query<object>(text, values)).rows.map((row) =>
        Object.fromEntries(Object.entries(row).map(([name, value]) => [name.replaceAll("_", ""), value])),
      ),
    });
    for (const pool of [misread, { query, connect: async () => ({ query, release: () => {} }) }]) {
      const { schema } = inSchema();
      expect(await failure(PostgresJournal.open(pool, { schema }))).toMatchObject({
        name: "ConfigError",
        message: expect.stringContaining("other names or numbers than the server sends"),
      });
    }
  });

  it("keeps the laws of a journal where transactions are serializable", async () => {
    const { schema } = inSchema();
    const strict = new URL(url);
    strict.searchParams.set("options", "-c default_transaction_isolation=serializable");
    const open = () => PostgresJournal.open(strict.href, { schema });
    await verifyJournal(open, { openSecond: open, flows: 20 });
  });

  it.each(["read committed", "serializable"])(
    "makes its tables once when eight start at the same time (%s)",
    async (level) => {
      const { schema } = inSchema();
      const leveled = new URL(url);
      leveled.searchParams.set("options", `-c default_transaction_isolation=${level.replace(" ", "\\ ")}`);
      const open = () => PostgresJournal.open(leveled.href, { schema });
      const journals = await Promise.all(Array.from({ length: 8 }, open));
      onTestFinished(async () => void (await Promise.all(journals.map((journal) => journal.close()))));
      expect((await admin.query(`SELECT version FROM ${schema}.cross_border_flows_version`)).rows).toEqual([
        { version: 4 },
      ]);
      const begun = await Promise.all(journals.map((journal) => journal.begin("k", scope, state, newLease())));
      expect(begun.filter(({ created }) => created)).toHaveLength(1);
    },
  );

  it("finds keys from the first possible one on, and prunes more than a slice of them", async () => {
    const { schema } = inSchema();
    await expectAllFound(await openJournal(url, { schema }), 1_000);
  });

  it("deletes quotes that expired a day ago or earlier", async () => {
    const { schema } = inSchema();
    const set = `UPDATE ${schema}.cross_border_flows SET expires_at = expires_at - interval '25 hours' WHERE key = $1`;
    await expectQuotesPruned(await openJournal(url, { schema }), (key) => admin.query(set, [key]));
  });

  it("waits in turns for a table that a backup reads, and lets others use it meanwhile", async () => {
    const { schema, open } = inSchema();
    await admin.query(postgresRelease03(schema));
    const backup = await admin.connect();
    await backup.query(`BEGIN; LOCK TABLE ${schema}.cross_border_flows IN ACCESS SHARE MODE`);
    const opening = open();
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    await backup.query("COMMIT");
    backup.release();
    const journal = await opening;
    onTestFinished(() => journal.close());
    expect((await journal.read("held"))?.phase).toBe("held");
  });

  it("refuses tables of a newer release", async () => {
    const { schema, open } = inSchema();
    await (await open()).close();
    await admin.query(`UPDATE ${schema}.cross_border_flows_version SET version = 99`);
    expect(await failure(open())).toMatchObject({
      name: "ConfigError",
      message: expect.stringMatching(/version 99.*newer release/s),
    });
  });

  it.each([
    ["tables of release 0.2.0", "cross_border_flows_version SET version = 2", /have version 2,/],
    ["open flows of release 0.3.0", `cross_border_flows ${isOpenThere}`, /the flow of key "held" is open/],
  ])("refuses %s, and changes nothing", async (_, change, message) => {
    const { schema, open } = inSchema();
    await admin.query(postgresRelease03(schema));
    await admin.query(`UPDATE ${schema}.${change}`);
    const error = await failure(open());
    expect(error).toMatchObject({ name: "ConfigError", code: "journal_outdated" });
    expect(error).toMatchObject({ message: expect.stringMatching(message) });
    const columns = await admin.query("SELECT 1 FROM information_schema.columns WHERE table_schema = $1", [schema]);
    expect(columns.rows).toHaveLength(21);
  });

  it("migrates tables of release 0.3.0", async () => {
    const { schema, open } = inSchema();
    await admin.query(postgresRelease03(schema));
    const journal = await open();
    onTestFinished(() => journal.close());
    await expectMigrated(journal);
    const version = await admin.query(`SELECT version FROM ${schema}.cross_border_flows_version`);
    expect(version.rows).toEqual([{ version: 4 }]);
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

  it("outlives connections that the server ends, idle or busy", async () => {
    const { schema } = inSchema();
    const own = new URL(url);
    own.searchParams.set("application_name", schema);
    const journal = await openJournal(own.href, { schema });
    const entry = await begin(journal, "k");
    const end = () =>
      admin.query("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1", [schema]);
    await end();
    await new Promise((resolve) => setTimeout(resolve, 50));
    expect((await journal.read("k"))?.data).toBe("{}");
    const blocker = await admin.connect();
    await blocker.query("BEGIN");
    await blocker.query(`SELECT 1 FROM ${schema}.cross_border_flows FOR UPDATE`);
    const write = failure(journal.write("k", entry, { ...state, data: "lost" }));
    await new Promise((resolve) => setTimeout(resolve, 50));
    await end();
    const error = await write;
    expect(error).toMatchObject({ name: "JournalError", effect: "none", stored: "unknown" });
    await blocker.query("ROLLBACK");
    blocker.release();
    expect(await journal.write("k", entry, { ...state, data: "kept" })).toBe(true);
  });

  it("stores nothing on a connection on which somebody has left a transaction open, and leaves that as it is", async () => {
    const { schema, open } = inSchema();
    const pool = new pg.Pool({ connectionString: url, max: 1 });
    onTestFinished(() => pool.end());
    const isOpen = {
      name: "JournalError",
      stored: "nothing",
      message: expect.stringContaining("a transaction is open on a connection of the pool"),
    };
    await pool.query("BEGIN");
    expect(await failure(PostgresJournal.open(pool, { schema }))).toMatchObject(isOpen);
    await pool.query("ROLLBACK");
    const journal = await openJournal(pool, { schema });
    const entry = await begin(journal, "k");
    await pool.query("BEGIN");
    await pool.query(`CREATE TABLE ${schema}.of_somebody_else ()`);
    for (const work of [
      () => journal.begin("other", scope, state, newLease()),
      () => journal.write("k", entry, { ...state, data: "lost" }),
      () => journal.read("k"),
      () => journal.list({ scope, limit: 1, counts: true }),
    ]) {
      expect(await failure(work())).toMatchObject(isOpen);
    }
    expect(await failure(Promise.all(["a", "b"].map((key) => begin(journal, key))))).toMatchObject(isOpen);
    await pool.query("COMMIT");
    expect((await admin.query(`SELECT * FROM ${schema}.of_somebody_else`)).rows).toEqual([]);
    expect(await journal.write("k", entry, { ...state, data: "kept" })).toBe(true);
    const elsewhere = await open();
    onTestFinished(() => elsewhere.close());
    expect(await elsewhere.read("k")).toMatchObject({ data: "kept" });
  });

  it("confirms nothing on a connection that was given back while it was beginning a transaction", async () => {
    const { schema, open } = inSchema();
    const pool = new pg.Pool({ connectionString: url, max: 1 });
    onTestFinished(() => pool.end());
    const journal = await openJournal(pool, { schema });
    const entry = await begin(journal, "k");
    const connection = await pool.connect();
    const beginning = connection.query("BEGIN");
    connection.release();
    const writing = journal.write("k", entry, { ...state, data: "lost" });
    expect(await failure(writing)).toMatchObject({ name: "JournalError", stored: "unknown" });
    await beginning;
    const elsewhere = await open();
    onTestFinished(() => elsewhere.close());
    expect(await elsewhere.read("k")).toMatchObject({ data: "{}" });
    expect(await journal.write("k", entry, { ...state, data: "kept" })).toBe(true);
  });

  it("outlives the connections of a pool that is passed in, too", async () => {
    const { schema } = inSchema();
    const pool = new pg.Pool({ connectionString: url, max: 1, application_name: schema });
    pool.on("error", () => {});
    onTestFinished(() => pool.end());
    const journal = await openJournal(pool, { schema });
    const entry = await begin(journal, "k");
    const blocker = await admin.connect();
    await blocker.query("BEGIN");
    await blocker.query(`SELECT 1 FROM ${schema}.cross_border_flows FOR UPDATE`);
    const write = failure(journal.write("k", entry, { ...state, data: "lost" }));
    await expect
      .poll(async () => {
        const { rowCount } = await admin.query(
          `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = $1 AND wait_event_type = 'Lock'`,
          [schema],
        );
        return rowCount;
      })
      .toBe(1);
    expect(await write).toMatchObject({ name: "JournalError", stored: "unknown" });
    await blocker.query("ROLLBACK");
    blocker.release();
    expect(await journal.write("k", entry, { ...state, data: "kept" })).toBe(true);
  });

  it("goes on behind a view that has taken its table's place", async () => {
    const { schema, open } = inSchema();
    const journal = await open();
    onTestFinished(() => journal.close());
    const before = await begin(journal, "before");
    await admin.query(`
      ALTER TABLE ${schema}.cross_border_flows RENAME TO renamed;
      CREATE VIEW ${schema}.cross_border_flows AS SELECT * FROM ${schema}.renamed`);
    expect(await journal.write("before", before, state)).toBe(true);
    expect((await journal.begin("after", scope, state, newLease())).created).toBe(true);
    expect((await journal.list({ scope, limit: 9 })).entries).toHaveLength(2);
  });

  it("does not say that nothing was stored where the server does not know it", async () => {
    const { schema, open } = inSchema();
    const journal = await open();
    onTestFinished(() => journal.close());
    const entry = await begin(journal, "k");
    await admin.query(`
      CREATE FUNCTION ${schema}.ends() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN RAISE 'nobody knows' USING ERRCODE = 'statement_completion_unknown'; END $$;
      CREATE TRIGGER ends BEFORE UPDATE ON ${schema}.cross_border_flows FOR EACH ROW EXECUTE FUNCTION ${schema}.ends()`);
    expect(await failure(journal.write("k", entry, state))).toMatchObject({ name: "JournalError", stored: "unknown" });
  });

  it("refuses what a server in recovery says, which may be older than what is stored", async () => {
    const { schema } = inSchema();
    const recovery = `${schema}_recovery`;
    onTestFinished(async () => void (await admin.query(`DROP SCHEMA IF EXISTS ${recovery} CASCADE`)));
    await admin.query(`CREATE SCHEMA ${recovery}; CREATE TABLE ${recovery}.began ();
      CREATE FUNCTION ${recovery}.pg_is_in_recovery() RETURNS boolean LANGUAGE sql STABLE AS
        'SELECT EXISTS (SELECT FROM ${recovery}.began)'`);
    const standby = new URL(url);
    standby.searchParams.set("options", `-c search_path=${recovery},pg_catalog`);
    const journal = await openJournal(standby.href, { schema });
    expect(await journal.list({ scope, limit: 1, counts: true })).toEqual({ entries: [], counts: [] });
    await admin.query(`INSERT INTO ${recovery}.began DEFAULT VALUES`);
    expect(await failure(journal.list({ scope, limit: 1 }))).toMatchObject({ name: "JournalError" });
  });

  it.each(["URL", "pool"])("asks no server in recovery twice, whose connection came to it by a %s", async (place) => {
    const { schema } = inSchema();
    const recovery = `${schema}_recovery`;
    onTestFinished(async () => void (await admin.query(`DROP SCHEMA IF EXISTS ${recovery} CASCADE`)));
    await admin.query(`CREATE SCHEMA ${recovery}; CREATE TABLE ${recovery}.leads (pid integer);
      CREATE FUNCTION ${recovery}.pg_is_in_recovery() RETURNS boolean LANGUAGE sql STABLE AS
        'SELECT EXISTS (SELECT FROM ${recovery}.leads WHERE pid = pg_backend_pid())'`);
    const own = new URL(url);
    own.searchParams.set("options", `-c search_path=${recovery},pg_catalog`);
    own.searchParams.set("application_name", recovery);
    const pool = new pg.Pool({ connectionString: own.href, max: 1 });
    onTestFinished(() => pool.end());
    const journal = await openJournal(place === "URL" ? own.href : pool, { schema });
    await admin.query(`INSERT INTO ${recovery}.leads SELECT pid FROM pg_stat_activity WHERE application_name = $1`, [
      recovery,
    ]);
    expect(await failure(journal.read("k"))).toMatchObject({ code: "journal_replica", stored: "nothing" });
    expect(await journal.read("k")).toBeUndefined();
  });

  /** Puts a trigger on the table of the flows, whose function has this body. */
  const onFlows = (schema: string, event: string, body: string) =>
    admin.query(`CREATE SEQUENCE IF NOT EXISTS ${schema}.tries;
      CREATE FUNCTION ${schema}.interferes() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN ${body} END $$;
      CREATE TRIGGER interferes BEFORE ${event} ON ${schema}.cross_border_flows
        FOR EACH ROW EXECUTE FUNCTION ${schema}.interferes()`);
  const triesIn = async (schema: string) =>
    Number((await admin.query(`SELECT last_value FROM ${schema}.tries`)).rows[0]?.last_value);

  it("confirms no state in whose place a trigger has kept the one before", async () => {
    const { schema } = inSchema();
    const journal = await openJournal(url, { schema });
    const owned = await Promise.all(["alone", "one", "other"].map((key) => begin(journal, key)));
    const quote = { ...state, phase: "quoted", settled: true, quoteTtlMs: 60_000 };
    const { entry: quoted } = await journal.begin("quoted", scope, quote, newLease());
    await onFlows(schema, "UPDATE", "RETURN OLD;");
    const written = owned.map((entry) => () => journal.write(entry.key, entry, { ...state, data: "new" }));
    expect([await written[0]?.(), ...(await Promise.all(written.map((write) => write())))]).not.toContain(true);
    expect(await journal.write("quoted", quoted, state, { lease: newLease(), inTime: false })).toBe(false);
    const { entry: settled } = await journal.begin("settled", scope, { ...state, settled: true }, newLease());
    expect(await journal.acquire(settled.key, newLease())).toBeUndefined();
  });

  it.each([3, 99])("begins a flow that is neither there nor not at first, in up to 8 tries (%i)", async (stored) => {
    const { schema } = inSchema();
    const journal = await openJournal(url, { schema });
    const ignored = `IF nextval('${schema}.tries') < ${stored} THEN RETURN NULL; END IF; RETURN NEW;`;
    await onFlows(schema, "INSERT", ignored);
    const beginning = journal.begin("k", scope, state, newLease());
    if (stored === 3) expect(await beginning).toMatchObject({ created: true, entry: { key: "k" } });
    else {
      const message = expect.stringMatching(/that it is there, and does not show it/);
      expect(await failure(beginning)).toMatchObject({ name: "JournalError", stored: "unknown", message });
    }
    expect(await triesIn(schema)).toBe(Math.min(stored, 8));
  });

  it.each([3, 99])("prunes once more what the server has rolled back, in up to 10 tries (%i)", async (works) => {
    const { schema } = inSchema();
    const pool = new pg.Pool({ connectionString: url, max: 1 });
    onTestFinished(() => pool.end());
    const journal = await openJournal(pool, { schema });
    await journal.begin("k", scope, { ...state, phase: "declined", settled: true }, newLease());
    const rolledBack = "RAISE 'conflict' USING ERRCODE = 'serialization_failure'";
    await onFlows(schema, "UPDATE", `IF nextval('${schema}.tries') < ${works} THEN ${rolledBack}; END IF; RETURN NEW;`);
    let calls = 0;
    // A try can find the flow locked by the one before, which is being rolled back, and leave it to the next call.
    const prune = async (): Promise<object> => {
      calls += 1;
      const pruned = await journal.prune({ settledBeforeMs: Date.now() + 60_000 });
      return pruned.settled === 0 ? prune() : pruned;
    };
    if (works === 3) expect(await prune()).toEqual({ settled: 1, quoted: 0 });
    else expect(await failure(prune())).toMatchObject({ name: "JournalError", stored: "nothing" });
    const tries = await triesIn(schema);
    if (works === 3 || calls === 1) expect(tries).toBe(Math.min(works, 10));
    else expect(tries).toBeGreaterThan(10);
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

  it("keeps no process that has closed it, before a server that responds no longer", async () => {
    const { schema } = inSchema();
    const { hostname, port } = new URL(url);
    let isGone = false;
    const ends: (() => void)[] = [];
    const relay = createServer({ allowHalfOpen: true }, (client) => {
      const upstream = connect({ host: hostname, port: Number(port) });
      for (const [from, to] of [
        [client, upstream],
        [upstream, client],
      ] as const) {
        from.unref().on("error", () => {});
        from.on("data", (bytes) => isGone || to.write(bytes));
        ends.push(() => from.destroy());
      }
    }).listen(0, "127.0.0.1");
    await once(relay, "listening");
    onTestFinished(() => [() => relay.close(), ...ends].forEach((end) => void end()));
    const address = relay.address();
    const own = Object.assign(new URL(url), { port: typeof address === "object" ? address?.port : "" });
    const sockets = () => process.getActiveResourcesInfo().filter((name) => name === "TCPSocketWrap").length;
    const before = sockets();
    const journal = await PostgresJournal.open(own.href, { schema });
    isGone = true;
    await journal.close();
    expect(sockets()).toBeLessThanOrEqual(before);
  });

  it.each(["read", "list"] as const)("leaves the server no statement that it waits for no longer: %s", async (name) => {
    const { schema } = inSchema();
    const journal = await openInTime(url, { schema, timeoutMs: 300 });
    const locker = await admin.connect();
    onTestFinished(() => locker.release(true));
    await locker.query(`BEGIN; LOCK TABLE ${schema}.cross_border_flows`);
    const ask = () => (name === "read" ? journal.read("k") : journal.list({ scope, limit: 1 }));
    for (const _ of [1, 2, 3]) expect(await failure(ask())).toMatchObject({ name: "JournalError" });
    const left = "SELECT pid FROM pg_locks WHERE NOT granted AND relation = $1::regclass";
    const waiting = async () => (await locker.query(left, [`${schema}.cross_border_flows`])).rows;
    await eventually(async () => expect(await waiting()).toEqual([]));
  });

  it("keeps to a shorter statement_timeout of its role", async () => {
    const role = newSchema();
    await admin.query(
      `CREATE ROLE ${role} SUPERUSER LOGIN PASSWORD '${role}'; ALTER ROLE ${role} SET statement_timeout = '100ms'`,
    );
    const own = new URL(url);
    [own.username, own.password] = [role, role];
    onTestFinished(async () => void (await admin.query(`DROP OWNED BY ${role} CASCADE; DROP ROLE ${role}`)));
    const journal = await openInTime(own.href, { schema: role });
    const locker = await admin.connect();
    onTestFinished(() => locker.release(true));
    await locker.query(`BEGIN; LOCK TABLE ${role}.cross_border_flows`);
    expect(await failure(journal.read("k"))).toMatchObject({ message: expect.stringContaining("canceled (57014)") });
  });

  it("refuses a database in another encoding", async () => {
    const name = newSchema();
    await admin.query(`CREATE DATABASE ${name} ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0`);
    const other = new URL(url);
    other.pathname = `/${name}`;
    expect(await failure(PostgresJournal.open(other.href))).toMatchObject({
      name: "ConfigError",
      message: expect.stringContaining("UTF8"),
    });
    await admin.query(`DROP DATABASE ${name}`);
  });

  it("refuses connections in another encoding, over which others would not find its keys", async () => {
    const pool = new pg.Pool({ connectionString: url });
    onTestFinished(() => pool.end());
    pool.on("connect", (client) => void client.query("SET client_encoding TO 'LATIN1'"));
    expect(await failure(PostgresJournal.open(pool, { schema: newSchema() }))).toMatchObject({
      name: "ConfigError",
      message: expect.stringContaining("UTF8"),
    });
  });
});

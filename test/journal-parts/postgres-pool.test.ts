import { EventEmitter } from "node:events";
import { expect, it, onTestFinished, vi } from "vitest";
import { onConnection } from "../../src/journals/postgres-connection.js";
import { foreignPool, openPool } from "../../src/journals/postgres-pool.js";

function fakePool() {
  const released: unknown[] = [];
  const connection = Object.assign(new EventEmitter(), {
    query: async (_text: string) => ({ rows: [] }),
    release: (destroy?: boolean) => released.push(destroy),
  });
  return { connection, released, connect: async () => connection };
}

it("outlives a connection that breaks between two statements, and closes it", async () => {
  const { connection, released, connect } = fakePool();
  const work = async () => {
    connection.emit("error", new Error("the server ended it"));
    throw new Error("the next statement");
  };
  await expect(onConnection({ connect }, work)).rejects.toThrow("the next statement");
  expect([released, connection.listenerCount("error")]).toEqual([[true], 0]);
});

it("gives a connection back whose work is done", async () => {
  const { connection, released, connect } = fakePool();
  expect(await onConnection({ connect }, async ({ query }) => (await query("SELECT 1")).rows)).toEqual([]);
  expect([released, connection.listenerCount("error")]).toEqual([[false], 0]);
});

/** Somebody else's pool, whose connections tell of a transaction what they are given to tell. */
function somebodysPool(tell: (() => string | null) | undefined) {
  const calls: string[] = [];
  const connection = {
    query: async (text: string) => {
      calls.push(`connection ${text}`);
      if (text === "fails") throw new Error("mine");
      return { rows: [text] };
    },
    release: (destroy?: boolean) => void calls.push(`release ${destroy}`),
    ...(tell !== undefined && { getTransactionStatus: tell }),
  };
  const query = async (text: string) => {
    calls.push(`pool ${text}`);
    return { rows: [text] };
  };
  const connect = async () => {
    calls.push("connect");
    return connection;
  };
  return { calls, opened: foreignPool({ query, connect }) };
}

it.each([
  ["no transaction", () => "I"],
  ["nothing yet", () => null],
  [
    "that they can't say",
    () => {
      throw new Error("pg-native is too old");
    },
  ],
])("sends on somebody's connections that tell of %s", async (_, tell) => {
  const { calls, opened } = somebodysPool(tell);
  expect(await opened.queryOften("a")).toEqual({ rows: ["a"] });
  await expect(opened.pool.query("fails")).rejects.toThrow("mine");
  await opened.close();
  expect(calls).toEqual(["connect", "connection a", "release false", "connect", "connection fails", "release true"]);
});

it.each(["T", "E"])("sends nothing on a connection on which a transaction is open (%s)", async (status) => {
  const { calls, opened } = somebodysPool(() => status);
  for (const work of [() => opened.queryOften("a"), () => opened.pool.connect()]) {
    await expect(work()).rejects.toMatchObject({
      name: "JournalError",
      message: expect.stringMatching(/^PostgresJournal: a transaction is/),
    });
  }
  expect(calls).toEqual(["connect", "release undefined", "connect", "release undefined"]);
});

it("leaves it to somebody's pool where its connections tell nothing, and asks them once", async () => {
  const { calls, opened } = somebodysPool(undefined);
  expect(await opened.queryOften("a")).toEqual({ rows: ["a"] });
  expect(await opened.pool.query("b")).toEqual({ rows: ["b"] });
  expect(calls).toEqual(["connect", "release false", "pool a", "pool b"]);
});

it("opens a pool that waits no longer than it may, and keeps connections that nothing is sent on", async () => {
  const { pool, close } = await openPool("postgres://localhost:1/db", 50);
  expect(Reflect.get(pool, "options")).toMatchObject({
    ...{ connectionTimeoutMillis: 50, query_timeout: 50, keepAlive: true },
    fallback_application_name: "cross-border-payments",
  });
  const client = new EventEmitter();
  Object(pool).emit("connect", client);
  for (const emitter of [Object(pool), client]) emitter.emit("error", new Error("a connection broke"));
  await close();
  await expect(pool.query("SELECT 1")).rejects.toThrow("after calling end");
});

it.each(["", "payments", "xpostgres://host/db", "postgresqlx://host/db", "postgres"])(
  "refuses %j, which is no URL of PostgreSQL",
  async (url) => {
    await expect(openPool(url, 50)).rejects.toMatchObject({
      name: "ConfigError",
      message:
        "PostgresJournal: the URL must be of the form postgresql://host:5432/database, with user:password@ before the host",
    });
  },
);

const askPid = "SELECT pg_backend_pid() AS pid";
const settings = [expect.stringMatching(/'enable_seqscan', 'off'.*'statement_timeout'/s), [50]];
const prepared = /^cross_border_[0-9a-f]{32}$/;

/** A pool of `pg` with one connection, which says that it leads to process 7. */
async function poolToProcess(pid: number, failures: (Error | undefined)[] = []) {
  const { pool, query: queryOnce, queryOften } = await openPool("postgres://localhost:1/db", 50);
  const sent: unknown[] = [];
  const query = async (text: unknown, values?: unknown) => {
    sent.push(values === undefined ? text : [text, values]);
    const failure = typeof text === "string" && text !== "a" ? undefined : failures.shift();
    if (failure !== undefined) throw failure;
    return { rows: text === askPid ? [{ pid }] : [text] };
  };
  const release = (destroy?: boolean) => void sent.push(`release ${destroy}`);
  const client = { processID: 7, query, release };
  vi.spyOn(pool, "connect").mockImplementation(async () => client);
  return { sent, queryOnce, queryOften };
}
const named = (text: string, values: unknown[] = []) => ({ name: expect.stringMatching(prepared), text, values });

it("prepares on a connection that leads straight to its process, which it asks once", async () => {
  const { sent, queryOften } = await poolToProcess(7);
  await queryOften("a", [1]);
  await queryOften("b");
  await queryOften("a", [2]);
  const ends = "release false";
  expect(sent).toEqual([askPid, settings, named("a", [1]), ends, named("b"), ends, named("a", [2]), ends]);
  const names = sent.map((each) => Reflect.get(Object(each), "name")).filter((name) => name !== undefined);
  expect([names[0] === names[1], names[0] === names[2]]).toEqual([false, true]);
});

it("sends what is not sent often as it is, with the same settings", async () => {
  const { sent, queryOnce } = await poolToProcess(7);
  expect((await queryOnce("a", [1])).rows).toEqual(["a"]);
  await queryOnce("b");
  expect(sent).toEqual([askPid, settings, ["a", [1]], "release false", ["b", []], "release false"]);
});

it("prepares nothing on a connection that leads to another process", async () => {
  const { sent, queryOften } = await poolToProcess(8);
  expect((await queryOften("a", [1])).rows).toEqual(["a"]);
  await queryOften("a");
  expect(sent).toEqual([askPid, ["a", [1]], "release false", ["a", []], "release false"]);
});

it.each(["26000", "42P05", "0A000"])(
  "sends a statement that was not prepared after all as it is (%s)",
  async (code) => {
    const { sent, queryOften } = await poolToProcess(7, [Object.assign(new Error("driver"), { code })]);
    await queryOften("a", [1]);
    expect(sent.splice(0)).toEqual([askPid, settings, named("a", [1]), "release true", ["a", [1]], "release false"]);
    await queryOften("a", [2]);
    expect(sent).toEqual([["a", [2]], "release false"]);
  },
);

it("repeats nothing that has failed otherwise, or as it is", async () => {
  const failures = ["40001", "0A000", "0A000", "0A000"].map((code) => Object.assign(new Error(code), { code }));
  const { sent, queryOften } = await poolToProcess(7, failures);
  await expect(queryOften("a")).rejects.toThrow("40001");
  expect(sent.splice(0)).toEqual([askPid, settings, named("a"), "release true"]);
  await expect(queryOften("a")).rejects.toThrow("0A000");
  expect(sent.splice(0)).toEqual([named("a"), "release true", ["a", []], "release true"]);
  await expect(queryOften("a")).rejects.toThrow("0A000");
  expect(sent).toEqual([["a", []], "release true"]);
});

it("says what to install where pg is missing", async () => {
  const missing = new Error("Cannot find package 'pg'");
  vi.doMock("pg", () => {
    throw missing;
  });
  onTestFinished(() => void vi.doUnmock("pg"));
  await expect(openPool("postgres://localhost:1/db", 50)).rejects.toMatchObject({
    name: "ConfigError",
    message:
      "PostgresJournal: the package pg can't be loaded. Install it (npm install pg), or pass a pool in place of the URL.",
    cause: expect.anything(),
  });
});

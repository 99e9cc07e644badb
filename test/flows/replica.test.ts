import { PostgresJournal } from "cross-border-payments/journal/postgres";
import pg from "pg";
import { describe, expect, it, onTestFinished } from "vitest";
import { PostgresServer } from "../crash/postgres-server.js";
import { begin, failure, newLease, scope, state } from "../journals/journal-fixture.js";
import { eventually } from "../support/eventually.js";
import { flowFixture, request } from "./flow-fixture.js";
import { errorOf } from "./results.js";

/** A server with a replica, and a pool that sends to the replica whatever begins with SELECT, as pgpool and such proxies do. */
async function splitPool() {
  const server = await PostgresServer.start();
  onTestFinished(() => server[Symbol.asyncDispose]());
  const primary = new pg.Pool({ connectionString: server.url });
  onTestFinished(() => primary.end());
  const journal = await PostgresJournal.open(primary);
  const standby = await server.standby();
  onTestFinished(() => standby[Symbol.asyncDispose]());
  const replica = new pg.Pool({ connectionString: standby.url });
  onTestFinished(() => replica.end());
  for (const pool of [primary, replica]) pool.on("error", () => {});
  const statements: string[] = [];
  const query = (text: string, values?: unknown[]) => {
    statements.push(text);
    return (/^\s*SELECT/i.test(text) ? replica : primary).query(text, values);
  };
  const split = await PostgresJournal.open({ query, connect: async () => ({ query, release: () => {} }) });
  return { journal, split, replica, statements };
}

describe.skipIf(process.env.CBP_POSTGRES_URL === undefined)("a pool that sends reads to a replica", () => {
  it("is noticed by each read, whether the replica lags or not", async () => {
    const { journal, split, replica } = await splitPool();
    await begin(journal, "k");
    await eventually(async () =>
      expect((await replica.query("SELECT 1 FROM cross_border_flows")).rows).toHaveLength(1),
    );
    await replica.query("SELECT pg_wal_replay_pause()");
    await begin(journal, "later");
    const isOfReplica = {
      name: "JournalError",
      code: "journal_replica",
      message: expect.stringContaining("to the primary"),
    };
    for (const key of ["k", "later", "none"]) expect(await failure(split.read(key))).toMatchObject(isOfReplica);
    expect(await failure(Promise.all([split.read("k"), split.read("later")]))).toMatchObject(isOfReplica);
    expect(await failure(split.list({ scope, limit: 10 }))).toMatchObject(isOfReplica);
    expect(await failure(split.list({ scope, limit: 10, phase: state.phase }))).toMatchObject(isOfReplica);
    expect(await failure(split.overlong({ scope, limit: 10 }))).toMatchObject(isOfReplica);
    expect(await failure(split.counts(scope))).toMatchObject(isOfReplica);
    expect(await failure(split.scopes())).toMatchObject(isOfReplica);
    expect(await failure(split.backlog())).toMatchObject(isOfReplica);
  });

  it("lets no flow decide anything, nor ask the database again and again", async () => {
    const { journal, split, replica, statements } = await splitPool();
    await replica.query("SELECT pg_wal_replay_pause()");
    const { flow, bank, sandbox } = await flowFixture();
    expect(await flow({ journal }).run("paid", request)).toMatchObject({ status: "paid" });
    const quoted = await flow({ journal }).quote("quoted", request);
    const calls = bank.calls;
    statements.length = 0;
    const other = flow({ journal: split });
    const calledFor = [
      () => other.run("paid", request),
      () => other.confirm("quoted", { intentId: quoted.intent.id }),
      () => other.run("new", request),
    ];
    for (const call of calledFor) {
      const error = await errorOf(call());
      const codes = [error, error.cause].map((reason) => Reflect.get(Object(reason), "code"));
      expect(codes).toContain("journal_replica");
      expect(error).toMatchObject({ effect: "possible" });
    }
    expect(await failure(other.status("paid"))).toMatchObject({ code: "journal_replica" });
    expect(await failure(split.begin("paid", scope, state, newLease()))).toMatchObject({ code: "journal_replica" });
    expect({ calls: bank.calls, payments: sandbox.payments.length }).toEqual({ calls, payments: 1 });
    expect(statements.length).toBeLessThan(40);
    expect(await flow({ journal }).confirm("quoted", { intentId: quoted.intent.id })).toMatchObject({ status: "paid" });
  });
});

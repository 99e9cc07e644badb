import { randomBytes } from "node:crypto";
import type { Journal } from "cross-border-payments/flow";
import { PostgresJournal } from "cross-border-payments/journal/postgres";
import { SqliteJournal } from "cross-border-payments/journal/sqlite";
import { describe, expect, it, onTestFinished } from "vitest";
import { recordsIn, run } from "../cli/run.js";
import { flowFixture } from "../flows/flow-fixture.js";
import { postgresUrl, sql } from "../support/database.js";
import { failure } from "./journal-fixture.js";
import { postgresOf, release03, sqliteOf } from "./releases.js";
import { likeBetterSqlite3, nodeSqlite, openHandle } from "./sqlite-fixture.js";

type Rows = readonly Readonly<Record<string, unknown>>[];

const service = "service.test";

/** What a release left behind, and how this one opens it. */
interface Left {
  open(): Promise<Journal>;
  rows(table: "flows" | "version"): Promise<Rows>;
  /** Lists its flows by the CLI. */
  list(): ReturnType<typeof run>;
}

function inFile(name: string, isHandle: boolean): Left {
  const path = sqliteOf(name);
  const read = (text: string) => openHandle(path).prepare(text).all() as Rows;
  return {
    open: () => SqliteJournal.open(isHandle ? likeBetterSqlite3(openHandle(path)) : path),
    rows: async (table) => read(table === "flows" ? "SELECT * FROM flows ORDER BY key" : "PRAGMA user_version"),
    list: () => run(["flows", "list", "--service", service, "--journal", path]),
  };
}

async function inSchema(name: string, isByAdministrator: boolean): Promise<Left> {
  const schema = `release_${randomBytes(6).toString("hex")}`;
  onTestFinished(() => void sql(`DROP SCHEMA ${schema} CASCADE`));
  await sql(postgresOf(name, schema));
  const { username: role } = new URL(postgresUrl);
  return {
    async open() {
      if (isByAdministrator) await sql(PostgresJournal.schema({ schema, role, from: 3 }));
      return PostgresJournal.open(postgresUrl, { schema, migrate: !isByAdministrator });
    },
    rows: (table) =>
      table === "flows"
        ? sql(`SELECT * FROM ${schema}.cross_border_flows ORDER BY key`)
        : sql(`SELECT version FROM ${schema}.cross_border_flows_version`),
    list: () =>
      run(["flows", "list", "--service", service, "--schema", schema], { env: { CROSS_BORDER_JOURNAL: postgresUrl } }),
  };
}

const { request, outcomes } = release03;
const settled = Object.entries(outcomes)
  .filter(([key]) => key !== "pruned" && key !== "held-unsent")
  .sort();
const details: Readonly<Record<string, object>> = {
  paid: { payment: { senderGatewayTransactionId: expect.stringMatching(/^TX-/) } },
  rejected: { refusal: { by: "service", status: 400 } },
};

function withoutOldColumns({ evidence, lease_ms, lease_nonce, incarnation_mark, ...row }: Rows[number]) {
  return row;
}

const ways: readonly (readonly [name: string, isHere: boolean, of: (name: string) => Left | Promise<Left>])[] = [
  ["a file, in its thread", nodeSqlite !== undefined, (name) => inFile(name, false)],
  ["a file, over a handle that is passed in", nodeSqlite !== undefined, (name) => inFile(name, true)],
  ["tables", postgresUrl !== "", (name) => inSchema(name, false)],
  ["tables, by the SQL for an administrator", postgresUrl !== "", (name) => inSchema(name, true)],
];

for (const [way, isHere, leftBy] of ways) {
  describe.skipIf(!isHere)(`release 0.3.0 left ${way}`, () => {
    it("which stays as it is while a flow is open", async () => {
      const left = await leftBy("0.3.0-open");
      const before = await left.rows("flows");
      expect(before.filter(({ key }) => /^stopped/.test(String(key)))).toMatchObject([
        { phase: "claimed" },
        { phase: "funds-requested" },
        { phase: "refused" },
        { phase: "unknown" },
      ]);
      const error = await failure(left.open());
      if (way.endsWith("administrator")) expect(error).toMatchObject({ code: "P0001" });
      else
        expect(error).toMatchObject({
          code: "journal_outdated",
          message: expect.stringMatching(/"stopped-claimed" is open/),
        });
      expect((await left.list()).code).toBe(3);
      expect(await left.rows("flows")).toEqual(before);
      expect(Object.values((await left.rows("version"))[0] ?? {})).toEqual([3]);
    });

    it("whose settled keys keep their outcomes", async () => {
      const left = await leftBy("0.3.0");
      const before = await left.rows("flows");
      const journal = await left.open();
      onTestFinished(() => journal.close());
      const kept = before.filter(({ key }) => key !== "quoted");
      expect(await left.rows("flows")).toEqual(kept.map((row) => ({ ...withoutOldColumns(row), service })));
      const { sandbox, bank, flow: flowOf } = await flowFixture();
      const sent = sandbox.requests.length;
      const flow = flowOf({ journal });
      for (const [key, status] of settled) {
        expect(await flow.run(key, request)).toMatchObject({ key, status, ...details[status] });
      }
      const effect = "possible";
      await expect(flow.run("pruned", request)).rejects.toMatchObject({ code: "flow_pruned", effect });
      // Its request was never signed, so only release 0.3.0 can decide about it.
      const cause = expect.objectContaining({ code: "flow_unreadable" });
      await expect(flow.run("held-unsent", request)).rejects.toMatchObject({ effect, cause });
      expect(await flow.status("quoted")).toBeUndefined();
      expect([sandbox.requests.length, bank.calls]).toEqual([sent, 0]);
      const { code, stdout, stderr } = await left.list();
      expect(recordsIn(stdout).map(({ key, phase }) => [key, phase])).toEqual(settled);
      expect([code, stderr]).toEqual([1, expect.stringContaining('"held-unsent"')]);
      const decided = flow.resolve("held", "release", { by: "olga", why: "ticket 4711" });
      expect(await decided).toMatchObject({ status: "rejected", refusal: { by: "operator" } });
      expect(bank.released).toEqual(["held"]);
      expect(await flow.run("new", request)).toMatchObject({ status: "paid" });
      expect(await journal.prune({ settledBeforeMs: Date.now() + 60_000 })).toEqual({ settled: 8, quoted: 0 });
    });
  });
}

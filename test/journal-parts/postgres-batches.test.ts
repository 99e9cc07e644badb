import { setImmediate } from "node:timers";
import { beforeEach, expect, it, onTestFinished, vi } from "vitest";
import type { Row } from "../../src/journals/entry-of-row.js";
import { PostgresBatches } from "../../src/journals/postgres-batches.js";
import { postgresStatements } from "../../src/journals/postgres-statements.js";
import { tablesOf } from "../../src/journals/postgres-tables.js";

const { keyed } = postgresStatements(tablesOf("public", "flows"));

/** A statement that was sent, and what ends it. */
interface Sent {
  readonly text: string;
  readonly values: readonly unknown[];
  readonly keys: readonly string[];
  readonly reply: (rows: readonly Row[]) => void;
  readonly fail: (error: unknown) => void;
}
let sent: Sent[] = [];
let batches: PostgresBatches;
beforeEach(() => {
  sent = [];
  batches = new PostgresBatches((text, values = []) => {
    const isTogether = text.includes("json_to_recordset");
    const inputs = isTogether ? (JSON.parse(String(values[0])) as Row[]) : [{ key: values[0] }];
    const keys = inputs.map(({ key }) => String(key));
    return new Promise((resolve, reject) => {
      sent.push({ text, values, keys, reply: (rows) => resolve({ rows: [...rows] }), fail: reject });
    });
  }, keyed);
});

/** Lets what was asked for, or replied to, take effect. */
const turn = () => new Promise((resolve) => setImmediate(() => setImmediate(resolve)));
const read = (key: string) => batches.run("read", { key });
const release = (key: string) => batches.run("release", { key, epoch: 1, nonce: "n" });
const named = (count: number, name = "k") => Array.from({ length: count }, (_, index) => `${name}${index}`);
const replyAll = async () => {
  for (const { keys, reply } of sent.splice(0)) reply(keys.map((key) => ({ key, free_key: key })));
  await turn();
};
const driverError = (code: string) => Object.assign(new Error("driver"), { code });

it("sends a hundred keys of one statement at a time, and two such statements at once", async () => {
  const replies = Promise.all(named(250).map(read));
  await turn();
  expect(sent.map(({ keys }) => keys.length)).toEqual([100, 100]);
  sent[0]?.reply([]);
  await turn();
  expect(sent.map(({ keys }) => keys.length)).toEqual([100, 100, 50]);
  expect(sent.flatMap(({ keys }) => keys)).toEqual(named(250));
  for (const { keys, reply } of sent.slice(1)) reply(keys.map((key) => ({ key })));
  const rows = await replies;
  expect(rows.slice(0, 100)).toEqual(Array.from({ length: 100 }));
  expect(rows.slice(100)).toEqual(named(150).map((_, index) => ({ key: `k${index + 100}` })));
});

it("sends what it is asked for while somebody's test has the timers in its hands", async () => {
  vi.useFakeTimers();
  onTestFinished(() => void vi.useRealTimers());
  void read("a");
  await turn();
  expect(sent.map(({ keys }) => keys)).toEqual([["a"]]);
});

it("sends what came first, and with it only what is asked for by the same statement", async () => {
  const replies = Promise.all([read("a"), release("b"), read("c"), release("d")]);
  await turn();
  expect(sent.map(({ text, keys }) => [text, keys])).toEqual([
    [keyed.read.together, ["a", "c"]],
    [keyed.release.together, ["b", "d"]],
  ]);
  await replyAll();
  expect((await replies).map((row) => row?.key)).toEqual(["a", "b", "c", "d"]);
});

it("begins no longer a statement than one that has a million characters of data already", async () => {
  const half = { phase: "p", settled: false, data: "x".repeat(500_000), ttl_ms: null };
  const rest = { service: "s", gateway: "g", nonce: "n", owner: "o", lease_ms: 1, ...half };
  const replies = Promise.all(named(5).map((key) => batches.run("begin", { key, ...rest })));
  await turn();
  expect(sent.map(({ keys }) => keys)).toEqual([
    ["k0", "k1"],
    ["k2", "k3"],
  ]);
  await replyAll();
  await replyAll();
  expect((await replies).map((row) => row?.key)).toEqual(named(5));
});

it("sends long texts beside the JSON, and alone what has in it what separates them", async () => {
  const begin = (key: string, data: string) =>
    batches.run("begin", {
      ...{ key, service: "s", gateway: "g", nonce: "n", owner: "o", lease_ms: 1 },
      ...{ phase: "p", settled: false, data, ttl_ms: null },
    });
  const replies = Promise.all([begin("a", '{"a":1}'), begin("b", '"'), begin("c", "1\u00012"), begin("d", "\u0001")]);
  await turn();
  expect(sent.map(({ text, keys }) => [text, keys])).toEqual([
    [keyed.begin.alone, ["c"]],
    [keyed.begin.alone, ["d"]],
    [keyed.begin.together, ["a", "b"]],
  ]);
  expect(sent[0]?.values).toContain("1\u00012");
  const [json, ...texts] = sent[2]?.values ?? [];
  expect(texts).toEqual(['\u0001{"a":1}\u0001"']);
  expect(String(json)).not.toMatch(/data/);
  await replyAll();
  expect((await replies).map((row) => row?.key)).toEqual(["a", "b", "c", "d"]);
});

it("sends by the simple statement what comes while nothing else is under way, and only that", async () => {
  const first = read("a");
  await turn();
  const second = read("b");
  await turn();
  const other = read("b2");
  await turn();
  expect(sent.map(({ text }) => text)).toEqual([keyed.read.alone, keyed.read.together, keyed.read.together]);
  await replyAll();
  await Promise.all([first, second, other]);
  const third = read("c");
  await turn();
  expect(sent.map(({ text }) => text)).toEqual([keyed.read.alone]);
  await replyAll();
  await third;
});

it("sends alone what a statement of many passed over, four at a time and beside others", async () => {
  const replies = Promise.all(named(6).map(release));
  await turn();
  sent.splice(0)[0]?.reply([{ key: "k0", free_key: "k0" }]);
  await turn();
  expect(sent.map(({ text }) => text)).toEqual(Array.from({ length: 4 }, () => keyed.release.alone));
  const other = Promise.all(named(2, "other").map(release));
  await turn();
  expect(sent.slice(4).map(({ keys }) => keys)).toEqual([["other0", "other1"]]);
  sent.splice(0, 1)[0]?.reply([{ key: "k1" }]);
  await turn();
  expect(sent.at(-1)?.keys).toEqual(["k5"]);
  await replyAll();
  await other;
  expect((await replies).map((row) => row?.key)).toEqual(named(6));
});

it("sends alone what a statement of many was refused for, so that each has its own failure", async () => {
  const replies = Promise.allSettled(["a", "b"].map(release));
  await turn();
  sent.splice(0)[0]?.fail(driverError("P0001"));
  await turn();
  expect(sent.map(({ text, values }) => [text, values])).toEqual([
    [keyed.release.alone, ["a", 1, "n"]],
    [keyed.release.alone, ["b", 1, "n"]],
  ]);
  sent[0]?.reply([{ key: "a" }]);
  sent[1]?.fail(driverError("P0001"));
  expect(await replies).toMatchObject([
    { value: { key: "a" } },
    {
      reason: {
        stored: "nothing",
        message: "PostgresJournal could not release a lease: the database refused (P0001).",
      },
    },
  ]);
});

it.each(["ECONNRESET", "EPIPE", "57P01"])("repeats nothing whose connection ended (%s)", async (code) => {
  const replies = Promise.allSettled(["a", "b"].map(release));
  await turn();
  sent.splice(0)[0]?.fail(driverError(code));
  for (const reply of await replies) expect(reply).toMatchObject({ reason: { stored: "unknown" } });
  await turn();
  expect(sent).toEqual([]);
});

it("tries ten times what was rolled back in favour of others", async () => {
  const replies = Promise.allSettled([release("a")]);
  await turn();
  for (let attempt = 1; attempt < 10; attempt++) {
    sent.splice(0)[0]?.fail(driverError("40001"));
    await turn();
    expect(sent).toHaveLength(1);
  }
  sent.splice(0)[0]?.fail(driverError("40001"));
  expect(await replies).toMatchObject([
    { reason: { name: "JournalError", message: expect.stringMatching(/release a lease/) } },
  ]);
  expect(sent).toEqual([]);
});

it("tells a key without a row, or with one that does not apply to it, from one with a row", async () => {
  const replies = Promise.all(["a", "b", "c"].map(release));
  await turn();
  sent.splice(0)[0]?.reply([
    { key: null, free_key: "a" },
    { key: "b", free_key: "b" },
    { key: "c", free_key: "c" },
  ]);
  expect(await replies).toEqual([undefined, { key: "b", free_key: "b" }, { key: "c", free_key: "c" }]);
  const alone = read("d");
  await turn();
  sent.splice(0)[0]?.reply([{ key: null }]);
  expect(await alone).toBeUndefined();
});

it("refuses what a replica has read, alone or together", async () => {
  for (const keys of [["a"], ["a", "b"]]) {
    const replies = Promise.allSettled(keys.map(read));
    await turn();
    sent.splice(0)[0]?.reply([{ is_replica: 1, key: null }]);
    for (const reply of await replies) expect(reply).toMatchObject({ reason: { code: "journal_replica" } });
  }
});

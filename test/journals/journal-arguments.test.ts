import { type Journal, MemoryJournal } from "cross-border-payments/flow";
import { expect, it } from "vitest";

const state = { phase: "created", settled: false, data: "{}" };
const lease = { owner: "one", leaseMs: 1000 };
const refused = (work: (journal: Journal) => Promise<unknown>) =>
  expect(work(new MemoryJournal())).rejects.toMatchObject({ name: "InvalidArgumentError", effect: "none" });

it.each([
  ["an empty key", ""],
  ["a key with U+0000", "a\0b"],
  ["a key with a lone surrogate", "a\uD800"],
  ["a key of more than 1,024 bytes", "é".repeat(513)],
])("refuses %s", async (_, key) => {
  await refused((journal) => journal.begin(key, state, lease));
  await refused((journal) => journal.read(key));
  await refused((journal) => journal.acquire(key, lease));
  await refused((journal) => journal.write(key, 1, state));
  await refused((journal) => journal.renew(key, 1, 1000));
  await refused((journal) => journal.release(key, 1));
});

it("keeps a key of 1,024 bytes", async () => {
  const key = "é".repeat(512);
  const { created } = await new MemoryJournal().begin(key, state, lease);
  expect(created).toBe(true);
});

it.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 31])("refuses a lease of %s ms", async (leaseMs) => {
  await refused((journal) => journal.begin("k", state, { ...lease, leaseMs }));
  await refused((journal) => journal.acquireAbandoned({ ...lease, leaseMs }, undefined));
  await refused((journal) => journal.renew("k", 1, leaseMs));
});

it("refuses phases, data, epochs and limits that no journal can keep", async () => {
  await refused((journal) => journal.begin("k", { ...state, phase: "" }, lease));
  await refused((journal) => journal.begin("k", { ...state, phase: "p".repeat(129) }, lease));
  await refused((journal) => journal.write("k", 1, { ...state, data: "\0" }));
  await refused((journal) => journal.write("k", 0, state));
  await refused((journal) => journal.list({ phase: "held", limit: 0 }));
  await refused((journal) => journal.list({ phase: "held", limit: 1, after: "\0" }));
});

it("does not show a key in its refusal: keys can be account numbers", async () => {
  const error: unknown = await new MemoryJournal().read("CH9300762011623852957\0").catch((reason: unknown) => reason);
  expect(String(error)).not.toContain("CH93");
});

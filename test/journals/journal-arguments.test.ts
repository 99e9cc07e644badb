import { type Journal, MemoryJournal } from "cross-border-payments/flow";
import { expect, it } from "vitest";
import { newLease, scope, state } from "./journal-fixture.js";

const lease = newLease();
const id = { epoch: 1, nonce: "a nonce" };
const refused = (work: (journal: Journal) => Promise<unknown>) =>
  expect(work(new MemoryJournal())).rejects.toMatchObject({ name: "InvalidArgumentError", effect: "none" });

it.each([
  ["an empty key", ""],
  ["a key with U+0000", "a\0b"],
  ["a key with a lone surrogate", "a\uD800"],
  ["a key of more than 1,024 bytes", "é".repeat(513)],
])("refuses %s", async (_, key) => {
  await refused((journal) => journal.begin(key, scope, state, lease));
  await refused((journal) => journal.read(key));
  await refused((journal) => journal.acquire(key, lease));
  await refused((journal) => journal.write(key, id, state));
  await refused((journal) => journal.renew(key, id, 1000));
  await refused((journal) => journal.release(key, id));
  await refused((journal) => journal.replaceQuote(key, id, state, lease, undefined));
});

it("keeps a key of 1,024 bytes", async () => {
  const { created } = await new MemoryJournal().begin("é".repeat(512), scope, state, lease);
  expect(created).toBe(true);
});

it.each([0, -1, 1.5, Number.NaN, Number.POSITIVE_INFINITY, 2 ** 31])("refuses a lease of %s ms", async (leaseMs) => {
  await refused((journal) => journal.begin("k", scope, state, { ...lease, leaseMs }));
  await refused((journal) => journal.acquireAbandoned(scope, { ...lease, leaseMs }, undefined));
  await refused((journal) => journal.renew("k", id, leaseMs));
  await refused((journal) => journal.write("k", id, state, leaseMs));
});

it("refuses scopes, phases, texts, ids and limits that no journal can keep", async () => {
  await refused((journal) => journal.begin("k", { ...scope, gateway: "" }, state, lease));
  await refused((journal) => journal.begin("k", { ...scope, service: "\0" }, state, lease));
  await refused((journal) => journal.begin("k", scope, { ...state, phase: "" }, lease));
  await refused((journal) => journal.begin("k", scope, { ...state, phase: "p".repeat(129) }, lease));
  await refused((journal) => journal.begin("k", scope, { ...state, phase: "quoted", settled: true }, lease));
  await refused((journal) => journal.begin("k", scope, state, { ...lease, nonce: "" }));
  await refused((journal) => journal.begin("k", scope, state, { ...lease, nonce: "n".repeat(65) }));
  await refused((journal) => journal.write("k", id, { ...state, data: "\0" }));
  await refused((journal) => journal.write("k", id, { ...state, evidence: "\0" }));
  await refused((journal) => journal.write("k", { ...id, epoch: 0 }, state));
  await refused((journal) => journal.write("k", { ...id, nonce: "\0" }, state));
  await refused((journal) => journal.list({ scope, phase: "held", limit: 0 }));
  await refused((journal) => journal.list({ scope, phase: "held", limit: 1, after: "\0" }));
  await refused((journal) => journal.counts({ service: "" }));
});

it("refuses to prune where it is not certain what", async () => {
  await refused((journal) => journal.prune({}));
  await refused((journal) => journal.prune({ settledBeforeMs: Number.NaN }));
  await refused((journal) => journal.prune({ quotedBeforeMs: -1 }));
  await refused((journal) => journal.prune({ settledBeforeMs: 1, keep: "all" as "evidence" }));
});

it("does not show a key in its refusal: keys can be account numbers", async () => {
  const error: unknown = await new MemoryJournal().read("CH9300762011623852957\0").catch((reason: unknown) => reason);
  expect(String(error)).not.toContain("CH93");
});

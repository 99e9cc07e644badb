import { type Journal, MemoryJournal } from "cross-border-payments/flow";
import { expect, it } from "vitest";
import { newLease, scope, state } from "../journals/journal-fixture.js";

const lease = newLease();
const id = { epoch: 1, nonce: "a nonce", revision: 1 };
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
  await refused((journal) => journal.acquire("k", { ...lease, leaseMs }));
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
  await refused((journal) => journal.list({ scope: { service: "" }, limit: 1 }));
  await refused((journal) => journal.list({ scope, phase: "", limit: 1 }));
  await refused((journal) => journal.counts({ service: "" }));
  await refused((journal) => journal.counts({ ...scope, gateway: "" }));
  await refused((journal) => journal.acquireAbandoned({ service: "" }, lease, undefined));
  await refused((journal) => journal.acquireAbandoned(scope, lease, "\0"));
  await refused((journal) => journal.replaceQuote("k", id, { ...state, phase: "" }, lease, undefined));
});

it("refuses to prune where it is not certain what", async () => {
  await refused((journal) => journal.prune({}));
  await refused((journal) => journal.prune({ settledBeforeMs: Number.NaN }));
  await refused((journal) => journal.prune({ quotedBeforeMs: -1 }));
  await refused((journal) => journal.prune({ settledBeforeMs: 1, keep: "all" as "evidence" }));
});

it.each([
  { settledBeforeMs: 1 },
  { settledBeforeMs: 1, keep: undefined },
  { settledBeforeMs: 1, keep: "evidence" as const },
  { quotedBeforeMs: 1, keep: "nothing" as const },
])("prunes with %o", async (options) => {
  expect(await new MemoryJournal().prune(options)).toEqual({ settled: 0, quoted: 0 });
});

it.each<[string, (journal: Journal) => Promise<unknown>, RegExp]>([
  ["a text that is none", (journal) => journal.read(5 as never), /key must be a string/],
  ["an empty phase", (journal) => journal.list({ scope, phase: "", limit: 1 }), /phase must not be empty/],
  ["an empty gateway", (journal) => journal.counts({ ...scope, gateway: "" }), /gateway must not be empty/],
  ["an empty service", (journal) => journal.counts({ ...scope, service: "" }), /service must not be empty/],
  [
    "an empty service of a flow",
    (journal) => journal.begin("k", { ...scope, service: "" }, state, lease),
    /service must not be empty/,
  ],
  [
    "an empty gateway of a flow",
    (journal) => journal.begin("k", { ...scope, gateway: "" }, state, lease),
    /gateway must not be empty/,
  ],
  [
    "evidence that is no text",
    (journal) => journal.write("k", id, { ...state, evidence: 5 as never }),
    /evidence must be/,
  ],
  ["a lease without an end", (journal) => journal.renew("k", id, Number.POSITIVE_INFINITY), /leaseMs must be/],
  ["an epoch of 0", (journal) => journal.release("k", { ...id, epoch: 0 }), /epoch must be/],
  ["a quote's time of 0", (journal) => journal.write("k", id, { ...state, quoteTtlMs: 0 }), /quoteTtlMs must be/],
  [
    "a quote's time that no date reaches",
    (journal) => journal.write("k", id, { ...state, quoteTtlMs: 2 ** 52 }),
    /quoteTtlMs must be/,
  ],
  ["an empty nonce", (journal) => journal.acquire("k", { ...lease, nonce: "" }), /nonce must not be empty/],
  [
    "a text that is too long",
    (journal) => journal.acquire("k", { ...lease, owner: "é".repeat(513) }),
    /owner has 1026 bytes, and at most 1024/,
  ],
  [
    "a nonce that is too long",
    (journal) => journal.release("k", { ...id, nonce: "n".repeat(65) }),
    /nonce has 65 bytes/,
  ],
  ["U+0000", (journal) => journal.acquireAbandoned(scope, lease, "a\0"), /after contains U\+0000/],
  ["a lone surrogate", (journal) => journal.write("k", id, { ...state, data: "\uD800" }), /data .*lone surrogate/],
  ["a number out of range", (journal) => journal.list({ scope, limit: 0 }), /limit .*from 1 to 2147483647/],
  ["a wrong time for outcomes", (journal) => journal.prune({ settledBeforeMs: 0 }), /settledBeforeMs .*from 1/],
  ["a wrong time for quotes", (journal) => journal.prune({ quotedBeforeMs: 0 }), /quotedBeforeMs .*from 1/],
  ["no time to prune by", (journal) => journal.prune({}), /settledBeforeMs.*quotedBeforeMs/],
  ["what to keep", (journal) => journal.prune({ quotedBeforeMs: 1, keep: "all" as never }), /keep .*evidence.*nothing/],
  [
    "an end of a quote that is none",
    (journal) => journal.replaceQuote("k", id, state, lease, "no" as never),
    /expired .*boolean/,
  ],
  ["a truth that is none", (journal) => journal.write("k", id, { ...state, settled: 1 as never }), /settled .*boolean/],
  [
    "a quote without its time",
    (journal) => journal.write("k", id, { ...state, phase: "quoted", settled: true }),
    /quote .*quoteTtlMs/,
  ],
])("names the argument where it refuses %s", async (_, work, message) => {
  await expect(work(new MemoryJournal())).rejects.toMatchObject({
    name: "InvalidArgumentError",
    message: expect.stringMatching(message),
  });
});

it("does not show a key in its refusal: keys can be account numbers", async () => {
  const error: unknown = await new MemoryJournal().read("CH9300762011623852957\0").catch((reason: unknown) => reason);
  expect(String(error)).not.toContain("CH93");
});

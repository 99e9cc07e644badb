import { type JournalEntry, type JournalState, MemoryJournal } from "cross-border-payments/flow";
import { expect, it } from "vitest";

const scope = { service: "service.example", gateway: "gateway-1" };
const open = (data = "{}"): JournalState => ({ phase: "claimed", settled: false, data });
const paid: JournalState = { phase: "paid", settled: true, data: "paid" };
const quote: JournalState = { phase: "quoted", settled: true, data: "{}", quoteTtlMs: 1000 };
const lease = (nonce: string) => ({ owner: "one", leaseMs: 100, nonce });

interface World {
  readonly journal: MemoryJournal;
  /** Stored by `begin` with the nonce `a`. */
  readonly entry: JournalEntry;
  readonly pass: (ms: number) => void;
}

/** Calls, and what they reply: the laws that other journals are compared by. */
it.each<[law: string, state: JournalState, call: (world: World) => Promise<unknown>, reply: unknown]>([
  ["begin knows its repetition", open(), ({ journal }) => begin(journal, "a"), { created: true }],
  ["begin keeps what is there", open("kept"), ({ journal }) => begin(journal, "b"), { entry: { data: "kept" } }],
  ["a valid lease is kept", open(), ({ journal }) => journal.acquire("k", lease("b")), undefined],
  ["acquire knows its repetition", open(), ({ journal }) => journal.acquire("k", lease("a")), { epoch: 1 }],
  ["an ended lease is taken over", open(), (world) => later(world).acquire("k", lease("b")), { epoch: 2, nonce: "b" }],
  ["an ended lease is renewed", open(), (world) => later(world).renew("k", world.entry, 100), true],
  ["a settled flow has no lease", paid, ({ journal, entry }) => journal.renew("k", entry, 100), false],
  [
    "a settled flow is leased",
    paid,
    ({ journal }) => journal.acquire("k", lease("b")),
    { epoch: 2, leaseUntilMs: 1100 },
  ],
  ["a quote isn't leased", quote, ({ journal }) => journal.acquire("k", lease("b")), undefined],
  ["the owner writes", open(), ({ journal, entry }) => journal.write("k", entry, paid), true],
  ["another nonce doesn't", open(), ({ journal, entry }) => write(journal, { ...entry, nonce: "b" }), false],
  ["another epoch doesn't", open(), ({ journal, entry }) => write(journal, { ...entry, epoch: 2 }), false],
  ["another revision doesn't", open(), ({ journal, entry }) => write(journal, { ...entry, revision: 2 }), false],
  ["a repetition is true", open(), ({ journal, entry }) => twice(() => journal.write("k", entry, paid)), [true, true]],
  ["a quote isn't written without a lease", quote, ({ journal, entry }) => write(journal, entry), false],
  ["a quote is confirmed", quote, ({ journal, entry }) => confirm(journal, entry), true],
  ["a quote is confirmed in time", quote, (world) => confirm(later(world), world.entry), false],
  [
    "an abandoned flow is found",
    open(),
    (world) => later(world).acquireAbandoned(scope, lease("b"), undefined),
    { epoch: 2 },
  ],
  ["a leased flow isn't", open(), ({ journal }) => journal.acquireAbandoned(scope, lease("b"), undefined), undefined],
  [
    "old outcomes are pruned",
    paid,
    (world) => later(world).prune({ settledBeforeMs: 1500 }),
    { settled: 1, quoted: 0 },
  ],
  ["held and open flows aren't", open(), (world) => later(world).prune({ settledBeforeMs: 1500 }), { settled: 0 }],
  ["young quotes aren't", quote, (world) => later(world).prune({ quotedBeforeMs: 9e9 }), { quoted: 0 }],
  ["old quotes are", quote, (world) => later(world, 9e7).prune({ quotedBeforeMs: 9e9 }), { quoted: 1 }],
])("%s", async (_, state, call, reply) => {
  let nowMs = 1000;
  const journal = new MemoryJournal({ nowMs: () => nowMs });
  const { entry } = await journal.begin("k", scope, state, lease("a"));
  const pass = (ms: number) => {
    nowMs += ms;
  };
  const replied = await call({ journal, entry, pass });
  if (typeof reply === "object") expect(replied).toMatchObject(Object(reply));
  else expect(replied).toBe(reply);
});

it("leaves a tombstone that is never leased, written, or listed", async () => {
  const journal = new MemoryJournal({ nowMs: () => 1000 });
  const { entry } = await journal.begin("k", scope, paid, lease("a"));
  await journal.prune({ settledBeforeMs: 2000 });
  expect(await begin(journal, "a")).toMatchObject({ created: false, entry: { data: "", prunedAtMs: 1000 } });
  expect(await journal.acquire("k", lease("b"))).toBeUndefined();
  expect(await write(journal, entry)).toBe(false);
  expect(await journal.list({ scope, limit: 1, counts: true })).toEqual({ entries: [], counts: [] });
});

const begin = (journal: MemoryJournal, nonce: string) => journal.begin("k", scope, open("other"), lease(nonce));
const write = (journal: MemoryJournal, entry: JournalEntry) => journal.write("k", entry, open("written"));
const confirm = (journal: MemoryJournal, entry: JournalEntry) =>
  journal.write("k", entry, open(), { lease: lease("b"), inTime: true });
const twice = async (call: () => Promise<unknown>) => [await call(), await call()];

function later({ journal, pass }: World, ms = 1000): MemoryJournal {
  pass(ms);
  return journal;
}

import { type Journal, type JournalEntry, MemoryJournal, type PaymentFlow } from "cross-border-payments/flow";
import { expect, it } from "vitest";
import { boundJournal } from "./bound-journal.js";
import { flowFixture, request } from "./flow-fixture.js";

/** A journal of somebody's own with a flow of release 0.1.0, which stored neither scopes nor keys, among those of another service. */
async function outdatedFixture(phase: string, hasScope = false) {
  const fixture = await flowFixture();
  const journal = new MemoryJournal();
  const data = JSON.stringify({ version: 1, state: { phase, request } });
  const scope = { service: "https://service.test", gateway: "alpha-bank" };
  await journal.begin(
    "k",
    scope,
    { phase, settled: false, data, evidence: "" },
    { owner: "o", leaseMs: 1, nonce: "n" },
  );
  await journal.release("k", { epoch: 1, nonce: "n" });
  const unscoped = <Entry extends JournalEntry | undefined>(entry: Entry): Entry =>
    entry === undefined || hasScope ? entry : { ...entry, scope: undefined };
  const own: Journal = boundJournal(journal, {
    read: async (key) => unscoped(await journal.read(key)),
    acquire: async (...args) => unscoped(await journal.acquire(...args)),
    acquireAbandoned: async (_, ...args) => unscoped(await journal.acquireAbandoned(scope, ...args)),
    list: async (query) => (await journal.list({ ...query, scope })).map(unscoped),
    counts: () => journal.counts(scope),
  });
  return { ...fixture, paymentFlow: fixture.flow({ journal: own }), journal };
}

const outdated = {
  code: "journal_outdated",
  message: expect.stringMatching(/key "k".*0\.1\.0.*release 0\.2\.0 first/),
};

async function drain(items: AsyncIterable<unknown>): Promise<void> {
  for await (const item of items) expect(item).toBeUndefined();
}

const decision = { by: "Olga Operator", why: "the back office looked" };
const reads: readonly (readonly [string, (flow: PaymentFlow) => Promise<unknown>])[] = [
  ["status", (flow) => flow.status("k")],
  ["outcome", (flow) => flow.outcome("k")],
];
const lists: readonly (readonly [string, (flow: PaymentFlow) => Promise<unknown>])[] = [
  ["list", (flow) => drain(flow.list())],
  ["held", (flow) => drain(flow.held())],
];
const calls: readonly (readonly [string, (flow: PaymentFlow) => Promise<unknown>])[] = [
  ["quote", (flow) => flow.quote("k", request)],
  ["confirm", (flow) => flow.confirm("k", { intentId: "i" })],
  ["cancel", (flow) => flow.cancel("k")],
  ["run", (flow) => flow.run("k", request)],
  ["resolve", (flow) => flow.resolve("k", "release", { ...decision, withoutProof: true })],
];
const phases = ["created", "intent", "funds-requested", "funds-taken", "claimed"];

for (const [name, work] of [...reads, ...lists, ...calls]) {
  it.each(phases.flatMap((phase) => [[phase, false] as const, [phase, true] as const]))(
    `${name} names a flow that release 0.1.0 left as %s, and what to do (with a scope: %s)`,
    async (phase, hasScope) => {
      const { paymentFlow, sandbox, bank } = await outdatedFixture(phase, hasScope);
      const error = await work(paymentFlow).catch((thrown: unknown) => thrown);
      if (reads.some(([read]) => read === name)) expect(error).toMatchObject(outdated);
      else if (lists.some(([list]) => list === name)) expect(error).toMatchObject({ errors: [outdated] });
      else expect(error).toMatchObject({ code: "flow_paused", key: "k", cause: outdated });
      expect([sandbox.payments.length, bank.taken.size]).toEqual([0, 0]);
    },
  );
}

it.each([false, true])("recover names it, and leaves it free (with a scope: %s)", async (hasScope) => {
  const { paymentFlow, journal } = await outdatedFixture("funds-taken", hasScope);
  const error = await drain(paymentFlow.recover()).catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ errors: [{ code: "flow_paused", key: "k", cause: outdated }] });
  expect((await journal.read("k"))?.leaseUntilMs).toBeUndefined();
});

it.each([false, true])("move names it among those that failed (with a scope: %s)", async (hasScope) => {
  const { paymentFlow } = await outdatedFixture("funds-taken", hasScope);
  const report = await paymentFlow.move({ from: { service: "https://old.test" } });
  expect(report).toMatchObject({ moved: 0, failed: [{ key: "k", error: outdated }] });
});

it.each(["created", "intent", "funds-taken"])(
  "counts gives no figures that leave out a flow that is %s",
  async (phase) => {
    const { paymentFlow } = await outdatedFixture(phase);
    await expect(paymentFlow.counts()).rejects.toMatchObject({ code: "journal_outdated" });
  },
);

it("does not say that a tombstone without a scope is another gateway's", async () => {
  const { paymentFlow, journal } = await outdatedFixture("funds-taken");
  const entry = await journal.acquire("k", { owner: "o", leaseMs: 1, nonce: "m" });
  if (entry === undefined) throw new Error("the flow is gone");
  await journal.write("k", entry, { phase: "paid", settled: true, data: "", evidence: "" });
  await journal.prune({ settledBeforeMs: Date.now() + 60_000 });
  await expect(paymentFlow.status("k")).rejects.toMatchObject(outdated);
});

import { type Journal, type JournalEntry, MemoryJournal } from "cross-border-payments/flow";
import type { SandboxOptions } from "cross-border-payments/sandbox";
import { expect, it } from "vitest";
import { boundJournal } from "./bound-journal.js";
import { flowFixture, request } from "./flow-fixture.js";

/** A flow as version 1 stored it: without a scope, a nonce or a key in what is stored. */
async function version1Fixture(phase: string, stored: (intent: object) => object, sandboxOptions?: SandboxOptions) {
  const fixture = await flowFixture(sandboxOptions);
  const intent = await fixture.client.paymentIntents.create(request);
  const journal = new MemoryJournal();
  const data = JSON.stringify({ version: 1, state: { phase, request, ...stored(intent) } });
  const state = { phase, settled: false, data, evidence: "" };
  const scope = { service: "https://service.test", gateway: "alpha-bank" };
  await journal.begin("k", scope, state, { owner: "version 1", leaseMs: 100, nonce: "n" });
  await journal.release("k", { epoch: 1, nonce: "n" });
  const unscoped = <Entry extends JournalEntry | undefined>(entry: Entry) =>
    entry === undefined ? undefined : { ...entry, scope: undefined };
  const old: Journal = boundJournal(journal, {
    read: async (key) => unscoped(await journal.read(key)),
    acquire: async (...args) => unscoped(await journal.acquire(...args)),
    acquireAbandoned: async (...args) => unscoped(await journal.acquireAbandoned(...args)),
    // A flow without a scope is listed and counted for every scope.
    list: async (query) => (await journal.list({ ...query, scope })).map((entry) => ({ ...entry, scope: undefined })),
    counts: () => journal.counts(scope),
  });
  return { ...fixture, intent, journal, old };
}

it.each([
  ["created", () => ({})],
  ["intent", (intent: object) => ({ intent })],
  ["funds-requested", (intent: object) => ({ intent, since: null })],
  [
    "funds-taken",
    (intent: object) => ({
      intent,
      since: null,
      senderGatewayTransactionId: "TX-1",
      claims: [],
      looks: [],
      decisions: [],
    }),
  ],
] as const)("a flow that version 1 left behind as %s is recovered and paid once", async (phase, stored) => {
  const { flow, old, journal, sandbox, bank, intent } = await version1Fixture(phase, stored);
  const outcomes = [];
  for await (const outcome of flow({ journal: old, gatewayId: "alpha-bank" }).recover()) outcomes.push(outcome);
  expect(outcomes).toMatchObject([{ key: "k", status: "paid", payment: { senderGatewayTransactionId: "TX-1" } }]);
  if (phase !== "created") expect(outcomes).toMatchObject([{ intent: { id: intent.id } }]);
  expect([sandbox.payments.length, bank.taken.size]).toEqual([1, 1]);
  expect(JSON.parse((await journal.read("k"))?.data ?? "")).toMatchObject({ version: 2, key: "k" });
  expect(await flow({ journal: old }).run("k", request)).toMatchObject({ status: "paid" });
});

it("a claim of version 1 named no key, and names none when it is sent again", async () => {
  const claim = { path: "/payments", body: "{}", signature: "AAAA", epoch: 1, claimedAtMs: 0, sendByMs: 100 };
  const unknown = (intent: object) => ({
    intent,
    since: null,
    senderGatewayTransactionId: "TX-1",
    claims: [claim],
    looks: [],
    decisions: [],
    reason: "no response came",
  });
  const { flow, old } = await version1Fixture("unknown", unknown, {
    onRequest: ({ operation }) => (operation === "payments.create" ? Response.error() : undefined),
  });
  const outcome = await flow({ journal: old, service: { singleUseIntents: true } }).run("k", request);
  if (outcome.status !== "held") throw new Error(`is ${outcome.status}`);
  const { epoch, claimedAtMs, sendByMs, ...bytes } = claim;
  expect(outcome.claims).toMatchObject([claim, bytes, bytes, bytes]);
  for (const one of outcome.claims) expect(one).not.toHaveProperty("keyId");
});

it("a flow that version 1 left behind is another gateway's where its request says so", async () => {
  const { flow, old, sandbox } = await version1Fixture("intent", (intent) => ({ intent }));
  const foreign = flow({ journal: old, gatewayId: "beta-mobile" });
  const error = await foreign.outcome("k").catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: "flow_foreign" });
  expect(sandbox.payments).toEqual([]);
});

it("a flow that version 1 left behind is counted for each gateway, and listed for its own", async () => {
  const { flow, old } = await version1Fixture("intent", (intent) => ({ intent }));
  const [own, foreign] = ["alpha-bank", "beta-mobile"].map((gatewayId) => flow({ journal: old, gatewayId }));
  const keysOf = async (list = flow().list()) => {
    const keys = [];
    for await (const { key } of list) keys.push(key);
    return keys;
  };
  expect([await keysOf(own?.list()), await keysOf(foreign?.list({ phase: "funds-requested" }))]).toEqual([["k"], []]);
  const counted = { created: 0, "funds-requested": 1, paid: 0 };
  expect([await own?.counts(), await foreign?.counts()]).toMatchObject([counted, counted]);
});

it("what version 1 stored without a key does not pass for a row that has a scope", async () => {
  const { flow, journal } = await version1Fixture("intent", (intent) => ({ intent }));
  const error = await flow({ journal })
    .run("k", request)
    .catch((thrown: unknown) => thrown);
  expect(error).toMatchObject({ code: "flow_paused", cause: { code: "flow_unreadable" } });
});

import type { Payment } from "cross-border-payments";
import { type FlowFunds, FlowPausedError, type TakeFundsByKey } from "cross-border-payments/flow";
import { expect, it } from "vitest";
import { stretched } from "../support/patience.js";
import { boundJournal } from "./bound-journal.js";
import { closed, flowFixture, isList, request } from "./flow-fixture.js";
import { RestorableJournal } from "./restorable-journal.js";
import { errorOf } from "./results.js";

type Seen = { readonly operation: string | undefined };
/** Long enough for a busy machine: owners and operators wait until it is over. */
const leaseMs = stretched(1000);
const isIntent = ({ operation }: Seen) => operation === "paymentIntents.create";

/** A flow that was paid, and its journal, which is then restored to what it was after `writes` writes. */
async function restoredFixture(writes: number, listed?: (payments: readonly Payment[]) => Response) {
  let areRefused = false;
  const fixture = await flowFixture({
    onRequest: (seen) => {
      if (areRefused && isIntent(seen)) return Response.json({ error: "closed", message: "no" }, { status: 400 });
      return undefined;
    },
    onResponse: async (seen, response) =>
      listed !== undefined && isRestored && isList(seen) && response.ok
        ? listed((await response.json()) as Payment[])
        : response,
  });
  let isRestored = false;
  const restorable = new RestorableJournal();
  const { journal } = restorable;
  const flow = () => fixture.flow({ journal, leaseMs });
  expect(await flow().run("k", request)).toMatchObject({ status: "paid" });
  // Payments that were made since stand before it in the list, so that a mark of today ends every search before it.
  for (const key of ["other", "another"]) await fixture.flow().run(key, request);
  await restorable.restore(writes);
  isRestored = true;
  const paidFor = (id: string) =>
    fixture.sandbox.payments.filter(({ senderGatewayTransactionId }) => senderGatewayTransactionId === id).length;
  const mend = () => {
    isRestored = false;
  };
  const refuseIntents = () => {
    areRefused = true;
  };
  return { ...fixture, flow, paidFor, mend, refuseIntents };
}

/** The list as it is, but for the payment of the flow itself. */
const unlisted = (listed: readonly Payment[]) =>
  Response.json(listed.filter(({ senderGatewayTransactionId }) => senderGatewayTransactionId !== "TX-1"));
const unreadable = () => Response.json([{ id: "p", senderGatewayTransactionId: "another's" }]);

it("holds the flow of an entry that was lost, and shows its payment, which has another intent", async () => {
  const { flow, sandbox, paidFor, bank } = await restoredFixture(0);
  const [payment] = sandbox.payments;
  if (payment === undefined) throw new Error("there is no payment");
  expect(await flow().run("k", request)).toMatchObject({
    status: "held",
    lookalike: { id: payment.id },
    reason: expect.stringMatching(/^before the payment was sent, one with the same transaction id was found/),
  });
  expect([paidFor("TX-1"), bank.released]).toEqual([1, []]);
  const decision = { by: "Olga Operator", why: "it is the payment of the entry that was lost" };
  expect(await flow().resolve("k", "found", { ...decision, payment })).toMatchObject({
    status: "paid",
    payment: { id: payment.id },
  });
});

it("finds the payment of a quote whose confirmation was lost, since takeFunds says that the money was taken before", async () => {
  const { sandbox, bank, flow } = await flowFixture();
  const restorable = new RestorableJournal();
  const { journal } = restorable;
  const { intent } = await flow({ journal }).quote("k", request);
  await flow({ journal }).confirm("k", { intentId: intent.id });
  await flow().run("other", request);
  await restorable.restore(1);
  expect(await flow({ journal }).confirm("k", { intentId: intent.id })).toMatchObject({
    status: "paid",
    payment: { id: sandbox.payments[0]?.id },
  });
  expect([sandbox.payments.length, bank.calls]).toEqual([2, 3]);
});

it("takes no money for a quote that nobody confirmed, where the journal was restored while the flow was asked for", async () => {
  const { bank, flow } = await flowFixture();
  const restorable = new RestorableJournal();
  const { journal } = restorable;
  const { intent } = await flow({ journal }).quote("k", request);
  await flow({ journal, takeFunds: closed })
    .confirm("k", { intentId: intent.id })
    .catch(() => {});
  const restoring = boundJournal(journal, {
    acquire: async (...args) => {
      await restorable.restore(1);
      return journal.acquire(...args);
    },
  });
  const quoted = async () => (await journal.read("k"))?.data;
  const error = await errorOf(flow({ journal: restoring }).run("k", request));
  expect(error).toMatchObject({ code: "flow_paused", phase: "quoted", effect: "possible" });
  expect(String(error.cause)).toContain("a quote is confirmed before it is driven");
  expect(await quoted()).not.toContain("failures");
  expect(bank.calls).toBe(0);
  expect(await flow({ journal }).confirm("k", { intentId: intent.id })).toMatchObject({ status: "paid" });
});

it("holds the flow of an entry that was lost, if its payment is not listed", async () => {
  const { flow, paidFor, bank } = await restoredFixture(0, unlisted);
  expect(await flow().run("k", request)).toMatchObject({
    status: "held",
    senderGatewayTransactionId: "TX-1",
    reason: expect.stringMatching(/either an earlier entry of it was lost, or takeFunds repeated a request of its own/),
    claims: [],
    looks: [{ complete: true }],
  });
  expect([paidFor("TX-1"), bank.released]).toEqual([1, []]);
});

it("says that the bank may have repeated its own request where it does, and no entry was lost", async () => {
  const { flow, bank, sandbox } = await flowFixture();
  const takeFunds: typeof bank.takeFunds = (call) => {
    bank.takeFunds(call);
    return bank.takeFunds(call);
  };
  expect(await flow({ takeFunds }).run("k", request)).toMatchObject({
    status: "held",
    reason: expect.stringContaining("or takeFunds repeated a request of its own"),
  });
  expect(sandbox.payments).toEqual([]);
});

it("rejects the key of an entry that was lost where its new intent is refused, and touches neither money nor payment", async () => {
  const { flow, bank, sandbox, paidFor, refuseIntents } = await restoredFixture(0);
  refuseIntents();
  expect(await flow().run("k", request)).toMatchObject({ status: "rejected", refusal: { status: 400 } });
  expect([paidFor("TX-1"), sandbox.payments.length, bank.released, bank.taken.has("k")]).toEqual([1, 3, [], true]);
});

it("pays where takeFunds repeats a request of its own, and says false of what this call took", async () => {
  const { flow, bank, sandbox } = await flowFixture();
  const callIds = new Map<string, string>();
  const takeFunds: TakeFundsByKey = (call) => {
    const callId = crypto.randomUUID();
    let funds: FlowFunds | null = null;
    for (const _ of ["its response is lost", "again"]) {
      funds = bank.takeFunds(call);
      if (!callIds.has(call.key)) callIds.set(call.key, callId);
    }
    return funds && { ...funds, replayed: callIds.get(call.key) !== callId };
  };
  expect(await flow({ takeFunds }).run("k", request)).toMatchObject({ status: "paid" });
  expect(sandbox.payments).toHaveLength(1);
});

it("pays for a key whose entry was lost once an operator has it sent, and gives its money back if so decided", async () => {
  const decision = { by: "Olga Operator", why: "the back office looked" };
  for (const [action, status] of [
    ["resend", "paid"],
    ["release", "rejected"],
  ] as const) {
    const { flow, bank } = await restoredFixture(0, unlisted);
    await flow().run("k", request);
    expect(await flow().resolve("k", action, decision)).toMatchObject({ status, decisions: [decision] });
    expect(bank.released).toEqual(action === "release" ? ["k"] : []);
  }
});

it("waits where an entry was lost and not every payment can be read", async () => {
  const { flow, paidFor, mend } = await restoredFixture(0, unreadable);
  const error = await flow()
    .run("k", request)
    .catch((thrown: unknown) => thrown);
  expect(error).toBeInstanceOf(FlowPausedError);
  expect(error).toMatchObject({
    effect: "possible",
    cause: {
      code: "flow_payment_unseen",
      effect: "possible",
      operation: "payments.list",
      message: expect.stringMatching(/does not rule that out: payments without a paging token are listed/),
    },
  });
  mend();
  expect(await flow().run("k", request)).toMatchObject({ status: "held", lookalike: expect.anything() });
  expect(paidFor("TX-1")).toBe(1);
});

it("finds the payment when the claim was lost", async () => {
  const { flow, paidFor } = await restoredFixture(1);
  await new Promise((resolve) => setTimeout(resolve, leaseMs + 10));
  expect(await flow().run("k", request)).toMatchObject({
    status: "paid",
    payment: { senderGatewayTransactionId: "TX-1" },
  });
  expect(paidFor("TX-1")).toBe(1);
});

it("claims nothing where the claim was lost and not every payment can be read, and is stuck after some time", async () => {
  const { flow, paidFor, mend } = await restoredFixture(1, unreadable);
  await new Promise((resolve) => setTimeout(resolve, leaseMs + 10));
  for (let time = 0; time < 3; time++) {
    await expect(flow().run("k", request)).rejects.toMatchObject({
      effect: "possible",
      cause: { code: "flow_payment_unseen" },
    });
  }
  const stuck = [];
  for await (const one of flow().held()) stuck.push(one);
  expect(stuck).toMatchObject([
    {
      status: "stuck",
      key: "k",
      senderGatewayTransactionId: "TX-1",
      failures: { count: 3, code: "flow_payment_unseen" },
      looks: { length: 1 },
    },
  ]);
  mend();
  const decision = { by: "Olga Operator", why: "the list works again" };
  expect(await flow().resolve("k", "found", decision)).toMatchObject({ status: "paid", decisions: [decision] });
  expect(paidFor("TX-1")).toBe(1);
});

it("can be decided in pairs although its workers look in vain again and again", async () => {
  const { flow, paidFor, mend } = await restoredFixture(1, unreadable);
  await new Promise((resolve) => setTimeout(resolve, leaseMs + 10));
  const failAgain = () => errorOf(flow().run("k", request));
  for (let time = 0; time < 3; time++) await failAgain();
  const seen = async () => (await flow().details("k"))?.seen;
  const before = await seen();
  const { hash } = await flow().propose("k", "found", { by: "Olga Operator", why: "ticket 4711", seen: before });
  const [look] = (await flow().status("k"))?.looks ?? [];
  await failAgain();
  const [again] = (await flow().status("k"))?.looks ?? [];
  expect(again?.atMs).toBeGreaterThan(look?.atMs ?? Number.NaN);
  expect(await seen()).toBe(before);
  mend();
  expect(await flow().approve("k", { by: "Petra Prüferin", proposal: hash })).toMatchObject({ status: "paid" });
  expect(paidFor("TX-1")).toBe(1);
});

it("tells an operator that the money was given back, and what to do, where the journal was restored to before that", async () => {
  let isAway = true;
  const { bank, flow, sandbox } = await flowFixture({
    onRequest: ({ operation }) => {
      if (operation !== "payments.create") return undefined;
      return isAway ? refusal(429) : refusal(400);
    },
  });
  const refusal = (status: number) => Response.json({ error: "limit", message: "no" }, { status });
  const restorable = new RestorableJournal();
  const { journal } = restorable;
  const own = () => flow({ journal, leaseMs });
  // It is refused for the time being, and the bank is away before it is sent again.
  const takeFunds: typeof bank.takeFunds = (call) => {
    if (bank.calls > 0) throw new Error("the bank is away");
    return bank.takeFunds(call);
  };
  await expect(flow({ journal, leaseMs, takeFunds }).run("k", request)).rejects.toMatchObject({
    code: "flow_paused",
    phase: "funds-requested",
  });
  const writes = restorable.count;
  isAway = false;
  expect(await own().run("k", request)).toMatchObject({ status: "rejected" });
  await restorable.restore(writes);

  for (let time = 0; time < 3; time++) {
    await expect(own().run("k", request)).rejects.toMatchObject({ code: "flow_paused", phase: "funds-requested" });
  }
  const waiting = [];
  for await (const one of own().held()) waiting.push(one);
  expect(waiting).toMatchObject([
    {
      status: "stuck",
      key: "k",
      failures: { message: expect.stringMatching(/given back.*journal was restored.*resolve\(key, "release", …\)/) },
    },
  ]);
  const decision = { by: "Olga Operator", why: "our books say that it was given back" };
  expect(await own().resolve("k", "release", decision)).toMatchObject({ status: "rejected", decisions: [decision] });
  expect([sandbox.payments, new Set(bank.released)]).toEqual([[], new Set(["k"])]);
});

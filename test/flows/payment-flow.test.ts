import { FlowPausedError, MemoryJournal, type PaymentFlow, type PaymentFlowOptions } from "cross-border-payments/flow";
import { describe, expect, it, vi } from "vitest";
import { apiClientOf } from "../../src/api/api-client.js";
import {
  afterPayment,
  cipher,
  closed,
  flowFixture,
  isList,
  isPayment,
  onPayment,
  refusal,
  request,
} from "./flow-fixture.js";

const key = "order-1";
const person = { by: "Ana", why: "looked at the service's books" };

/** A journal whose clock a test turns. */
function turnedJournal() {
  let turnedMs = 0;
  const journal = new MemoryJournal({ nowMs: () => Date.now() + turnedMs });
  return { journal, turn: (ms: number) => (turnedMs += ms) };
}

const all = async <T>(items: AsyncIterable<T>): Promise<T[]> => {
  const found: T[] = [];
  for await (const item of items) found.push(item);
  return found;
};

describe("a quote", () => {
  it("is stored without a lease, stays the same, and is confirmed once", async () => {
    const { flow, bank, sandbox } = await flowFixture();
    const quote = await flow().quote(key, request);
    await expect(flow().quote(key, request)).resolves.toEqual(quote);
    await expect(flow().status(key)).resolves.toMatchObject({ phase: "quoted", isExpired: false });
    expect(bank.calls).toBe(0);
    const confirmed = { intentId: quote.intent.id };
    const outcomes = await Promise.all([flow().confirm(key, confirmed), flow().confirm(key, confirmed)]);
    expect(outcomes).toMatchObject([{ status: "paid" }, { status: "paid" }]);
    expect(sandbox.payments.length).toBe(1);
  });

  it("is declined with a reason, as often as asked", async () => {
    const { flow, bank } = await flowFixture();
    await flow().quote(key, request);
    const declined = { status: "declined", reason: "too dear" };
    await expect(flow().cancel(key, "too dear")).resolves.toMatchObject(declined);
    await expect(flow().cancel(key)).resolves.toMatchObject(declined);
    await expect(flow().run(key, request)).resolves.toMatchObject(declined);
    expect(bank.calls).toBe(0);
  });

  it("is renewed when it has expired, and the old price isn't paid", async () => {
    const { journal, turn } = turnedJournal();
    const { flow } = await flowFixture({}, { journal });
    const old = await flow().quote(key, request);
    turn(16 * 60_000);
    await expect(flow().confirm(key, { intentId: old.intent.id })).rejects.toMatchObject({ code: "quote_expired" });
    const quote = await flow().quote(key, request);
    expect(quote.intent.id).not.toBe(old.intent.id);
    expect(quote.expiresAtMs).toBeGreaterThan(old.expiresAtMs);
    await expect(flow().confirm(key, { intentId: old.intent.id })).rejects.toMatchObject({ code: "quote_changed" });
    await expect(flow().run(key, request)).resolves.toMatchObject({ status: "paid", intent: { id: quote.intent.id } });
  });
});

describe("refused with its code, and nothing is done", () => {
  const paid = async (flow: PaymentFlow) => void (await flow.run(key, request));
  const nothing = async () => {};
  const other = { ...request, receiverAmount: "1.00" };
  const resolve = (flow: PaymentFlow) => flow.resolve(key, "release", person);
  it.each([
    ["flow_key_reused", "possible", paid, (flow: PaymentFlow) => flow.run(key, other)],
    ["flow_confirmed", "possible", paid, (flow: PaymentFlow) => flow.quote(key, request)],
    ["flow_unknown", "none", nothing, (flow: PaymentFlow) => flow.confirm(key, { intentId: "pi-1" })],
    ["flow_not_held", "possible", paid, resolve],
    ["invalid_argument", "none", nothing, (flow: PaymentFlow) => flow.run("", request)],
    ["invalid_argument", "none", nothing, (flow: PaymentFlow) => flow.confirm(key, {} as never)],
    ["invalid_argument", "none", nothing, (flow: PaymentFlow) => flow.resolve(key, "found", { by: " ", why: "x" })],
    ["invalid_argument", "none", nothing, (flow: PaymentFlow) => flow.propose(key, "release", person)],
    ["invalid_argument", "none", nothing, (flow: PaymentFlow) => flow.run(key, request, { patience: 5 } as never)],
  ])("%s, effect %s", async (code, effect, before, call) => {
    const { flow } = await flowFixture();
    await before(flow());
    await expect(call(flow())).rejects.toMatchObject({ code, effect });
  });

  it("flow_closed", async () => {
    const { flow, bank } = await flowFixture();
    const ended = flow();
    await ended.close();
    await expect(ended.run(key, request)).rejects.toMatchObject({ code: "flow_closed", effect: "none" });
    expect(bank.calls).toBe(0);
  });

  it("a client without a signing key", async () => {
    const { flow } = await flowFixture();
    expect(() => flow({}, { signingKey: undefined })).toThrow(/signingKey/);
  });
});

it("makes one payment of one key, whoever runs it", async () => {
  const { flow, sandbox, bank } = await flowFixture();
  const outcomes = await Promise.all(Array.from({ length: 5 }, () => flow().run(key, request)));
  expect(new Set(outcomes.map(({ status }) => status))).toEqual(new Set(["paid"]));
  expect(sandbox.payments.length).toBe(1);
  expect(bank.calls).toBe(1);
});

describe("another process takes over", () => {
  const hang = () => new Promise<never>(() => {});

  it.each([
    ["a claim that was paid", true, { status: "paid" }],
    ["a claim that may not have been sent", false, { status: "held", why: "not-found" }],
  ])("%s", async (_, isMade, is) => {
    let isGone = true;
    const { journal, turn } = turnedJournal();
    const { flow, sandbox } = await flowFixture(
      {
        onRequest: (seen) => (isGone && !isMade && isPayment(seen) ? hang() : undefined),
        onResponse: (seen) => (isGone && isMade && isPayment(seen) ? hang() : undefined),
      },
      { journal },
    );
    void flow()
      .run(key, request)
      .catch(() => {});
    await vi.waitFor(async () => expect((await flow().status(key))?.phase).toBe("claimed"));
    await vi.waitFor(() => expect(sandbox.payments.length).toBe(isMade ? 1 : 0));
    await expect(all(flow().recover())).resolves.toEqual([]);
    turn(60_000);
    isGone = false;
    await expect(all(flow().recover())).resolves.toMatchObject([is]);
    expect(sandbox.payments.length).toBe(isMade ? 1 : 0);
  });

  it("while the bank takes its time: whoever is late sends nothing", async () => {
    const { journal, turn } = turnedJournal();
    const { flow, bank, sandbox } = await flowFixture({}, { journal });
    const late = flow({
      async takeFunds(context) {
        turn(60_000);
        await expect(all(flow().recover())).resolves.toMatchObject([{ status: "paid" }]);
        return bank.takeFunds(context);
      },
    });
    await expect(late.run(key, request)).resolves.toMatchObject({ status: "paid" });
    expect(sandbox.payments.length).toBe(1);
  });

  it("and the claim's owner sends it before its lease ends, less a tenth", async () => {
    const { flow, client } = await flowFixture();
    const api = apiClientOf(client);
    if (api === undefined) throw new Error("no client");
    const send = vi.spyOn(api, "send");
    const before = performance.now();
    await flow({ client, leaseMs: 10_000 }).run(key, request);
    const sendBy = send.mock.calls[0]?.[2];
    expect(sendBy?.monotonicMs).toBeGreaterThanOrEqual(before + 9_000);
    expect(sendBy?.monotonicMs).toBeLessThanOrEqual(performance.now() + 9_000);
    expect(send.mock.calls[0]?.[3]).toMatchObject({ maxRetries: 0 });
  });

  it("a flow whose bank was away, by work", async () => {
    const { flow } = await flowFixture();
    const errors: unknown[] = [];
    const paused = flow({ takeFunds: closed }).run(key, request);
    await expect(paused).rejects.toThrow('"order-1" is not finished in phase "funds-requested": Error. Call it again');
    await expect(paused).rejects.toBeInstanceOf(FlowPausedError);
    const worker = flow({ on: { error: (error) => errors.push(error) } });
    const work = worker.work({ everyMs: 10 });
    await expect(vi.waitFor(async () => expect((await worker.status(key))?.phase).toBe("paid"))).resolves.not.toThrow();
    await worker.close();
    await work;
    expect(errors).toEqual([]);
  });

  it("and a pause is an error of recover, after all others", async () => {
    const { flow } = await flowFixture();
    for (const one of ["a", "b"])
      await flow({ takeFunds: closed })
        .run(one, request)
        .catch(() => {});
    await expect(all(flow({ takeFunds: closed }).recover())).rejects.toMatchObject({
      errors: [{ code: "flow_paused" }, { code: "flow_paused" }],
    });
    const outcomes = await all(flow().recover({ concurrency: 1 }));
    expect(outcomes.map(({ status }) => status)).toEqual(["paid", "paid"]);
  });
});

describe("a held flow", () => {
  /** The response was lost, and the list shows nothing until its answer is another. */
  async function held(isMade = true, options: Partial<PaymentFlowOptions> = {}) {
    const { journal, turn } = turnedJournal();
    const list: { answer: () => Response | undefined } = { answer: () => Response.json([]) };
    const lose = () => Response.error();
    const { onRequest, onResponse } = isMade ? { onRequest: undefined, ...afterPayment(lose) } : onPayment(lose);
    let isOver = false;
    const fixture = await flowFixture(
      {
        onRequest: (seen) => (isList(seen) ? list.answer() : isOver ? undefined : onRequest?.(seen)),
        onResponse: (seen, response) => (isOver ? undefined : onResponse?.(seen, response)),
      },
      { journal, ...options },
    );
    const outcome = await fixture.flow().run(key, request);
    isOver = true;
    if (outcome.status !== "held") throw new Error(outcome.status);
    return { ...fixture, list, turn, outcome, revision: outcome.revision };
  }

  it("is settled by work when the list shows its payment", async () => {
    const { flow, list, turn, bank } = await held();
    await expect(all(flow().recover())).resolves.toEqual([]);
    list.answer = () => undefined;
    turn(61_000);
    await expect(all(flow().recover())).resolves.toMatchObject([{ status: "paid", decisions: [] }]);
    await expect(flow().run(key, request)).resolves.toMatchObject({ status: "paid" });
    expect(bank.released).toEqual([]);
  });

  it("isn't written by a search that finds nothing, which comes less and less often", async () => {
    const { flow, turn, sandbox, revision } = await held(false);
    const worker = flow();
    let requests = 0;
    for (const [ms, isSearched] of [
      [61_000, true],
      [30_000, false],
      [40_000, true],
      [100_000, false],
      [40_000, true],
    ] as const) {
      turn(ms);
      requests = sandbox.requests.filter(isList).length;
      await all(worker.recover());
      expect(sandbox.requests.filter(isList).length > requests).toBe(isSearched);
    }
    await expect(flow().status(key)).resolves.toMatchObject({ phase: "held", revision });
  });

  const unlisted = () => refusal(403);
  const decisions: readonly [string, object, boolean, string | object, list?: () => Response][] = [
    ["found", {}, true, { status: "paid", decisions: [{ action: "found", by: "Ana" }] }],
    ["found", {}, false, "flow_payment_not_found"],
    ["release", {}, false, { status: "rejected", refusal: { by: "operator", why: person.why } }],
    ["release", { withoutProof: true }, true, "flow_payment_found"],
    ["resend", {}, false, { status: "paid", decisions: [{ action: "resend" }] }],
    ["release", { revision: 99 }, false, "flow_changed"],
    ["release", {}, false, "flow_payment_unseen", unlisted],
    ["release", { withoutProof: true }, false, { status: "rejected", decisions: [{ withoutProof: true }] }, unlisted],
  ];

  it.each(decisions)("is resolved: %s %o, and its payment was made: %s", async (action, more, isMade, is, answer) => {
    const { flow, list, sandbox, bank } = await held(isMade);
    list.answer = answer ?? (() => undefined);
    const decided = flow().resolve(key, action as "found", { ...person, ...more });
    if (typeof is === "string") await expect(decided).rejects.toMatchObject({ code: is, effect: "possible" });
    else await expect(decided).resolves.toMatchObject(is);
    expect(sandbox.payments.length).toBe(isMade || action === "resend" ? 1 : 0);
    const isReleased = typeof is === "object" && action === "release";
    expect(bank.released).toEqual(isReleased ? [key] : []);
  });

  it("is resolved with the service's record, if that is its payment's", async () => {
    const { flow, sandbox } = await held();
    const payment = sandbox.payments[0];
    if (payment === undefined) throw new Error("no payment");
    const anothers = {
      ...payment,
      creationRequestSignatureBase64: "",
      creationRequestBody: "",
      senderGatewayTransactionId: "TX-9",
    };
    await expect(flow().resolve(key, "found", { ...person, payment: anothers })).rejects.toMatchObject({
      code: "flow_payment_not_found",
    });
    await expect(flow().resolve(key, "found", { ...person, payment })).resolves.toMatchObject({ status: "paid" });
  });

  it("takes two people", async () => {
    const decided: unknown[] = [];
    const { flow, list, revision } = await held(false, {
      decisions: { people: 2 },
      on: { decision: ({ step, by, proposedBy }) => decided.push([step, by, proposedBy]) },
    });
    list.answer = () => undefined;
    const ours = flow();
    await expect(ours.resolve(key, "release", person)).rejects.toMatchObject({
      code: "flow_approval_needed",
      effect: "possible",
    });
    await expect(ours.approve(key, { by: "Ben", revision })).rejects.toMatchObject({ code: "flow_not_proposed" });
    const proposed = await ours.propose(key, "release", { ...person, revision });
    expect(proposed).toMatchObject({ status: "held", revision: revision + 1, proposal: { by: "Ana" } });
    await expect(ours.approve(key, { by: "Ben", revision })).rejects.toMatchObject({ code: "flow_changed" });
    const seen = { revision: proposed.revision };
    await expect(ours.approve(key, { by: " ana", ...seen })).rejects.toMatchObject({ code: "flow_same_person" });
    const refused = await ours.refuse(key, { by: "Ben", ...seen });
    expect(refused.proposal).toBeUndefined();
    const again = await ours.propose(key, "release", { ...person, revision: refused.revision });
    await expect(ours.approve(key, { by: "Ben", revision: again.revision })).resolves.toMatchObject({
      status: "rejected",
      decisions: [{ action: "release", by: "Ana", approvedBy: "Ben" }],
    });
    expect(decided).toEqual([
      ["proposed", "Ana", undefined],
      ["refused", "Ben", "Ana"],
      ["proposed", "Ana", undefined],
      ["approved", "Ben", "Ana"],
    ]);
  });

  it("is listed with what an operator decides by", async () => {
    const { flow, outcome } = await held();
    await expect(all(flow().held())).resolves.toMatchObject([outcome]);
    const details = await flow().details(key);
    expect(details).toMatchObject({ phase: "held", isWaiting: true, revision: outcome.revision, claim: outcome.claim });
    const phases = details?.history.map(({ phase, why }) => (why ? `${phase}: ${why}` : phase));
    expect(phases).toEqual(["funds-requested", "claimed", "unknown: outcome_unknown", "held: not-found"]);
  });
});

describe("a journal that lost the key", () => {
  it.each([
    ["the payment is shown to an operator", () => undefined, "possible-match"],
    ["the list is refused", () => refusal(403), "entry-lost"],
  ])("was restored: %s, and it isn't made again", async (_, answer, why) => {
    const { flow, sandbox } = await flowFixture({ onRequest: (seen) => (isList(seen) ? answer() : undefined) });
    await flow().run(key, request);
    const [payment] = sandbox.payments;
    const restored = flow({ journal: new MemoryJournal() });
    const is = { status: "held", why, ...(why === "possible-match" && { match: payment }) };
    await expect(restored.run(key, request)).resolves.toMatchObject(is);
    const found = restored.resolve(key, "found", { ...person, payment });
    await expect(found).resolves.toMatchObject({ status: "paid" });
    expect(sandbox.payments.length).toBe(1);
  });

  it("was restored to a time before the claim: the payment is found, and not made again", async () => {
    const { flow, journal, sandbox, bank } = await flowFixture();
    await flow().quote(key, request);
    const quote = await journal.read(key);
    if (quote === undefined) throw new Error("no quote");
    const backup = new MemoryJournal();
    const lease = { owner: "", leaseMs: 1000, nonce: quote.nonce };
    await backup.begin(key, quote.scope, { ...quote, quoteTtlMs: 60_000 }, lease);
    await flow().run(key, request);
    await expect(flow({ journal: backup }).run(key, request)).resolves.toMatchObject({ status: "paid" });
    expect(sandbox.payments.length).toBe(1);
    expect(bank.calls).toBe(2);
  });

  it("was pruned: the key isn't paid again", async () => {
    const { flow, journal, sandbox } = await flowFixture();
    await flow().run(key, request);
    await expect(journal.prune({ settledBeforeMs: Date.now() + 1000 })).resolves.toEqual({ settled: 1, quoted: 0 });
    await expect(flow().run(key, request)).rejects.toMatchObject({ code: "flow_pruned", effect: "possible" });
    await expect(flow().status(key)).resolves.toMatchObject({ phase: "paid", prunedAtMs: expect.any(Number) });
    expect(await all(flow().list())).toEqual([]);
    expect(sandbox.payments.length).toBe(1);
  });
});

it("leaves flows of other services and gateways alone, and counts them", async () => {
  const { flow } = await flowFixture();
  await flow({ takeFunds: closed })
    .run(key, request)
    .catch(() => {});
  for (const options of [{ service: "old.test" }, { gatewayId: "beta-mobile" }]) {
    const other = flow(options);
    await expect(other.status(key)).rejects.toMatchObject({ code: "flow_foreign", effect: "possible" });
    await expect(other.counts()).resolves.toMatchObject({ elsewhere: 1, "funds-requested": 0 });
    await expect(all(other.recover())).resolves.toEqual([]);
  }
  await expect(flow({ service: "old.test" }).run(key, request)).rejects.toMatchObject({ code: "flow_foreign" });
  await expect(flow({ gatewayId: "beta-mobile" }).run("new", request)).rejects.toMatchObject({ effect: "none" });
  const own = flow({ gatewayId: "alpha-bank", service: "service.test" });
  await expect(own.counts()).resolves.toMatchObject({ elsewhere: 0, "funds-requested": 1 });
  await expect(own.gauges()).resolves.toMatchObject({ stored: { unowned: 1, elsewhere: 0 }, isCircuitOpen: false });
  await expect(all(own.recover())).resolves.toMatchObject([{ status: "paid" }]);
});

it("reports each step, and a payment that failed after it was recorded", async () => {
  const steps: unknown[] = [];
  const mismatches: unknown[] = [];
  const { flow } = await flowFixture(
    {
      onResponse: async (seen, response) =>
        isPayment(seen)
          ? Response.json({ ...Object(await response.clone().json()), senderGatewayStatus: "error" })
          : undefined,
    },
    { on: { flow: ({ from, to }) => steps.push([from, to]) } },
  );
  const outcome = await flow({}, { on: { mismatch: (event) => mismatches.push(event.field) } }).run(key, request);
  expect(outcome).toMatchObject({ status: "paid", isSettledBadly: true });
  expect(steps).toEqual([
    [undefined, "funds-requested"],
    ["funds-requested", "claimed"],
    ["claimed", "paid"],
  ]);
  expect(mismatches).toContain("senderGatewayStatus");
});

it("stores nothing that can be read without the cipher, or in another row", async () => {
  const { flow, journal } = await flowFixture({}, { cipher });
  await flow().run(key, request);
  const entry = await journal.read(key);
  expect(entry?.data).not.toContain(request.senderAccount);
  await expect(flow({ cipher: undefined }).run(key, request)).rejects.toMatchObject({
    code: "flow_paused",
    cause: { code: "flow_unreadable" },
  });
  vi.spyOn(journal, "read").mockResolvedValue(entry && { ...entry, key: "order-2" });
  await expect(flow().status("order-2")).rejects.toMatchObject({ code: "flow_unreadable" });
});

it("takes no money while one payment after the other ends unknown", async () => {
  const { flow, bank } = await flowFixture(onPayment(() => Response.error()));
  const ours = flow({ circuitBreaker: { opensAfter: 2, pauseMs: 60_000 }, readBacks: 0 });
  await ours.run("a", request);
  await ours.run("b", request);
  await expect(ours.run("c", request)).rejects.toMatchObject({ code: "flow_circuit_open", effect: "none" });
  expect(bank.calls).toBe(2);
});

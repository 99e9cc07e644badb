import { BadRequestError } from "cross-border-payments";
import { type FlowEvent, FlowPausedError, type Journal, JournalError, MemoryJournal } from "cross-border-payments/flow";
import { describe, expect, it, vi } from "vitest";
import { clock } from "../../src/timing/clock.js";
import { boundJournal } from "./bound-journal.js";
import { brief, flowFixture, isPayment, request } from "./flow-fixture.js";
import { all, errorOf } from "./results.js";

type Seen = { readonly operation: string | undefined };
const isIntent = ({ operation }: Seen) => operation === "paymentIntents.create";
const other = { ...request, receiverAmount: "151.00" };

/** A journal whose clock can be moved: quotes expire by it. */
async function quoteFixture(...[sandboxOptions = {}, defaults]: Parameters<typeof flowFixture>) {
  let aheadMs = 0;
  const journal = new MemoryJournal({ nowMs: () => Date.now() + aheadMs });
  const fixture = await flowFixture(sandboxOptions, defaults);
  return {
    ...fixture,
    journal,
    flow: (options: Parameters<typeof fixture.flow>[0] = {}) => fixture.flow({ journal, ...options }),
    expire: () => {
      aheadMs += 900_000;
    },
    sent: (is: (seen: Seen) => boolean) => fixture.sandbox.requests.filter(is).length,
  };
}

describe("quote", () => {
  it("shows the price, takes nothing, and is confirmed at that price by another process", async () => {
    const { flow, bank, sandbox } = await quoteFixture();
    const quoted = await flow().quote("k", request);
    expect(quoted).toMatchObject({ status: "quoted", key: "k", intent: { receiverAmount: "150.00" } });
    expect(quoted.expiresAtMs).toBeGreaterThan(Date.now() + 890_000);
    expect(bank.calls).toBe(0);
    const outcome = await flow().confirm("k", { intentId: quoted.intent.id });
    expect(outcome).toMatchObject({ status: "paid", intent: quoted.intent });
    const [payment] = sandbox.payments;
    expect(JSON.parse(payment?.creationRequestBody ?? "")).toMatchObject({
      id: quoted.intent.id,
      senderAmount: quoted.intent.senderAmount,
    });
    expect(await flow().confirm("k", { intentId: quoted.intent.id })).toEqual(outcome);
    expect([sandbox.payments.length, bank.calls]).toEqual([1, 1]);
  });

  it("is the same while it is fresh, without a request, and a new one once it has expired", async () => {
    const { flow, sent, expire } = await quoteFixture();
    const first = await flow().quote("k", request);
    expect(await flow().quote("k", request)).toEqual(first);
    expect(sent(isIntent)).toBe(1);
    expire();
    const second = await flow().quote("k", request);
    expect(second.intent.id).not.toBe(first.intent.id);
    expect(second.expiresAtMs).toBeGreaterThan(first.expiresAtMs);
  });

  it("is renewed without a wait where nobody else renews it", async () => {
    const { flow, expire } = await quoteFixture();
    await flow().quote("k", request);
    expire();
    const waits = vi.spyOn(clock, "setTimer");
    await flow().quote("k", request);
    expect(waits.mock.calls.filter(([, ms]) => ms === 50)).toEqual([]);
  });

  it("has each step in its history: what it came from, and how long it took", async () => {
    const { flow, expire } = await quoteFixture();
    const stepsOf = async (key: string) => (await flow().status(key))?.history?.steps ?? [];
    await flow().quote("k", request);
    expire();
    const { intent } = await flow().quote("k", request);
    const renewed = await stepsOf("k");
    await flow().confirm("k", { intentId: intent.id });
    await flow().quote("c", request);
    await flow().cancel("c");
    const paid = await stepsOf("k");
    const cancelled = await stepsOf("c");
    expect(renewed.map(({ from, to }) => [from, to])).toEqual([[undefined, "quoted"]]);
    expect(paid.slice(0, 2).map(({ from, to }) => [from, to])).toEqual([
      [undefined, "quoted"],
      ["quoted", "funds-requested"],
    ]);
    expect(cancelled.map(({ from, to }) => [from, to])).toEqual([
      [undefined, "quoted"],
      ["quoted", "declined"],
    ]);
    for (const { durationMs } of [...renewed, ...paid, ...cancelled]) expect(durationMs).toBeGreaterThanOrEqual(0);
  });

  it("of another request under the same key is refused, also when the first has expired", async () => {
    const { flow, expire } = await quoteFixture();
    await flow().quote("k", request);
    expect(await errorOf(flow().quote("k", other))).toMatchObject({ code: "flow_key_reused", effect: "none" });
    expire();
    expect(await errorOf(flow().quote("k", other))).toMatchObject({ code: "flow_key_reused", effect: "none" });
    expect(await errorOf(flow().run("k", other))).toMatchObject({ code: "flow_key_reused" });
  });

  it("throws what the service says of a request that it refuses, and stores nothing", async () => {
    const { flow, journal } = await quoteFixture();
    const error = await errorOf(flow().quote("k", { ...request, receiverGatewayId: "nobody" }));
    expect(error).toBeInstanceOf(BadRequestError);
    expect(error.effect).toBe("none");
    expect(await journal.read("k")).toBeUndefined();
  });

  it("is too late once it was confirmed, and harmless once it was declined", async () => {
    const { flow } = await quoteFixture();
    const { intent } = await flow().quote("k", request);
    await flow().confirm("k", { intentId: intent.id });
    expect(await errorOf(flow().quote("k", request))).toMatchObject({
      code: "flow_confirmed",
      effect: "possible",
      message: expect.stringMatching(/^quote: the flow of key "k" is paid/),
    });
    await flow().quote("c", request);
    await flow().cancel("c");
    expect(await errorOf(flow().quote("c", request))).toMatchObject({ code: "flow_confirmed", effect: "none" });
  });

  it("by many processes at once is one quote, also when it is renewed, and is reported by one of them", async () => {
    const { flow, expire } = await quoteFixture();
    const steps: unknown[] = [];
    const on = { flow: ({ from, to }: FlowEvent) => void steps.push([from, to]) };
    const quoteAtOnce = () => Promise.all(Array.from({ length: 5 }, () => flow({ on }).quote("k", request)));
    const quotes = await quoteAtOnce();
    expect(new Set(quotes.map(({ intent }) => intent.id)).size).toBe(1);
    expect(steps).toEqual([[undefined, "quoted"]]);
    expire();
    const renewed = await quoteAtOnce();
    expect(new Set([...quotes, ...renewed].map(({ intent }) => intent.id)).size).toBe(2);
  });

  it("is a new one when it was pruned while it was renewed", async () => {
    const { flow, expire, journal, sandbox } = await quoteFixture({
      onRequest: async (seen) => {
        if (isIntent(seen) && hasExpired) await journal.prune({ quotedBeforeMs: Date.now() + 2_000_000 });
        return undefined;
      },
    });
    let hasExpired = false;
    const first = await flow().quote("k", request);
    expire();
    hasExpired = true;
    const second = await flow().quote("k", request);
    expect(second.intent.id).not.toBe(first.intent.id);
    expect(await flow().confirm("k", { intentId: second.intent.id })).toMatchObject({ status: "paid" });
    expect(sandbox.payments).toHaveLength(1);
  });
});

describe("confirm", () => {
  it("wants the intent, and refuses another one, also of a settled flow", async () => {
    const { flow, bank } = await quoteFixture();
    const { intent } = await flow().quote("k", request);
    for (const given of [{}, { intentId: "" }, { intentId: 42 }, undefined]) {
      const error = await errorOf(flow().confirm("k", given as never));
      expect(error).toMatchObject({ code: "invalid_argument", effect: "none" });
      expect(error.message).toContain("confirm needs { intentId }");
    }
    expect(await errorOf(flow().confirm("k", { intentId: "another" }))).toMatchObject({
      code: "quote_changed",
      effect: "none",
    });
    expect(bank.calls).toBe(0);
    await flow().confirm("k", { intentId: intent.id });
    expect(await errorOf(flow().confirm("k", { intentId: "another" }))).toMatchObject({
      code: "quote_changed",
      effect: "possible",
    });
  });

  it("takes nothing for a quote that has expired", async () => {
    const { flow, bank, expire, journal } = await quoteFixture();
    const { intent } = await flow().quote("k", request);
    expire();
    expect(await errorOf(flow().confirm("k", { intentId: intent.id }))).toMatchObject({
      code: "quote_expired",
      effect: "none",
      message: expect.stringMatching(/the quote of key "k" has expired, and no money was taken: call quote/),
    });
    expect([bank.calls, (await journal.read("k"))?.phase]).toEqual([0, "quoted"]);
  });

  it("knows of no quote that had expired and was pruned once it was read", async () => {
    const { flow, bank, expire, journal } = await quoteFixture();
    const { intent } = await flow().quote("k", request);
    expire();
    const pruned = boundJournal(journal, {
      read: async (key) => {
        const entry = await journal.read(key);
        await journal.prune({ quotedBeforeMs: Date.now() + 2_000_000 });
        return entry;
      },
    });
    expect(await errorOf(flow({ journal: pruned }).confirm("k", { intentId: intent.id }))).toMatchObject({
      code: "flow_unknown",
      effect: "none",
    });
    expect([bank.calls, await journal.read("k")]).toEqual([0, undefined]);
  });

  it("takes nothing for a quote that expires while it is being confirmed", async () => {
    const { flow, bank, expire } = await quoteFixture({
      onRequest: ({ operation }) => {
        if (operation === "payments.list") expire();
        return undefined;
      },
    });
    const { intent } = await flow().quote("k", request);
    expect(await errorOf(flow().confirm("k", { intentId: intent.id }))).toMatchObject({ code: "quote_expired" });
    expect(bank.calls).toBe(0);
  });

  it("by many at once takes the money and pays once, and gives all of them the outcome", async () => {
    const { flow, bank, sandbox } = await quoteFixture();
    const { intent } = await flow().quote("k", request);
    const outcomes = await Promise.all(
      Array.from({ length: 8 }, () => flow({ leaseMs: 60_000 }).confirm("k", { intentId: intent.id })),
    );
    expect(new Set(outcomes.map((outcome) => JSON.stringify(outcome))).size).toBe(1);
    expect([sandbox.payments.length, bank.calls]).toEqual([1, 1]);
  });

  it("is finished by recover when its process died after takeFunds", async () => {
    const { flow, journal, sandbox, bank } = await quoteFixture({}, brief);
    const { intent } = await flow().quote("k", request);
    let isDead = false;
    const alive = <T>(work: () => Promise<T>) => (isDead ? Promise.reject(new Error("is dead")) : work());
    const dying: Journal = boundJournal(journal, {
      read: (...args) => alive(() => journal.read(...args)),
      renew: (...args) => alive(() => journal.renew(...args)),
      write: (...args) => alive(() => journal.write(...args)),
      release: (...args) => alive(() => journal.release(...args)),
    });
    const takeFunds: typeof bank.takeFunds = (context) => {
      isDead = true;
      return bank.takeFunds(context);
    };
    const error = await errorOf(flow({ journal: dying, takeFunds }).confirm("k", { intentId: intent.id }));
    expect(error).toBeInstanceOf(FlowPausedError);
    await new Promise((resolve) => setTimeout(resolve, brief.leaseMs + 10));
    expect(await all(flow({ leaseMs: 1000 }).recover())).toMatchObject([{ status: "paid", intent: { id: intent.id } }]);
    expect([sandbox.payments.length, bank.taken.size]).toEqual([1, 1]);
  });

  it("is finished when the response to its first write was lost", async () => {
    const { flow, journal, sandbox } = await quoteFixture();
    const { intent } = await flow().quote("k", request);
    let isLost = false;
    const losing: Journal = boundJournal(journal, {
      replaceQuote: async (...args) => {
        const entry = await journal.replaceQuote(...args);
        if (isLost) return entry;
        isLost = true;
        throw new JournalError("the connection broke", { stored: "unknown" });
      },
    });
    const outcome = await flow({ journal: losing }).confirm("k", { intentId: intent.id });
    expect(outcome).toMatchObject({ status: "paid" });
    expect(sandbox.payments).toHaveLength(1);
  });

  it("says `none` of a journal that stored nothing, and `possible` of one that may have", async () => {
    for (const [stored, effect] of [
      ["nothing", "none"],
      ["unknown", "possible"],
    ] as const) {
      const { flow, journal, bank } = await quoteFixture();
      const { intent } = await flow().quote("k", request);
      const failing: Journal = boundJournal(journal, {
        replaceQuote: () => Promise.reject(new JournalError("the disk failed", { stored })),
      });
      expect(await errorOf(flow({ journal: failing }).confirm("k", { intentId: intent.id }))).toMatchObject({ effect });
      expect(bank.calls).toBe(0);
    }
  });
});

describe("cancel", () => {
  it("declines the quote with its reason, once and for all", async () => {
    const { flow, bank } = await quoteFixture();
    const { intent } = await flow().quote("k", request);
    const declined = await flow().cancel("k", "changed my mind");
    expect(declined).toMatchObject({ status: "declined", key: "k", reason: "changed my mind", intent });
    expect(await flow().cancel("k", "another reason")).toEqual(declined);
    expect(await flow().confirm("k", { intentId: intent.id })).toEqual(declined);
    expect(await flow().run("k", request)).toEqual(declined);
    expect(bank.calls).toBe(0);
  });

  it("wants a reason that is a string, if there is one", async () => {
    const { flow } = await quoteFixture();
    await flow().quote("k", request);
    for (const reason of [42, null, { text: "too expensive" }]) {
      const error = await errorOf(flow().cancel("k", reason as never));
      expect(error).toMatchObject({ code: "invalid_argument", effect: "none" });
      expect(error.message).toContain("cancel: the reason must be a string; found");
    }
    expect(await flow().status("k")).toMatchObject({ phase: "quoted" });
    expect(await flow().cancel("k")).toMatchObject({ status: "declined" });
  });

  it("is too late after confirm", async () => {
    const { flow } = await quoteFixture();
    const { intent } = await flow().quote("k", request);
    await flow().confirm("k", { intentId: intent.id });
    expect(await errorOf(flow().cancel("k"))).toMatchObject({ code: "flow_confirmed", effect: "possible" });
    expect(await errorOf(flow().cancel("unknown"))).toMatchObject({ code: "flow_unknown" });
  });

  it("racing confirm: one of them wins, and no money is taken for a declined flow", async () => {
    for (let round = 0; round < 20; round++) {
      const { flow, bank, sandbox } = await quoteFixture();
      const { intent } = await flow().quote("k", request);
      const confirming = flow({ leaseMs: 60_000 }).confirm("k", { intentId: intent.id });
      const delayMs = round;
      const cancelling = new Promise((resolve) => setTimeout(resolve, delayMs)).then(() =>
        flow()
          .cancel("k")
          .catch((error: unknown) => error),
      );
      const [outcome, cancelled] = await Promise.all([confirming, cancelling]);
      if (outcome.status === "declined") {
        expect([bank.calls, sandbox.payments.length]).toEqual([0, 0]);
        expect(cancelled).toEqual(outcome);
      } else {
        expect([outcome.status, bank.calls, sandbox.payments.length]).toEqual(["paid", 1, 1]);
        expect(cancelled).toMatchObject({ code: "flow_confirmed" });
      }
    }
  });
});

describe("a renewal racing a confirmation", () => {
  it("either has expired, or is paid at the price that was confirmed", async () => {
    for (let round = 0; round < 10; round++) {
      const { flow, expire, sandbox } = await quoteFixture();
      const { intent } = await flow().quote("k", request);
      const confirming = flow()
        .confirm("k", { intentId: intent.id })
        .catch((error: unknown) => error);
      await new Promise((resolve) => setTimeout(resolve, round));
      expire();
      const renewed = await flow()
        .quote("k", request)
        .catch((error: unknown) => error);
      const outcome = await confirming;
      const status = String(Reflect.get(Object(outcome), "status") ?? Reflect.get(Object(outcome), "code"));
      if (status === "paid") {
        expect(outcome).toMatchObject({ intent: { id: intent.id } });
        expect(renewed).toMatchObject({ code: "flow_confirmed" });
      } else {
        expect(["quote_expired", "quote_changed"]).toContain(status);
        expect(sandbox.payments).toEqual([]);
      }
    }
  });
});

describe("run on a quoted key", () => {
  it("confirms that price, without another intent", async () => {
    const { flow, sent } = await quoteFixture();
    const { intent } = await flow().quote("k", request);
    expect(await flow().run("k", request)).toMatchObject({ status: "paid", intent: { id: intent.id } });
    expect(sent(isIntent)).toBe(1);
  });

  it("renews one that has expired first", async () => {
    const { flow, sandbox, expire } = await quoteFixture();
    const { intent } = await flow().quote("k", request);
    expire();
    const outcome = await flow().run("k", request);
    expect(outcome).toMatchObject({ status: "paid" });
    expect(Reflect.get(outcome, "intent")).not.toMatchObject({ id: intent.id });
    expect(sandbox.payments).toHaveLength(1);
  });
});

it("shows a thousand quotes neither to recover nor as anything to do", async () => {
  const { flow, journal } = await quoteFixture();
  await flow().quote("k 0", request);
  const quote = await journal.read("k 0");
  if (quote?.scope === undefined) throw new Error("there is no quote");
  for (let index = 1; index < 1000; index++) {
    const state = { ...quote, quoteTtlMs: 900_000 };
    await journal.begin(`k ${index}`, quote.scope, state, { owner: "o", leaseMs: 300, nonce: "n" });
  }
  const acquireAbandoned = vi.spyOn(journal, "acquireAbandoned");
  expect(await all(flow().recover())).toEqual([]);
  expect(acquireAbandoned).toHaveBeenCalledTimes(1);
  expect(await all(flow().held())).toEqual([]);
  expect(await flow().counts()).toMatchObject({ quoted: 1000, paid: 0 });
});

it("is never paid for a second time when its key was settled and pruned", async () => {
  const { flow, journal, sent } = await quoteFixture();
  await flow().run("k", request);
  await journal.prune({ settledBeforeMs: Date.now() + 1_000_000 });
  for (const work of [flow().run("k", request), flow().quote("k", request), flow().confirm("k", { intentId: "i" })]) {
    expect(await errorOf(work)).toMatchObject({ code: "flow_pruned", effect: "possible" });
  }
  expect(await flow().status("k")).toMatchObject({ phase: "paid", prunedAtMs: expect.any(Number) });
  expect(sent(isPayment)).toBe(1);
});

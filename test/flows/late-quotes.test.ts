import type { CrossBorderError } from "cross-border-payments";
import { FlowPausedError, type Journal, MemoryJournal, type PaymentFlow } from "cross-border-payments/flow";
import { describe, expect, it } from "vitest";
import { eventually } from "../support/eventually.js";
import { boundJournal } from "./bound-journal.js";
import { type FlowFixture, flowFixture, request } from "./flow-fixture.js";
import { unanswered } from "./late-journal.js";
import { all, errorOf } from "./results.js";

const ttlMs = 900_000;

/** A fresh quote, over a journal whose clock can be set, and the calls of the journal by their names. */
async function quotedFixture() {
  const fixture = await flowFixture();
  let aheadMs = 0;
  const store = new MemoryJournal({ nowMs: () => Date.now() + aheadMs });
  const { intent } = await fixture.flow({ journal: store }).quote("k", request);
  const calls: string[] = [];
  const via = (replaced: Partial<Journal>): FlowFixture["flow"] => {
    const journal = boundJournal(store, replaced);
    const counting = Object.fromEntries(
      Object.entries(journal).map(([name, call]) => [
        name,
        (...args: unknown[]) => {
          calls.push(name);
          // So that a loop without a pause fails the test, and does not hang it.
          if (calls.length > 1000) throw new Error("the journal is called again and again");
          return (call as (...args: unknown[]) => unknown)(...args);
        },
      ]),
    ) as unknown as Journal;
    return (options) => fixture.flow({ journal: counting, ...options });
  };
  const setClock = (ms: number) => {
    aheadMs = ms;
  };
  const confirm = (flow: FlowFixture["flow"]) => flow().confirm("k", { intentId: intent.id });
  const phase = async () => (await store.read("k"))?.phase;
  return {
    ...fixture,
    flow: (options?: object) => fixture.flow({ journal: store, ...options }),
    store,
    via,
    calls,
    setClock,
    confirm,
    phase,
  };
}

type Replace = Parameters<Journal["replaceQuote"]>;

it("keeps the price of a quote that is fresh again once the journal's clock was set back", async () => {
  const { flow, via, store, setClock } = await quotedFixture();
  const { intent } = await flow().quote("k", request);
  setClock(ttlMs + 1);
  const late = via({
    replaceQuote: async (...args) => {
      setClock(0);
      return store.replaceQuote(...args);
    },
  });
  expect((await late().quote("k", request)).intent.id).toBe(intent.id);
});

describe("confirm", () => {
  it("says that the flow owns the payment where no copy was answered, and it does once the first one arrives", async () => {
    const { via, confirm, store, bank, flow, sandbox, phase } = await quotedFixture();
    const copies: Replace[] = [];
    const losing = via({
      replaceQuote: async (...args) => {
        copies.push(args);
        throw unanswered();
      },
    });
    const error = await errorOf(confirm(losing));
    expect(error).toBeInstanceOf(FlowPausedError);
    expect(error).toMatchObject({ effect: "possible", cause: { stored: "unknown" } });
    for (const copy of copies) expect(copy).toEqual(copies[0]);
    expect([bank.calls, await phase()]).toEqual([0, "quoted"]);
    const [first] = copies;
    if (first === undefined) throw new Error("nothing was handed over");
    expect(await store.replaceQuote(...first)).toMatchObject({ phase: "funds-requested" });
    await store.release("k", (await store.read("k")) ?? { epoch: 0, nonce: "" });
    await eventually(async () => expect(await all(flow().recover())).toMatchObject([{ status: "paid" }]));
    expect(sandbox.payments).toHaveLength(1);
  });

  it.each(["refused for expiry", "not answered, and its repetition refused for expiry"])(
    "that is %s says quote_expired after a fence alone, and a copy that comes later changes nothing",
    async (how) => {
      const { via, confirm, store, setClock, calls, bank, phase } = await quotedFixture();
      const copies: Replace[] = [];
      const expiring = via({
        replaceQuote: async (...args) => {
          copies.push(args);
          if (how !== "refused for expiry" && copies.length === 1) throw unanswered();
          setClock(ttlMs + 1);
          return store.replaceQuote(...args);
        },
      });
      expect(await errorOf(confirm(expiring))).toMatchObject({ code: "quote_expired", effect: "none" });
      const last = calls.lastIndexOf("replaceQuote");
      expect(calls.slice(last)).toEqual(["replaceQuote", "read", "fenceQuote", "read"]);
      const fenced = await store.read("k");
      setClock(0);
      for (const copy of copies) expect(await store.replaceQuote(...copy)).toBeUndefined();
      expect(await store.read("k")).toEqual({ ...fenced, isExpired: false });
      expect([await phase(), bank.calls]).toEqual(["quoted", 0]);
    },
  );

  it.each(["quote_expired", "journal_failed"])(
    "says %s, and that nothing was done, after a fence alone where a copy of an earlier call may come later",
    async (code) => {
      const { via, confirm, store, setClock, bank, phase } = await quotedFixture();
      const copies: Replace[] = [];
      const losing = via({
        replaceQuote: async (...args) => {
          copies.push(args);
          throw unanswered();
        },
      });
      expect(await errorOf(confirm(losing))).toMatchObject({ effect: "possible" });
      if (code === "quote_expired") setClock(ttlMs + 1);
      let fails = code === "journal_failed";
      const failingOnce = via({
        read: async (key) => {
          if (!fails) return store.read(key);
          fails = false;
          throw unanswered();
        },
      });
      expect(await errorOf(confirm(failingOnce))).toMatchObject({ code, effect: "none" });
      setClock(0);
      for (const copy of copies) expect(await store.replaceQuote(...copy)).toBeUndefined();
      expect([await phase(), bank.calls]).toEqual(["quoted", 0]);
    },
  );

  it.each([
    [
      "is not answered",
      async (): Promise<undefined> => {
        throw unanswered();
      },
    ],
    ["is refused, although the quote is as it was", async (): Promise<undefined> => undefined],
  ] as const)("says that the flow owns the payment where the fence %s", async (_, fenceQuote) => {
    const { via, confirm, store, setClock, flow, bank } = await quotedFixture();
    const copies: Replace[] = [];
    const expiring = via({
      fenceQuote,
      replaceQuote: async (...args) => {
        copies.push(args);
        setClock(ttlMs + 1);
        return store.replaceQuote(...args);
      },
    });
    const error = await errorOf(confirm(expiring));
    expect(error).toBeInstanceOf(FlowPausedError);
    expect(error).toMatchObject({ effect: "possible", cause: { stored: "unknown" } });
    setClock(0);
    const [first] = copies;
    expect(first && (await store.replaceQuote(...first))).toMatchObject({ phase: "funds-requested" });
    expect(bank.calls).toBe(0);
    expect(await flow().status("k")).toMatchObject({ phase: "funds-requested" });
  });

  it("goes on where the first copy arrives before the fence", async () => {
    const { via, confirm, store, setClock, sandbox, bank } = await quotedFixture();
    const copies: Replace[] = [];
    const racing = via({
      replaceQuote: async (...args) => {
        copies.push(args);
        if (copies.length === 1) throw unanswered();
        setClock(ttlMs + 1);
        return store.replaceQuote(...args);
      },
      fenceQuote: async (...args) => {
        setClock(0);
        const [first] = copies;
        if (first !== undefined) await store.replaceQuote(...first);
        return store.fenceQuote(...args);
      },
    });
    expect(await confirm(racing)).toMatchObject({ status: "paid" });
    expect([sandbox.payments.length, bank.calls]).toEqual([1, 1]);
  });

  it("confirms the fenced quote where the journal's clock is set back before it expires", async () => {
    const { via, confirm, store, setClock, sandbox } = await quotedFixture();
    let isFirst = true;
    const expiring = via({
      replaceQuote: async (...args) => {
        if (!isFirst) return store.replaceQuote(...args);
        isFirst = false;
        setClock(ttlMs + 1);
        const refused = await store.replaceQuote(...args);
        setClock(0);
        return refused;
      },
    });
    expect(await confirm(expiring)).toMatchObject({ status: "paid" });
    expect(sandbox.payments).toHaveLength(1);
  });
});

describe("over a journal that refuses what it shows to be possible", () => {
  /** Each round: the quote is read, replaced in vain, read again and fenced; then there is a pause of 50 ms. */
  const mostCalls = 5 * (300 / 50 + 2);
  const refusing = { replaceQuote: async () => undefined };

  it.each([
    ["cancel", 0, (flow: PaymentFlow) => flow.cancel("k", "no")],
    ["quote", ttlMs + 1, (flow: PaymentFlow) => flow.quote("k", request)],
    ["run", ttlMs + 1, (flow: PaymentFlow) => flow.run("k", request)],
  ] as const)("%s pauses before it tries again", async (_, aheadMs, work) => {
    const { via, calls, setClock, phase, bank } = await quotedFixture();
    setClock(aheadMs);
    const flow = via(refusing)();
    const working = errorOf<CrossBorderError>(work(flow));
    await new Promise((resolve) => setTimeout(resolve, 300));
    const made = calls.length;
    await flow.close();
    expect(await working).toMatchObject({ effect: "none" });
    expect(made).toBeLessThanOrEqual(mostCalls);
    expect([await phase(), bank.calls]).toEqual(["quoted", 0]);
    expect(calls.filter((name) => name === "fenceQuote").length).toBeGreaterThan(0);
  });
});

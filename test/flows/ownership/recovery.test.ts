import type { FlowOutcome, Journal, TakeFundsByKey } from "cross-border-payments/flow";
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { RecoverySlots } from "../../../src/flows/ownership/recovery-slots.js";
import { clock } from "../../../src/timing/clock.js";
import { deferred } from "../../support/deferred.js";
import { eventually } from "../../support/eventually.js";
import { closed, flowFixture, isList, isPayment, request } from "../flow-fixture.js";
import { all, errorOf } from "../results.js";

/**
 * Flows whose payments were lost on the way, and that wait for their next look for as long as a test may take.
 *
 * @param onLook is waited for at every look once the service is back.
 */
async function waitingFixture(count: number, onLook: () => Promise<void> | void = () => {}) {
  let isAway = true;
  const fixture = await flowFixture({
    onRequest: async (seen) => {
      if (isAway) return isPayment(seen) ? Response.error() : undefined;
      if (isList(seen)) await onLook();
      return undefined;
    },
  });
  const options = { circuitBreaker: false as const, readBackDelayMs: 600_000, leaseMs: 60_000 };
  const stopped = fixture.flow(options);
  const runs = Array.from({ length: count }, (_, index) => stopped.run(`a${index}`, request));
  const ended = Promise.allSettled(runs);
  await eventually(async () => expect((await stopped.counts()).unknown).toBe(count));
  await stopped.close();
  await ended;
  isAway = false;
  return { ...fixture, waiting: fixture.flow(options) };
}

async function leased(journal: Journal): Promise<number> {
  const entries = await journal.list({ scope: { service: "https://service.test" }, limit: 1000 });
  return entries.filter(({ leaseUntilMs }) => leaseUntilMs !== undefined).length;
}

it("settles a flow that needs no waiting although many others wait", async () => {
  const { flow, waiting } = await waitingFixture(6);
  await expect(flow({ takeFunds: closed }).run("z", request)).rejects.toMatchObject({ code: "flow_paused" });
  const recovering = waiting.recover({ concurrency: 2 });
  const { value } = await recovering.next();
  expect(value as FlowOutcome).toMatchObject({ key: "z", status: "paid" });
  await recovering.return();
  expect(await waiting.close()).toEqual({ pending: 0 });
});

it("takes over no more than 16 flows for each that is busy, and frees all of them when it is told to stop", async () => {
  const { waiting, journal } = await waitingFixture(20);
  const recovering = waiting.recover({ concurrency: 1 });
  const first = recovering.next().catch((error: unknown) => error);
  await eventually(async () => expect(await leased(journal)).toBe(16));
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(await leased(journal)).toBe(16);
  expect(await waiting.close()).toEqual({ pending: 0 });
  expect(await first).toBeInstanceOf(AggregateError);
  expect(await leased(journal)).toBe(0);
});

it("works on no more flows at a time than it may after their waits, too", async () => {
  let looking = 0;
  const seen: number[] = [];
  const { flow } = await waitingFixture(4, async () => {
    looking += 1;
    seen.push(looking);
    // Long enough for the waits of all the others to end.
    await new Promise((resolve) => setTimeout(resolve, 30));
    looking -= 1;
  });
  const outcomes = await all(flow({ leaseMs: 60_000, readBackDelayMs: 10 }).recover({ concurrency: 1 }));
  expect(outcomes.map(({ status }) => status)).toEqual(["held", "held", "held", "held"]);
  expect(new Set(seen)).toEqual(new Set([1]));
});

it("frees the flows that wait as soon as it is told to stop, although another one's takeFunds hangs", async () => {
  const { flow, journal, bank } = await waitingFixture(1);
  await errorOf(flow({ takeFunds: closed }).run("z", request));
  let answer: (() => void) | undefined;
  const hanging = flow({
    leaseMs: 60_000,
    readBackDelayMs: 600_000,
    takeFunds: async (call) => {
      await new Promise<void>((resolve) => {
        answer = resolve;
      });
      return bank.takeFunds(call);
    },
  });
  const recovering = errorOf<AggregateError>(all(hanging.recover({ concurrency: 1 })));
  await eventually(() => expect(answer).toBeDefined());
  expect(await leased(journal)).toBe(2);
  const closing = hanging.close({ timeoutMs: 60_000 });
  await eventually(async () => expect(await leased(journal)).toBe(1));
  answer?.();
  expect(await closing).toEqual({ pending: 0 });
  expect((await recovering).errors).toMatchObject([{ key: "a0" }, { key: "z" }]);
});

it("is closed only once the flows have ended that were left running by whoever stopped reading", async () => {
  const { recovering, hanging, answer, journal } = await hangingFixture(["a", "hang-1"], 60_000);
  const outcomes = recovering.recover({ concurrency: 2 });
  expect((await outcomes.next()).value).toMatchObject({ key: "a", status: "paid" });
  await eventually(() => expect(hanging).toEqual(["hang-1"]));
  await outcomes.return();
  expect(await leased(journal)).toBe(1);
  const closing = recovering.close({ timeoutMs: 60_000 });
  answer();
  expect(await closing).toEqual({ pending: 0 });
  expect(await leased(journal)).toBe(0);
});

describe("a slot that is lent while work takes long", () => {
  beforeEach(() => void vi.useFakeTimers());
  afterEach(() => void vi.useRealTimers());

  function lentSlot() {
    const slots = new RecoverySlots(1);
    slots.tryEnter();
    const { promise: work, resolve: end } = deferred();
    let isBack = false;
    const lent = slots
      .lend(() => work, 1000)
      .then(() => {
        isBack = true;
      });
    return { slots, end, lent, isBack: () => isBack };
  }

  it("is another's until that one gives it back", async () => {
    const { slots, end, lent, isBack } = lentSlot();
    await vi.advanceTimersByTimeAsync(999);
    expect(slots.tryEnter()).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    expect([slots.tryEnter(), slots.tryEnter()]).toEqual([true, false]);
    end();
    await vi.advanceTimersByTimeAsync(0);
    expect(isBack()).toBe(false);
    slots.leave();
    await lent;
    expect(slots.tryEnter()).toBe(false);
  });

  it("stays the caller's when the work has ended in time", async () => {
    const { slots, end, lent } = lentSlot();
    end();
    await lent;
    await vi.advanceTimersByTimeAsync(1000);
    expect(slots.tryEnter()).toBe(false);
  });

  it("keeps no process from ending", async () => {
    const setTimer = vi.spyOn(clock, "setTimer");
    onTestFinished(() => setTimer.mockRestore());
    const { end, lent } = lentSlot();
    const timers = setTimer.mock.results.map(({ value }) => value as NodeJS.Timeout);
    expect(timers.map((timer) => timer.hasRef())).toEqual([false]);
    end();
    await lent;
  });
});

it("tells whoever waits for a slot when all are let in", async () => {
  const slots = new RecoverySlots(1);
  slots.tryEnter();
  const left = slots.left().then(() => "let in");
  slots.open();
  expect(await Promise.race([left, new Promise((resolve) => setImmediate(resolve))])).toBe("let in");
});

it("gives a slot to whoever waited longest for one", async () => {
  const slots = new RecoverySlots(1);
  expect([slots.tryEnter(), slots.tryEnter()]).toEqual([true, false]);
  const entered: string[] = [];
  const entering = ["first", "second"].map((name) => slots.enter().then(() => entered.push(name)));
  expect(slots.queued).toBe(2);
  slots.leave();
  await entering[0];
  expect([entered, slots.tryEnter(), slots.queued]).toEqual([["first"], false, 1]);
  slots.open();
  await entering[1];
  expect(slots.queued).toBe(0);
  expect([entered, slots.tryEnter()]).toEqual([["first", "second"], true]);
});

/**
 * A bank that does not answer for the keys that begin with "hang", and flows of all keys whose owner is gone.
 *
 * @param leaseMs by default long enough to be renewed in time on a busy machine, and short enough to be waited for.
 */
async function hangingFixture(keys: readonly string[], leaseMs = 1000) {
  const fixture = await flowFixture();
  const begin = async (key: string) => {
    await expect(fixture.flow({ takeFunds: closed }).run(key, request)).rejects.toMatchObject({ code: "flow_paused" });
  };
  for (const key of keys) await begin(key);
  const hanging: string[] = [];
  const answers: (() => void)[] = [];
  const recovering = fixture.flow({
    leaseMs,
    takeFunds: async (call) => {
      if (call.key.startsWith("hang")) {
        hanging.push(call.key);
        await new Promise<void>((resolve) => answers.push(resolve));
      }
      return fixture.bank.takeFunds(call);
    },
  });
  const paid = async (key: string) => (await fixture.flow().outcome(key))?.status === "paid";
  const answer = () => {
    for (const resolve of answers.splice(0)) resolve();
  };
  return { ...fixture, begin, hanging, recovering, paid, answer };
}

it("works on flows that were left behind while another one's takeFunds hangs", async () => {
  const { begin, hanging, recovering, paid, answer } = await hangingFixture(["hang-1"]);
  const stop = new AbortController();
  const working = recovering.work({ signal: stop.signal, everyMs: 10 });
  await eventually(() => expect(hanging).toEqual(["hang-1"]));
  // Before that key, and behind it.
  for (const key of ["a", "z"]) {
    await begin(key);
    await eventually(async () => expect(await paid(key)).toBe(true));
  }
  expect(hanging).toEqual(["hang-1"]);
  answer();
  await eventually(async () => expect(await paid("hang-1")).toBe(true));
  stop.abort();
  await working;
});

it("recovers others although as many flows hang as may be busy", async () => {
  const { hanging, recovering, paid, answer } = await hangingFixture(["hang-1", "hang-2", "z"]);
  const outcomes: string[] = [];
  const all = (async () => {
    for await (const { key } of recovering.recover({ concurrency: 1 })) outcomes.push(key);
  })();
  await eventually(async () => expect(await paid("z")).toBe(true));
  expect([hanging, outcomes]).toEqual([["hang-1", "hang-2"], ["z"]]);
  answer();
  await all;
  expect(outcomes.toSorted()).toEqual(["hang-1", "hang-2", "z"]);
});

it("reports the failure of one flow while another one hangs", async () => {
  const { flow, bank } = await hangingFixture(["a", "hang-1"]);
  const errors: unknown[] = [];
  const working = flow({
    on: { error: (error) => errors.push(error) },
    takeFunds: async (call) => {
      if (call.key === "a") throw new Error("the bank has no such account");
      await eventually(() => expect(errors.length).toBeGreaterThan(1));
      return bank.takeFunds(call);
    },
  });
  const stop = new AbortController();
  const done = working.work({ signal: stop.signal, everyMs: 10 });
  await eventually(async () => expect((await flow().outcome("hang-1"))?.status).toBe("paid"));
  expect(errors[0]).toMatchObject({ code: "flow_paused", key: "a" });
  stop.abort();
  await done;
});

it("gathers no listeners, however many flows are busy", async () => {
  const keys = Array.from({ length: 16 }, (_, index) => `order-${index}`);
  const { flow, bank } = await hangingFixture(keys);
  const warnings: Error[] = [];
  const onWarning = (warning: Error) => void warnings.push(warning);
  process.on("warning", onWarning);
  let taken = 0;
  const takeFunds: TakeFundsByKey = async (call) => {
    taken += 1;
    await eventually(() => expect(taken).toBe(keys.length));
    return bank.takeFunds(call);
  };
  const outcomes = [];
  // Long enough for a busy machine: a flow whose lease has lapsed is another owner's.
  const recovering = flow({ takeFunds, leaseMs: 10_000 });
  for await (const { status } of recovering.recover({ concurrency: keys.length })) outcomes.push(status);
  process.off("warning", onWarning);
  expect([outcomes, warnings]).toEqual([keys.map(() => "paid"), []]);
});

import { getEventListeners } from "node:events";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { CrossBorderError } from "../../src/errors/errors.js";
import { createReporter } from "../../src/events/reporter.js";
import type { FlowOutcome } from "../../src/flows/flow-outcome.js";
import { FlowPausedError } from "../../src/flows/flow-paused-error.js";
import type { Recovered } from "../../src/flows/ownership/recovery.js";
import { type FlowWork, workFlows } from "../../src/flows/work-flows.js";
import { deferred } from "../support/deferred.js";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "Date"] }));
afterEach(() => void vi.useRealTimers());

/** What is reported in a round, and what it waits for before it is reported. */
interface Round {
  readonly reports: readonly Recovered[];
  readonly after?: Promise<void>;
}

const nothing: Round = { reports: [] };
const paid: Recovered = { outcome: { status: "paid" } as FlowOutcome };
const failing = (...errors: Error[]): Round => ({ reports: errors.map((error) => ({ error })) });

/** Work that takes one round after the other; the last one is repeated. */
function workFixture(rounds: readonly Round[], options: Partial<FlowWork> = {}) {
  const startsMs: number[] = [];
  const errors: unknown[] = [];
  const stop = new AbortController();
  const takeOver: FlowWork["takeOver"] = async (report) => {
    const { reports, after } = rounds[Math.min(startsMs.length, rounds.length - 1)] ?? nothing;
    startsMs.push(performance.now());
    const all = () => {
      for (const recovered of reports) report(recovered);
    };
    return { ended: Promise.resolve(after).then(all) };
  };
  const reporter = createReporter([{ error: (error) => errors.push(error) }]);
  const done = workFlows({ takeOver, everyMs: 5000, reporter, random: () => 1, ...options }, stop.signal);
  const waitsMs = () => startsMs.slice(1).map((startMs, index) => startMs - (startsMs[index] ?? 0));
  return { stop, done, errors, startsMs, waitsMs };
}

it("recovers at once, and then again and again", async () => {
  const { startsMs, waitsMs, stop, done } = workFixture([nothing]);
  expect(startsMs).toHaveLength(1);
  await vi.advanceTimersByTimeAsync(20_000);
  expect(waitsMs()).toEqual([5000, 5000, 5000, 5000]);
  stop.abort();
  await done;
});

it("spreads the rounds of several processes", async () => {
  const { waitsMs, stop, done } = workFixture([nothing], { random: () => 0 });
  await vi.advanceTimersByTimeAsync(5000);
  expect(waitsMs()).toEqual([2500, 2500]);
  stop.abort();
  await done;
});

it("reports what fails, goes on, and comes less often while nothing else comes of it", async () => {
  const away = new Error("the journal is away");
  const stuck = [new Error("flow 1"), new Error("flow 2")];
  const rounds = [
    failing(away),
    failing(...stuck),
    failing(away),
    failing(away),
    failing(away),
    { reports: [paid] },
    nothing,
  ];
  const { errors, waitsMs, stop, done } = workFixture(rounds);
  await vi.advanceTimersByTimeAsync(300_000);
  expect(errors).toEqual([away, ...stuck, away, away, away]);
  expect(waitsMs().slice(0, 7)).toEqual([10_000, 20_000, 40_000, 40_000, 40_000, 5000, 5000]);
  stop.abort();
  await done;
});

it("does not slow down for a failure beside an outcome", async () => {
  const mixed = { reports: [paid, { error: new Error("flow 2") }] };
  const { errors, waitsMs, stop, done } = workFixture([mixed]);
  await vi.advanceTimersByTimeAsync(10_000);
  expect([errors.length, waitsMs()]).toEqual([3, [5000, 5000]]);
  stop.abort();
  await done;
});

it.each(["flow_throttled", "flow_circuit_open"] as const)(
  "reports flows that wait (%s), and does not slow down for them",
  async (code) => {
    const waiting = new FlowPausedError("flow-1", { cause: new CrossBorderError("wait", { code }) });
    const { errors, waitsMs, stop, done } = workFixture([failing(waiting)]);
    await vi.advanceTimersByTimeAsync(20_000);
    expect(waitsMs()).toEqual([5000, 5000, 5000, 5000]);
    expect(errors).toEqual([waiting, waiting, waiting, waiting, waiting]);
    stop.abort();
    await done;
  },
);

it("survives a hook that throws", async () => {
  const error = () => {
    throw new Error("a hook's mistake");
  };
  const { startsMs, stop, done } = workFixture([failing(new Error("away"))], { reporter: createReporter([{ error }]) });
  await vi.advanceTimersByTimeAsync(10_000);
  expect(startsMs).toHaveLength(2);
  stop.abort();
  await done;
});

it("waits for the next round with one timer, and no listener but its own", async () => {
  const { stop, done } = workFixture([nothing]);
  const listeners = () => getEventListeners(stop.signal, "abort").length;
  await vi.advanceTimersByTimeAsync(20_000);
  expect([vi.getTimerCount(), listeners()]).toEqual([1, 1]);
  stop.abort();
  await done;
});

it("ends between two rounds when it is told to stop, and leaves no timer behind", async () => {
  const { stop, done } = workFixture([nothing]);
  await vi.advanceTimersByTimeAsync(1000);
  stop.abort();
  await done;
  expect(vi.getTimerCount()).toBe(0);
});

it("reports what a round rejects with, and goes on", async () => {
  const away = new Error("the journal is away");
  const takeOver = vi.fn<FlowWork["takeOver"]>(async () => {
    throw away;
  });
  const { errors, stop, done } = workFixture([], { takeOver });
  await vi.advanceTimersByTimeAsync(10_000);
  expect([errors, takeOver.mock.calls.length]).toEqual([[away, away], 2]);
  stop.abort();
  await done;
});

/** A round whose flows have ended once `end` is called. */
function longRound(reports: readonly Recovered[]) {
  const { promise: after, resolve: end } = deferred();
  return { round: { reports, after }, end };
}

it("takes no longer than its time to wait for a round's flows, and reports them when they end", async () => {
  const late = new Error("flow 1");
  const { round, end } = longRound([{ error: late }]);
  const { waitsMs, errors, stop, done } = workFixture([round, nothing]);
  await vi.advanceTimersByTimeAsync(20_000);
  expect([waitsMs(), errors]).toEqual([[10_000, 5000, 5000], []]);
  end();
  await vi.advanceTimersByTimeAsync(0);
  expect(errors).toEqual([late]);
  stop.abort();
  await done;
});

it("ends when it is told to stop only once all flows that it took over have ended", async () => {
  const { round, end } = longRound([paid]);
  const { stop, done, startsMs } = workFixture([round, nothing]);
  await vi.advanceTimersByTimeAsync(20_000);
  let isDone = false;
  void done.then(() => {
    isDone = true;
  });
  stop.abort();
  await vi.advanceTimersByTimeAsync(60_000);
  expect([isDone, startsMs.length]).toEqual([false, 4]);
  end();
  await done;
  expect(vi.getTimerCount()).toBe(0);
});

it("does nothing when it is told to stop before it begins", async () => {
  const takeOver = vi.fn<FlowWork["takeOver"]>();
  await workFlows({ takeOver, everyMs: 5000, reporter: createReporter([]), random: Math.random }, AbortSignal.abort());
  expect(takeOver).not.toHaveBeenCalled();
});

import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { type FlowWork, workFlows } from "../../src/flows/work-flows.js";

beforeEach(() => void vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout", "performance", "Date"] }));
afterEach(() => void vi.useRealTimers());

type Round = () => AsyncGenerator<unknown>;

async function* nothing() {}

async function* one() {
  yield {};
}

function failing(...errors: Error[]): Round {
  // biome-ignore lint/correctness/useYield: a round that fails before it has an outcome
  return async function* () {
    throw errors.length === 1 ? errors[0] : new AggregateError(errors);
  };
}

/** Work that takes one round after the other; the last one is repeated. */
function workFixture(rounds: readonly Round[], options: Partial<FlowWork> = {}) {
  const startsMs: number[] = [];
  const errors: unknown[] = [];
  const stop = new AbortController();
  const recover = () => {
    const round = rounds[Math.min(startsMs.length, rounds.length - 1)] ?? nothing;
    startsMs.push(performance.now());
    return round();
  };
  const events = { error: (error: unknown) => void errors.push(error) };
  const done = workFlows({ recover, everyMs: 5000, events, random: () => 1, ...options }, stop.signal);
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
  const rounds = [failing(away), failing(...stuck), failing(away), failing(away), failing(away), one, nothing];
  const { errors, waitsMs, stop, done } = workFixture(rounds);
  await vi.advanceTimersByTimeAsync(300_000);
  expect(errors).toEqual([away, ...stuck, away, away, away]);
  expect(waitsMs().slice(0, 7)).toEqual([10_000, 20_000, 40_000, 40_000, 40_000, 5000, 5000]);
  stop.abort();
  await done;
});

it("does not slow down for a failure beside an outcome", async () => {
  async function* mixed() {
    yield {};
    throw new Error("flow 2");
  }
  const { errors, waitsMs, stop, done } = workFixture([mixed]);
  await vi.advanceTimersByTimeAsync(10_000);
  expect([errors.length, waitsMs()]).toEqual([3, [5000, 5000]]);
  stop.abort();
  await done;
});

it("survives a hook that throws", async () => {
  const events = {
    error: () => {
      throw new Error("a hook's mistake");
    },
  };
  const { startsMs, stop, done } = workFixture([failing(new Error("away"))], { events });
  await vi.advanceTimersByTimeAsync(10_000);
  expect(startsMs).toHaveLength(2);
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

it("ends a round that it is told to stop in only when that round has ended", async () => {
  let end = () => {};
  const waiting = new Promise<void>((resolve) => {
    end = resolve;
  });
  const { stop, done, startsMs } = workFixture([
    async function* () {
      await waiting;
      yield {};
    },
  ]);
  let isDone = false;
  void done.then(() => {
    isDone = true;
  });
  stop.abort();
  await vi.advanceTimersByTimeAsync(60_000);
  expect(isDone).toBe(false);
  end();
  await done;
  expect(startsMs).toHaveLength(1);
});

it("does nothing when it is told to stop before it begins", async () => {
  const recover = vi.fn(nothing);
  await workFlows({ recover, everyMs: 5000, events: {}, random: Math.random }, AbortSignal.abort());
  expect(recover).not.toHaveBeenCalled();
});

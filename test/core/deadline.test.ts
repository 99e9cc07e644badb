import { getEventListeners } from "node:events";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { later, now, type Timestamp } from "../../src/core/clock.js";
import { Deadline } from "../../src/core/deadline.js";

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

const late = { name: "Ended", kind: "timeout", sent: false };
const aborted = { name: "Ended", kind: "abort", sent: false };

describe("a deadline", () => {
  it("counts down to its end", () => {
    const deadline = new Deadline({ timeoutMs: 100 });
    expect([deadline.remainingMs(), deadline.ended]).toEqual([100, undefined]);
    vi.advanceTimersByTime(40);
    expect(deadline.remainingMs()).toBe(60);
    vi.advanceTimersByTime(60);
    expect([deadline.remainingMs(), deadline.ended]).toEqual([0, "timeout"]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("gives a race to what comes first, and swallows what the work fails with later", async () => {
    const deadline = new Deadline({ timeoutMs: 100 });
    expect(await deadline.race(Promise.resolve(5))).toBe(5);
    await expect(deadline.race(Promise.reject(new Error("work")))).rejects.toThrow("work");
    const work = new Promise<never>((_, reject) => setTimeout(reject, 200, new Error("late work")));
    const race = expect(deadline.race(work)).rejects.toMatchObject(late);
    await vi.advanceTimersByTimeAsync(300);
    await race;
  });

  it("sleeps, unless it is aborted, and leaves no timer", async () => {
    const abort = new AbortController();
    const deadline = new Deadline({ timeoutMs: 100, signal: abort.signal });
    const slept = deadline.sleep(50);
    await vi.advanceTimersByTimeAsync(50);
    await slept;
    const broken = expect(deadline.sleep(20)).rejects.toMatchObject(aborted);
    abort.abort();
    await broken;
    expect(vi.getTimerCount()).toBe(0);
  });

  it("sleeps for no longer than a timer can be set for", async () => {
    let isOver = false;
    const slept = new Deadline({}).sleep(2 ** 31 + 4000).then(() => {
      isOver = true;
    });
    await vi.advanceTimersByTimeAsync(2 ** 31 - 2);
    expect(isOver).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    await slept;
  });

  it("waits for nothing once the call has ended", async () => {
    const deadline = new Deadline({ timeoutMs: 100, signal: AbortSignal.abort() });
    expect([deadline.ended, deadline.remainingMs()]).toEqual(["abort", 0]);
    await expect(deadline.sleep(50)).rejects.toMatchObject(aborted);
    await expect(deadline.race(new Promise(() => {}))).rejects.toMatchObject(aborted);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("tells its listeners of the end once, and not those that were removed", () => {
    const abort = new AbortController();
    const deadline = new Deadline({ timeoutMs: 100, signal: abort.signal });
    const [staying, removed] = [vi.fn(), vi.fn()];
    deadline.onEnd(staying);
    deadline.onEnd(removed)();
    abort.abort();
    vi.advanceTimersByTime(200);
    expect([staying.mock.calls, removed.mock.calls]).toEqual([[["abort"]], []]);
  });

  it("has one listener on a signal with all others, and none when the last one is finished", () => {
    const { signal } = new AbortController();
    const deadlines = Array.from({ length: 40 }, () => new Deadline({ timeoutMs: 100, signal }));
    expect(getEventListeners(signal, "abort")).toHaveLength(1);
    for (const deadline of deadlines.slice(1)) deadline.finish();
    expect(getEventListeners(signal, "abort")).toHaveLength(1);
    deadlines[0]?.finish();
    deadlines[0]?.finish();
    expect(getEventListeners(signal, "abort")).toHaveLength(0);
    const abort = new AbortController();
    const ended = Array.from({ length: 3 }, () => new Deadline({ signal: abort.signal }));
    abort.abort();
    expect(ended.map(({ ended }) => ended)).toEqual(["abort", "abort", "abort"]);
    expect(getEventListeners(abort.signal, "abort")).toHaveLength(0);
  });

  it("ends nothing after it is finished", () => {
    const abort = new AbortController();
    const deadline = new Deadline({ timeoutMs: 100, signal: abort.signal });
    const listener = vi.fn();
    deadline.onEnd(listener);
    deadline.finish();
    abort.abort();
    expect([deadline.ended, vi.getTimerCount()]).toEqual([undefined, 0]);
    vi.advanceTimersByTime(200);
    expect(listener).not.toHaveBeenCalled();
  });

  it("has passed once the clock says so, although its timer could not fire", () => {
    const deadline = new Deadline({ timeoutMs: 100 });
    const listener = vi.fn();
    deadline.onEnd(listener);
    vi.spyOn(performance, "now").mockReturnValue(performance.now() + 100);
    expect([deadline.remainingMs(), deadline.ended]).toEqual([0, "timeout"]);
    expect(() => deadline.assertNotEnded()).toThrow(expect.objectContaining(late));
    expect(listener.mock.calls).toEqual([["timeout"]]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("ends with its signal alone if it has no time", () => {
    const abort = new AbortController();
    const deadline = new Deadline({ signal: abort.signal });
    vi.advanceTimersByTime(1e9);
    expect([deadline.ended, deadline.remainingMs(), vi.getTimerCount()]).toEqual([undefined, Infinity, 0]);
    abort.abort();
    expect([deadline.ended, deadline.remainingMs()]).toEqual(["abort", 0]);
  });

  it("gives a signal that aborts at its end, or has aborted if that has come", () => {
    const deadline = new Deadline({ timeoutMs: 100 });
    const { signal } = deadline;
    expect([deadline.signal === signal, signal.aborted]).toEqual([true, false]);
    vi.advanceTimersByTime(100);
    expect(signal.aborted).toBe(true);
    expect(new Deadline({ timeoutMs: 100, signal: AbortSignal.abort() }).signal.aborted).toBe(true);
  });
});

describe("the last time to send", () => {
  const minute = () => later(now(), 60_000);

  it("lets a request go before it", () => {
    const deadline = new Deadline({ timeoutMs: 100_000, sendBy: minute() });
    vi.advanceTimersByTime(59_999);
    expect(() => deadline.assertMaySend()).not.toThrow();
    deadline.finish();
  });

  it.each<[string, () => Timestamp]>([
    ["both clocks", now],
    ["the wall clock alone", () => ({ ...minute(), wallMs: Date.now() })],
    ["the monotonic clock alone", () => ({ ...minute(), monotonicMs: performance.now() })],
  ])("stops a request once it has come by %s, and nothing else", (_, at) => {
    const deadline = new Deadline({ timeoutMs: 100_000, sendBy: at() });
    expect(() => deadline.assertMaySend()).toThrow(expect.objectContaining(late));
    expect(() => deadline.assertNotEnded()).not.toThrow();
    expect(deadline.ended).toBeUndefined();
    deadline.finish();
  });

  it("does not outlast the deadline", () => {
    const deadline = new Deadline({ timeoutMs: 100, sendBy: minute() });
    vi.advanceTimersByTime(100);
    expect(() => deadline.assertMaySend()).toThrow(expect.objectContaining(late));
  });
});

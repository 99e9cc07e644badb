import { getEventListeners } from "node:events";
import { afterEach, beforeEach, expect, it, vi } from "vitest";
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

it("counts down to its end, and aborts its signal then", () => {
  const deadline = new Deadline({ timeoutMs: 100 });
  const { signal } = deadline;
  vi.advanceTimersByTime(40);
  expect([deadline.remainingMs(), deadline.ended, signal.aborted]).toEqual([60, undefined, false]);
  vi.advanceTimersByTime(60);
  expect([deadline.remainingMs(), deadline.ended, signal.aborted]).toEqual([0, "timeout", true]);
  expect(vi.getTimerCount()).toBe(0);
});

it("ends with its signal alone if it has no time", () => {
  const abort = new AbortController();
  const deadline = new Deadline({ signal: abort.signal });
  expect([deadline.ended, deadline.remainingMs(), vi.getTimerCount()]).toEqual([undefined, Infinity, 0]);
  abort.abort();
  expect([deadline.ended, deadline.remainingMs()]).toEqual(["abort", 0]);
});

it("gives a race to the first, and swallows what the work fails with later", async () => {
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
  const over = vi.fn();
  void new Deadline({}).sleep(2 ** 31 + 4000).then(over);
  await vi.advanceTimersByTimeAsync(2 ** 31 - 2);
  expect(over).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1);
  expect(over).toHaveBeenCalled();
});

it("waits for nothing once the call has ended", async () => {
  const deadline = new Deadline({ timeoutMs: 100, signal: AbortSignal.abort() });
  expect([deadline.ended, deadline.remainingMs(), deadline.signal.aborted]).toEqual(["abort", 0, true]);
  await expect(deadline.sleep(50)).rejects.toMatchObject(aborted);
  await expect(deadline.race(new Promise(() => {}))).rejects.toMatchObject(aborted);
  expect(vi.getTimerCount()).toBe(0);
});

it("tells its listeners of the end once, unless they were removed or it is finished", () => {
  const abort = new AbortController();
  const [deadline, finished] = [1, 2].map(() => new Deadline({ timeoutMs: 100, signal: abort.signal }));
  const listeners = Array.from({ length: 3 }, () => vi.fn());
  deadline?.onEnd(listeners[0] as () => void);
  deadline?.onEnd(listeners[1] as () => void)();
  finished?.onEnd(listeners[2] as () => void);
  finished?.finish();
  abort.abort();
  expect(finished?.ended).toBeUndefined();
  vi.advanceTimersByTime(200);
  expect(listeners.map(({ mock }) => mock.calls)).toEqual([[["abort"]], [], []]);
});

it("has one listener on a signal with all others, and none when the last one is over", () => {
  for (const end of ["finish", "abort"]) {
    const abort = new AbortController();
    const deadlines = Array.from({ length: 40 }, () => new Deadline({ timeoutMs: 100, signal: abort.signal }));
    for (const deadline of deadlines.slice(1)) deadline.finish();
    expect(getEventListeners(abort.signal, "abort")).toHaveLength(1);
    if (end === "abort") abort.abort();
    else deadlines[0]?.finish();
    expect([getEventListeners(abort.signal, "abort"), vi.getTimerCount()]).toEqual([[], 0]);
  }
});

it("has passed once the clock says so, although its timer could not fire", () => {
  const deadline = new Deadline({ timeoutMs: 100 });
  const listener = vi.fn();
  deadline.onEnd(listener);
  vi.spyOn(performance, "now").mockReturnValue(performance.now() + 100);
  expect([deadline.remainingMs(), deadline.ended]).toEqual([0, "timeout"]);
  expect(() => deadline.assertNotEnded()).toThrow(expect.objectContaining(late));
  expect(listener.mock.calls).toEqual([["timeout"]]);
});

const minute = () => later(now(), 60_000);

it("lets a request go until the last time to send, and not beyond its own end", () => {
  const deadline = new Deadline({ timeoutMs: 100_000, sendBy: minute() });
  vi.advanceTimersByTime(59_999);
  expect(() => deadline.assertMaySend()).not.toThrow();
  const short = new Deadline({ timeoutMs: 100, sendBy: minute() });
  vi.advanceTimersByTime(100);
  expect(() => short.assertMaySend()).toThrow(expect.objectContaining(late));
});

it.each<[string, () => Timestamp]>([
  ["both clocks", now],
  ["the wall clock alone", () => ({ ...minute(), wallMs: Date.now() })],
  ["the monotonic clock alone", () => ({ ...minute(), monotonicMs: performance.now() })],
])("stops a request once the last time to send is over by %s, and nothing else", (_, at) => {
  const deadline = new Deadline({ timeoutMs: 100_000, sendBy: at() });
  expect(() => deadline.assertMaySend()).toThrow(expect.objectContaining(late));
  expect(() => deadline.assertNotEnded()).not.toThrow();
});

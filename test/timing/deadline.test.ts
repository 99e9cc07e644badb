import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { CallControl } from "../../src/timing/deadline.js";

beforeEach(() => {
  vi.useFakeTimers();
});

afterEach(() => {
  vi.useRealTimers();
});

const late = { kind: "timeout", sent: false, reason: "DEADLINE" };
const aborted = { kind: "abort", sent: false, reason: "ABORTED" };

describe("the control of a call", () => {
  it("counts down to the deadline", () => {
    const control = new CallControl({ timeoutMs: 100, maxRetries: 2 });
    expect([control.remainingMs(), control.ended]).toEqual([100, undefined]);
    vi.advanceTimersByTime(40);
    expect(control.remainingMs()).toBe(60);
    vi.advanceTimersByTime(60);
    expect([control.remainingMs(), control.ended]).toEqual([0, "timeout"]);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("gives a race to the work where that is done first", async () => {
    const control = new CallControl({ timeoutMs: 100, maxRetries: 0 });
    expect(await control.race(Promise.resolve(5))).toBe(5);
    await expect(control.race(Promise.reject(new Error("work")))).rejects.toThrow("work");
    control.finish();
    expect(vi.getTimerCount()).toBe(0);
  });

  it("gives a race to the end where that comes first, and lets the work fail unheard", async () => {
    const control = new CallControl({ timeoutMs: 100, maxRetries: 0 });
    const work = new Promise<never>((_, reject) => setTimeout(reject, 200, new Error("late work")));
    const race = expect(control.race(work)).rejects.toMatchObject(late);
    await vi.advanceTimersByTimeAsync(300);
    await race;
  });

  it("ends a sleep at the abort, and leaves no timer", async () => {
    const abort = new AbortController();
    const control = new CallControl({ timeoutMs: 100, maxRetries: 0, signal: abort.signal });
    const sleep = expect(control.sleep(50)).rejects.toMatchObject(aborted);
    abort.abort();
    await sleep;
    expect(vi.getTimerCount()).toBe(0);
  });

  it("sleeps to the end where nothing comes between", async () => {
    const control = new CallControl({ timeoutMs: 100, maxRetries: 0 });
    const sleep = control.sleep(50);
    await vi.advanceTimersByTimeAsync(50);
    await expect(sleep).resolves.toBeUndefined();
    control.finish();
    expect(vi.getTimerCount()).toBe(0);
  });

  it("waits for nothing once the call has ended", async () => {
    const control = new CallControl({ timeoutMs: 100, maxRetries: 0, signal: AbortSignal.abort() });
    expect([control.ended, control.remainingMs()]).toEqual(["abort", 0]);
    await expect(control.sleep(50)).rejects.toMatchObject(aborted);
    await expect(control.race(new Promise(() => {}))).rejects.toMatchObject(aborted);
    expect(vi.getTimerCount()).toBe(0);
  });

  it("tells its listeners of the end once, and those not that have gone", () => {
    const abort = new AbortController();
    const control = new CallControl({ timeoutMs: 100, maxRetries: 0, signal: abort.signal });
    const [staying, gone] = [vi.fn(), vi.fn()];
    control.onEnd(staying);
    control.onEnd(gone)();
    abort.abort();
    vi.advanceTimersByTime(200);
    expect([staying.mock.calls, gone.mock.calls]).toEqual([[["abort"]], []]);
  });

  it("ends nothing after it is finished", () => {
    const abort = new AbortController();
    const control = new CallControl({ timeoutMs: 100, maxRetries: 0, signal: abort.signal });
    const listener = vi.fn();
    control.onEnd(listener);
    control.finish();
    abort.abort();
    vi.advanceTimersByTime(200);
    expect([listener.mock.calls, control.ended]).toEqual([[], undefined]);
  });
});

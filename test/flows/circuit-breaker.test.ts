import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { CircuitBreaker } from "../../src/flows/context.js";

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance", "Date"] }));
afterEach(() => void vi.useRealTimers());

/** Whether a payment is let through now. */
function isClosed(breaker: CircuitBreaker): boolean {
  try {
    breaker.assertClosed();
    return true;
  } catch (error) {
    expect(error).toMatchObject({ code: "flow_circuit_open", effect: "none" });
    return false;
  }
}

function opened(options?: ConstructorParameters<typeof CircuitBreaker>[0]): CircuitBreaker {
  const breaker = new CircuitBreaker(options);
  for (let payment = 0; payment < (options?.opensAfter ?? 5); payment++) {
    expect(isClosed(breaker)).toBe(true);
    breaker.note(true);
  }
  return breaker;
}

it("opens after five payments in a row without a definite response", () => {
  expect(isClosed(opened())).toBe(false);
});

it("stays closed while a definite response comes now and then", () => {
  const breaker = new CircuitBreaker();
  for (let payment = 0; payment < 100; payment++) breaker.note(payment % 5 !== 0);
  expect(isClosed(breaker)).toBe(true);
});

it("says for how long nothing is tried", () => {
  const breaker = opened();
  vi.advanceTimersByTime(18_500);
  expect(() => breaker.assertClosed()).toThrow(/last 5 payments .* in 12 s/);
});

it("lets one payment through after the pause, and all after a definite response to it", () => {
  const breaker = opened();
  vi.advanceTimersByTime(29_999);
  expect(isClosed(breaker)).toBe(false);
  vi.advanceTimersByTime(1);
  expect([isClosed(breaker), isClosed(breaker)]).toEqual([true, false]);
  breaker.note(false);
  expect([isClosed(breaker), isClosed(breaker)]).toEqual([true, true]);
});

it("refuses to begin a flow during the pause, and lets through as many as like after it: one of them is the probe", () => {
  const breaker = opened();
  const mayBegin = () => {
    try {
      breaker.assertMayBegin();
      return true;
    } catch {
      return false;
    }
  };
  expect(mayBegin()).toBe(false);
  vi.advanceTimersByTime(30_000);
  expect([mayBegin(), mayBegin(), isClosed(breaker), mayBegin(), isClosed(breaker)]).toEqual([
    true,
    true,
    true,
    false,
    false,
  ]);
});

it("counts from the beginning after it has closed", () => {
  const breaker = opened();
  breaker.note(false);
  for (let payment = 0; payment < 4; payment++) breaker.note(true);
  expect(isClosed(breaker)).toBe(true);
});

it("pauses twice as long after each probe that fails, up to 10 min", () => {
  const breaker = opened();
  const pausesMs = [30_000, 60_000, 120_000, 240_000, 480_000, 600_000, 600_000];
  for (const pauseMs of pausesMs) {
    vi.advanceTimersByTime(pauseMs - 1);
    expect(isClosed(breaker)).toBe(false);
    vi.advanceTimersByTime(1);
    expect(isClosed(breaker)).toBe(true);
    breaker.note(true);
  }
});

it("does not pause longer because of the payments that were under way when it opened", () => {
  const breaker = opened();
  for (let payment = 0; payment < 64; payment++) breaker.note(true);
  vi.advanceTimersByTime(30_000);
  expect(isClosed(breaker)).toBe(true);
});

it("lets another payment through, a pause later, when the first one was never sent", () => {
  const breaker = opened();
  vi.advanceTimersByTime(30_000);
  expect(isClosed(breaker)).toBe(true);
  vi.advanceTimersByTime(29_999);
  expect(isClosed(breaker)).toBe(false);
  vi.advanceTimersByTime(1);
  expect(isClosed(breaker)).toBe(true);
});

it("opens and pauses as it is told", () => {
  const breaker = opened({ opensAfter: 2, pauseMs: 100 });
  expect(isClosed(breaker)).toBe(false);
  vi.advanceTimersByTime(100);
  expect(isClosed(breaker)).toBe(true);
});

it("does not wait for a wall clock that was set back", () => {
  const breaker = opened();
  vi.advanceTimersByTime(30_000);
  vi.setSystemTime(0);
  expect(isClosed(breaker)).toBe(true);
});

import { afterEach, beforeEach, expect, it, vi } from "vitest";
import { nextDelayMs } from "../../src/core/retry.js";
import { RetryBudget } from "../../src/http/context.js";

beforeEach(() => void vi.useFakeTimers({ toFake: ["performance"] }));
afterEach(() => void vi.useRealTimers());

it("holds no more than it began with, however many calls succeed and however long it waits", () => {
  const budget = new RetryBudget(1);
  for (let success = 0; success < 50; success++) budget.giveBack();
  vi.advanceTimersByTime(10_000);
  expect([budget.take(), budget.take()]).toEqual([true, false]);
});

it("gives back one retry for five successes, and for each second", () => {
  const budget = new RetryBudget(1);
  budget.take();
  for (let success = 0; success < 4; success++) budget.giveBack();
  expect(budget.take()).toBe(false);
  budget.giveBack();
  expect([budget.take(), budget.take()]).toEqual([true, false]);
  vi.advanceTimersByTime(1001);
  expect([budget.take(), budget.take()]).toEqual([true, false]);
});

it("never refuses a caller that makes one call after the other, however long the outage", () => {
  const budget = new RetryBudget();
  for (let call = 0; call < 1000; call++) {
    for (let retry = 0; retry < 4; retry++) {
      vi.advanceTimersByTime(nextDelayMs(retry, () => 0.5));
      expect(budget.take()).toBe(true);
    }
  }
});

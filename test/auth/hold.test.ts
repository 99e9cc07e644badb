import fc from "fast-check";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import {
  backOffMs,
  holdsBack,
  isNotedRefusal,
  noteRefusal,
  refusedHoldMs,
  rejectedHoldMs,
} from "../../src/auth/hold.js";

it("leaves the endpoint alone for as long as Retry-After says, up to 300 s", () => {
  const at = (retryAfterMs: number) => backOffMs({ class: "throttled", retryAfterMs }, 9, () => 0.5);
  expect([1000, 300_000, 300_001, Number.MAX_SAFE_INTEGER].map(at)).toEqual([1000, 300_000, 300_000, 300_000]);
});

it.each([
  ["unsent", 3000],
  ["maybe-sent", 3000],
  ["failing", 3000],
  ["throttled", 20_000],
] as const)("backs off without Retry-After where a request is %s: from 100 ms to at most %i ms", (kind, capMs) => {
  const at = (failures: number, random: number) => backOffMs({ class: kind }, failures, () => random);
  expect([0, 1, 2, 90].map((failures) => at(failures, 0))).toEqual([100, 100, 100, 100]);
  expect([0, 1, 2, 90].map((failures) => at(failures, 1))).toEqual([200, 300, 500, capMs]);
  fc.assert(
    fc.property(fc.nat(1000), fc.double({ min: 0, max: 1, noNaN: true }), (failures, random) => {
      expect(at(failures, random)).toBeGreaterThanOrEqual(100);
      expect(at(failures, random)).toBeLessThanOrEqual(capMs);
    }),
  );
});

it("backs off for a Retry-After of 0 as if there were none, and never longer than 3 s for an endpoint that is away", () => {
  const at = (retryAfterMs: number) => backOffMs({ class: "failing", retryAfterMs }, 0, () => 0);
  expect([0, 1000, 3000, 60_000].map(at)).toEqual([100, 1000, 3000, 3000]);
});

it("holds a refused login for 1 min, then 2, 4, … 60", () => {
  expect([1, 2, 3, 4, 5, 6, 7, 8, 2000].map(refusedHoldMs)).toEqual(
    [1, 2, 4, 8, 16, 32, 60, 60, 60].map((minutes) => minutes * 60_000),
  );
});

it("holds renewals after refused new tokens for 10 s, growing to 5 min", () => {
  const held = (wasAccepted: boolean) => [0, 1, 2, 5, 6, 7, 2000].map((n) => rejectedHoldMs(n, wasAccepted) / 1000);
  expect(held(false)).toEqual([0, 10, 20, 160, 300, 300, 300]);
  expect(held(true)).toEqual([0, 0, 0, 0, 10, 20, 300]);
});

describe("a refused login", () => {
  it("holds the same credentials back for a minute, and nobody where its writer's clock is ahead", () => {
    vi.useFakeTimers({ toFake: ["Date"], now: 1_000_000 });
    onTestFinished(() => void vi.useRealTimers());
    const refusal = noteRefusal("mark", 401);
    expect(refusal).toEqual({ mark: "mark", status: 401, untilMs: 1_060_000 });
    const holdsAt = [999_999, 1_000_000, 1_059_999, 1_060_000].map((atMs) => {
      vi.setSystemTime(atMs);
      return [holdsBack(refusal, "mark"), holdsBack(refusal, "another")];
    });
    expect(holdsAt).toEqual([
      [false, false],
      [true, false],
      [true, false],
      [false, false],
    ]);
  });

  it("is told from anything else that a store may hold", () => {
    const refusal = { mark: "mark", status: 401, untilMs: 1 };
    expect(isNotedRefusal(refusal)).toBe(true);
    const others = [undefined, { ...refusal, mark: 1 }, { ...refusal, status: "401" }, { ...refusal, untilMs: null }];
    expect(others.filter(isNotedRefusal)).toEqual([]);
  });
});

import fc from "fast-check";
import { expect, it } from "vitest";
import {
  backOffMs,
  leftOfToken,
  refusedHoldMs,
  rejectedHoldMs,
  toToken,
  wantedOfToken,
} from "../../src/auth/token-timing.js";

const sentAt = { wallMs: 1_000_000, monotonicMs: 500 };

it.each([
  [300_000, 5000],
  [50_000, 5000],
  [10_000, 1000],
  [0, 0],
])("renews a token of %i ms by default %i ms before its end", (lifetimeMs, leewayMs) => {
  expect(toToken("t", sentAt, lifetimeMs).leewayMs).toBe(leewayMs);
});

it("takes a given leeway, 0 included", () => {
  expect(toToken("t", sentAt, 300_000, 0).leewayMs).toBe(0);
  expect(toToken("t", sentAt, 300_000, 60_000).leewayMs).toBe(60_000);
});

it.each([600_000, Number.POSITIVE_INFINITY])("cuts a leeway of %d ms to half of the lifetime", (leewayMs) => {
  expect(toToken("t", sentAt, 300_000, leewayMs).leewayMs).toBe(150_000);
});

it("never renews a token without a lifetime", () => {
  const token = toToken("t", sentAt, undefined, 60_000);
  const end = { wallMs: Number.MAX_SAFE_INTEGER, monotonicMs: Number.MAX_SAFE_INTEGER };
  expect(leftOfToken(token, end)).toBe(Number.POSITIVE_INFINITY);
});

it.each([
  ["as long as it is wanted, where a new one would last longer", 100_000, 90_000, 90_000],
  ["half of its lifetime, where a new one would hardly last longer", 100_000, 90_001, 50_000],
  ["half of its lifetime, where a new one would last no longer", 100_000, 1e9, 50_000],
  ["nothing, where nothing is wanted", 100_000, 0, 0],
  ["nothing, where it is used until it is refused", undefined, 1e9, 0],
])("of a token there has to be left %s", (_, lifetimeMs, validForMs, wantedMs) => {
  expect(wantedOfToken(toToken("t", sentAt, lifetimeMs), validForMs)).toBe(wantedMs);
});

it("goes by whichever clock has less time left", () => {
  const token = toToken("t", sentAt, 300_000, 0);
  const left = (wallMs: number, monotonicMs: number) =>
    leftOfToken(token, { wallMs: sentAt.wallMs + wallMs, monotonicMs: sentAt.monotonicMs + monotonicMs });
  expect(left(299_999, 299_999)).toBe(1);
  expect(left(300_000, 40_000)).toBe(0);
  expect(left(-9_000_000, 300_000)).toBe(0);
});

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

it("backs off for a Retry-After of 0 as if there were none", () => {
  expect(backOffMs({ class: "failing", retryAfterMs: 0 }, 0, () => 0)).toBe(100);
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

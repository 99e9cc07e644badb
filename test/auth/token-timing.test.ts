import { expect, it, onTestFinished, vi } from "vitest";
import { backOffMs, leftOfToken, refusedHoldMs, rejectedHoldMs, toToken } from "../../src/auth/token-timing.js";

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
  expect(leftOfToken(toToken("t", sentAt, undefined, 60_000))).toBe(Number.POSITIVE_INFINITY);
  expect(leftOfToken(undefined)).toBe(0);
});

it("goes by whichever clock has less time left", () => {
  vi.useFakeTimers({ toFake: ["Date", "performance"] });
  onTestFinished(() => void vi.useRealTimers());
  const at = { wallMs: Date.now(), monotonicMs: performance.now() };
  const left = (wallMs: number, monotonicMs: number) =>
    leftOfToken(toToken("t", { wallMs: at.wallMs - wallMs, monotonicMs: at.monotonicMs - monotonicMs }, 300_000, 0));
  expect([left(299_999, 299_999), left(300_000, 40_000), left(-9_000_000, 300_000)]).toEqual([1, 0, 0]);
});

it("leaves the endpoint alone for as long as Retry-After says, up to 300 s, or 3 s if it doesn't throttle", () => {
  const at = (kind: "throttled" | "server-error", retryAfterMs: number) =>
    backOffMs({ class: kind, retryAfterMs }, 9, () => 0.5);
  expect([1000, 300_000, 300_001].map((ms) => at("throttled", ms))).toEqual([1000, 300_000, 300_000]);
  expect([1000, 3000, 3001].map((ms) => at("server-error", ms))).toEqual([1000, 3000, 3000]);
});

it.each([
  ["unsent", 3000],
  ["server-error", 3000],
  ["throttled", 20_000],
  ["throttled-by-another", 20_000],
] as const)("backs off after %s from 100 ms to at most %i ms", (kind, capMs) => {
  const at = (failures: number, random: number) => backOffMs({ class: kind, retryAfterMs: 0 }, failures, () => random);
  expect([0, 1, 2, 90].map((failures) => at(failures, 0))).toEqual([100, 200, 400, capMs / 2]);
  expect([0, 1, 2, 90].map((failures) => at(failures, 1))).toEqual([200, 400, 800, capMs]);
});

it("holds a refused login for 1 min, then 2, 4, … 60", () => {
  const minutes = [1, 2, 3, 4, 5, 6, 7, 8, 2000].map((refusals) => refusedHoldMs(refusals) / 60_000);
  expect(minutes).toEqual([1, 2, 4, 8, 16, 32, 60, 60, 60]);
});

it("holds renewals after refused new tokens for 10 s, growing to 5 min", () => {
  const held = (wasAccepted: boolean) => [0, 1, 2, 5, 6, 7, 2000].map((n) => rejectedHoldMs(n, wasAccepted) / 1000);
  expect(held(false)).toEqual([0, 10, 20, 160, 300, 300, 300]);
  expect(held(true)).toEqual([0, 0, 0, 0, 10, 20, 300]);
});

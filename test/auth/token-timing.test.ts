import fc from "fast-check";
import { expect, it } from "vitest";
import {
  backOffMs,
  isExpired,
  longRepeatPauseMs,
  needsRenewal,
  repeatPauseMs,
  toToken,
} from "../../src/auth/token-timing.js";
import { later } from "../../src/timing/timestamp.js";

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
  expect([needsRenewal(token, end), isExpired(token, end)]).toEqual([false, false]);
});

it("goes by whichever clock has less time left", () => {
  const token = toToken("t", sentAt, 300_000, 0);
  const expired = (wallMs: number, monotonicMs: number) =>
    isExpired(token, { wallMs: sentAt.wallMs + wallMs, monotonicMs: sentAt.monotonicMs + monotonicMs });
  expect(expired(299_999, 299_999)).toBe(false);
  expect(expired(300_000, 40_000)).toBe(true);
  expect(expired(-9_000_000, 300_000)).toBe(true);
});

it("renews a token at its leeway, before it expires", () => {
  const token = toToken("t", sentAt, 300_000);
  const at = (ms: number) => later(sentAt, ms);
  expect([0, 294_999, 295_000, 300_000].map((ms) => needsRenewal(token, at(ms)))).toEqual([false, false, true, true]);
  expect([0, 295_000, 299_999, 300_000].map((ms) => isExpired(token, at(ms)))).toEqual([false, false, false, true]);
});

it("leaves the endpoint alone for as long as Retry-After says, up to 300 s", () => {
  const at = (retryAfterMs: number) => backOffMs({ retryAfterMs }, 9, () => 0.5);
  expect([1000, 300_000, 300_001, Number.MAX_SAFE_INTEGER].map(at)).toEqual([1000, 300_000, 300_000, 300_000]);
});

it("backs off twice as long after each failure without Retry-After, and never for 0 ms", () => {
  const least = [0, 1, 2, 6, 7, 90].map((failures) => backOffMs({}, failures, () => 0));
  expect(least).toEqual([100, 200, 400, 6400, 10_000, 10_000]);
  const most = [0, 1, 90].map((failures) => backOffMs({}, failures, () => 1));
  expect(most).toEqual([200, 400, 20_000]);
  expect(backOffMs({ retryAfterMs: 0 }, 0, () => 0)).toBe(100);
});

it("pauses at least a second before a login that may have arrived is repeated", () => {
  fc.assert(
    fc.property(fc.double({ min: 0, max: 1, noNaN: true }), (random) => {
      expect(longRepeatPauseMs(() => random)).toBeGreaterThanOrEqual(1000);
      expect(repeatPauseMs(() => random)).toBeLessThanOrEqual(200);
    }),
  );
});

import fc from "fast-check";
import { expect, it } from "vitest";
import { backOffMs, isLive, leftMs, longRepeatPauseMs, repeatPauseMs, toToken } from "../../src/auth/token-timing.js";

const sentAt = { wallMs: 1_000_000, monotonicMs: 500 };

it.each([
  [300_000, 5000],
  [50_000, 5000],
  [10_000, 1000],
  [0, 0],
])("renews a token of %i ms by default %i ms before its end", (lifetimeMs, leewayMs) => {
  expect(toToken("t", sentAt, lifetimeMs).leewayMs).toBe(leewayMs);
});

it("takes a leeway of one's own, nothing included", () => {
  expect(toToken("t", sentAt, 300_000, 0).leewayMs).toBe(0);
  expect(toToken("t", sentAt, 300_000, 60_000).leewayMs).toBe(60_000);
});

it.each([600_000, Number.POSITIVE_INFINITY])(
  "lets a leeway of %d ms take no more than half of the lifetime",
  (leewayMs) => {
    expect(toToken("t", sentAt, 300_000, leewayMs).leewayMs).toBe(150_000);
  },
);

it("uses a token without a lifetime as long as nobody objects", () => {
  const token = toToken("t", sentAt, undefined, 60_000);
  expect(isLive(token, Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER)).toBe(true);
});

it("counts down by whichever clock has less left", () => {
  const token = toToken("t", sentAt, 300_000);
  expect(leftMs(token, sentAt.wallMs + 100, sentAt.monotonicMs + 40_000)).toBe(260_000);
  expect(leftMs(token, sentAt.wallMs + 40_000, sentAt.monotonicMs + 100)).toBe(260_000);
  expect(leftMs(token, sentAt.wallMs - 9_000_000, sentAt.monotonicMs + 300_000)).toBe(0);
});

it("calls a token live up to its leeway and not at it", () => {
  const token = toToken("t", sentAt, 300_000);
  const at = (ms: number) => isLive(token, sentAt.wallMs + ms, sentAt.monotonicMs + ms);
  expect([0, 294_999, 295_000, 300_000].map(at)).toEqual([true, true, false, false]);
});

it("leaves the endpoint alone for as long as Retry-After says, up to 300 s", () => {
  const at = (retryAfterMs: number) => backOffMs({ retryAfterMs }, 9, () => 0.5);
  expect([1000, 300_000, 300_001, Number.MAX_SAFE_INTEGER].map(at)).toEqual([1000, 300_000, 300_000, 300_000]);
});

it("backs off longer and longer where Retry-After says nothing, and never for nothing", () => {
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

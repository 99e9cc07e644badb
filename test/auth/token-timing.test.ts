import { expect, it } from "vitest";
import { leftOfToken, toToken } from "../../src/auth/token-timing.js";

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

it("goes by whichever clock has less time left", () => {
  const token = toToken("t", sentAt, 300_000, 0);
  const left = (wallMs: number, monotonicMs: number) =>
    leftOfToken(token, { wallMs: sentAt.wallMs + wallMs, monotonicMs: sentAt.monotonicMs + monotonicMs });
  expect(left(299_999, 299_999)).toBe(1);
  expect(left(300_000, 40_000)).toBe(0);
  expect(left(-9_000_000, 300_000)).toBe(0);
});

import fc from "fast-check";
import { expect, it } from "vitest";
import { nextDelayMs, parseRetryAfterMs } from "../../src/core/retry.js";

it.each([
  ["none", 0, [250, 500, 1000, 2000, 8000, 10_000, 10_000]],
  ["half", 0.5, [375, 750, 1500, 3000, 12_000, 15_000, 15_000]],
  ["all", 1, [500, 1000, 2000, 4000, 16_000, 20_000, 20_000]],
])("doubles the wait from 500 ms up to 20 s, with %s of the jitter", (_, random, expected) => {
  expect([0, 1, 2, 3, 5, 6, 50].map((attempt) => nextDelayMs(attempt, () => random))).toEqual(expected);
});

it("stays a whole number from half of the wait to the cap, for any attempt and any random number", () => {
  const backoff = { baseMs: 100, capMs: 20_000 };
  fc.assert(
    fc.property(fc.nat(5000), fc.double({ min: 0, max: 1, noNaN: true }), (attempt, random) => {
      const ms = nextDelayMs(attempt, () => random, backoff);
      expect(Number.isInteger(ms) && ms >= 50 && ms <= backoff.capMs).toBe(true);
    }),
  );
});

const nowMs = Date.parse("1994-11-06T08:49:30Z");

it.each<[string | undefined, number | undefined]>([
  ["0", 0],
  ["7", 7000],
  [" 120 ", 120_000],
  ["1.5", 1500],
  ["9".repeat(400), Number.MAX_SAFE_INTEGER],
  ["Sun, 06 Nov 1994 08:49:37 GMT", 7000],
  ["Sun, 06 Nov 1994 08:49:29 GMT", 0],
  ...[undefined, "", "-5", "soon", "1e3", "0x10", "5, 120", "1994-11-06", "Sun, 99 Foo 1994 08:49:37 GMT"].map(
    (value): [string | undefined, undefined] => [value, undefined],
  ),
])("reads the header %j as %j ms", (value, ms) => {
  expect(parseRetryAfterMs(value, nowMs)).toBe(ms);
});

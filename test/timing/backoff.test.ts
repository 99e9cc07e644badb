import fc from "fast-check";
import { expect, it } from "vitest";
import { nextDelayMs } from "../../src/timing/backoff.js";

const backoff = { baseMs: 100, capMs: 20_000 };

it("doubles the longest wait with each attempt, up to the cap", () => {
  const longest = [0, 1, 2, 3, 7, 8, 9, 50].map((attempt) => nextDelayMs(attempt, () => 1, backoff));
  expect(longest).toEqual([100, 200, 400, 800, 12_800, 20_000, 20_000, 20_000]);
});

it("spreads the waits over the whole range, from nothing on", () => {
  expect([0, 0.25, 0.5].map((random) => nextDelayMs(3, () => random, backoff))).toEqual([0, 200, 400]);
});

it("begins at 100 ms and ends at 20 s where nothing else is asked for", () => {
  expect([0, 1, 40].map((attempt) => nextDelayMs(attempt, () => 1))).toEqual([100, 200, 20_000]);
});

it("stays a whole number within the cap for any attempt and any random number", () => {
  fc.assert(
    fc.property(fc.nat(5000), fc.double({ min: 0, max: 1, noNaN: true }), (attempt, random) => {
      const ms = nextDelayMs(attempt, () => random, backoff);
      expect(Number.isInteger(ms) && ms >= 0 && ms <= backoff.capMs).toBe(true);
    }),
  );
});

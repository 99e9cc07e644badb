import { expect, it } from "vitest";
import { tokenTimeOf } from "../../src/reconcile/token-time.js";

/** Forty times, of which so many of the twenty pairs rise. */
const rising = (count: number, byMs = 100) => [
  ...Array.from({ length: 20 }, () => 1000),
  ...Array.from({ length: 20 }, (_, index) => (index < count ? 1000 + byMs : 1000 - byMs)),
];

it.each([
  [20, "follows"],
  [18, "follows"],
  [17, "unclear"],
  [16, "unclear"],
  [15, "none"],
  [0, "none"],
] as const)("where %i of twenty pairs rise: %s", (count, verdict) => {
  expect(tokenTimeOf(rising(count), 10)).toBe(verdict);
});

it("tells nothing by fewer than twenty pairs, or by payments made close to each other", () => {
  expect(tokenTimeOf([], 10)).toBe("unclear");
  expect(tokenTimeOf([...rising(20).slice(1)], 10)).toBe("unclear");
  expect(
    tokenTimeOf(
      Array.from({ length: 39 }, (_, index) => 100 * index),
      10,
    ),
  ).toBe("unclear");
  expect(tokenTimeOf(rising(20, 10), 10)).toBe("unclear");
  expect(tokenTimeOf(rising(20, 11), 10)).toBe("follows");
  expect(tokenTimeOf(rising(20).with(0, Number.NaN), 10)).toBe("unclear");
});

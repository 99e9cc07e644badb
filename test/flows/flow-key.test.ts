import fc from "fast-check";
import { expect, it } from "vitest";
import { compareKeys } from "../../src/flows/journal.js";

const byBytes = (one: string, other: string) => Buffer.compare(Buffer.from(one), Buffer.from(other));

it.each([
  ["a", "b"],
  ["a", "ab"],
  ["", "a"],
  ["a", "a\u0001"],
  ["a\uFFFD", "a\u{10000}"],
  ["\u{10FFFF}", "\u{10FFFF}\u0001"],
])("puts %j before %j", (one, other) => {
  expect(compareKeys(one, other)).toBeLessThan(0);
  expect(compareKeys(other, one)).toBeGreaterThan(0);
});

it("compares as the keys' UTF-8 bytes do", () => {
  const key = fc.string({ unit: fc.constantFrom("\u0001", "a", "b", "é", "\uFFFD", "\u{10000}"), maxLength: 4 });
  fc.assert(
    fc.property(key, key, (one, other) => {
      expect(Math.sign(compareKeys(one, other))).toBe(byBytes(one, other));
    }),
  );
});

import fc from "fast-check";
import { expect, it } from "vitest";
import { compareKeys } from "../../src/flows/journal.js";

const byBytes = (one: string, other: string) => Buffer.compare(Buffer.from(one), Buffer.from(other));

it("compares as the keys' UTF-8 bytes do", () => {
  const key = fc.string({ unit: fc.constantFrom("\u0001", "a", "b", "é", "\uFFFD", "\u{10000}"), maxLength: 4 });
  const one = fc.tuple(key, key).map(([first, other]) => [first, first + other] as const);
  fc.assert(
    fc.property(fc.oneof(one, fc.tuple(key, key)), ([first, other]) => {
      expect(Math.sign(compareKeys(first, other))).toBe(byBytes(first, other));
    }),
  );
});

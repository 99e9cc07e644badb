import fc from "fast-check";
import { expect, it } from "vitest";
import { parseRetryAfterMs } from "../../src/core/retry.js";

const nowMs = Date.parse("1994-11-06T08:49:30Z");

it.each([
  ["0", 0],
  ["7", 7000],
  [" 120 ", 120_000],
  ["1.5", 1500],
  ["5, 120,7", 120_000],
])("reads %j as seconds", (value, ms) => {
  expect(parseRetryAfterMs(value, nowMs)).toBe(ms);
});

it.each(["Sun, 06 Nov 1994 08:49:37 GMT", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994"])(
  "reads %j as a date",
  (value) => {
    expect(parseRetryAfterMs(value, nowMs)).toBe(7000);
  },
);

it("takes a date in the past for no wait at all", () => {
  expect(parseRetryAfterMs("Sun, 06 Nov 1994 08:49:29 GMT", nowMs)).toBe(0);
});

it.each([
  undefined,
  "",
  "-5",
  "soon",
  "1e3",
  "0x10",
  "NaN",
  "Infinity",
  "5, soon",
  "5,",
  "1994-11-06",
  "Sun, 99 Foo 1994 08:49:37 GMT",
])("follows nothing in %j", (value) => {
  expect(parseRetryAfterMs(value, nowMs)).toBeUndefined();
});

it("keeps an absurd number long and finite", () => {
  expect(parseRetryAfterMs("9".repeat(400), nowMs)).toBe(Number.MAX_SAFE_INTEGER);
});

it("never gives a negative or a broken number, whatever the header says", () => {
  fc.assert(
    fc.property(fc.oneof(fc.string(), fc.stringMatching(/^[\d.,:; -]{0,30}(GMT)?$/)), (value) => {
      const ms = parseRetryAfterMs(value, nowMs) ?? 0;
      expect(Number.isFinite(ms) && ms >= 0).toBe(true);
    }),
  );
});

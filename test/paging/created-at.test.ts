import { expect, it } from "vitest";
import { parseCreatedAt } from "../../src/paging/newest-first.js";

const expected = Date.parse("2026-11-22T10:00:00.123Z");
const whole = Date.parse("2026-11-22T10:00:00Z");

it.each([
  ["2026-11-22T10:00:00.123Z", expected],
  ["2026-11-22T10:00:00.123456789Z", expected],
  ["2026-11-22T13:00:00.123+03:00", expected],
  ["2026-11-22T06:30:00.123-0330", expected],
  ["2026-11-22T10:00:00.123", expected],
  ["2026-11-22 10:00:00.123456", expected],
  ["2026-11-22 10:00:00.123456+00", expected],
  ["2026-11-22 12:00:00.123456 +02", expected],
  ["2026-11-22 10:00:00.123456 UTC", expected],
  ["2026-11-22T10:00:00,123z", expected],
  ["2026-11-22T10:00:00.12Z", expected - 3],
  ["2026-11-22T10:00:00Z", whole],
  ["2026-11-22T10:00Z", whole],
  [" 2026-11-22 10:00:00 ", whole],
])("reads %s as the same instant in any zone of the machine", (text, ms) => {
  expect(parseCreatedAt(text)).toBe(ms);
});

it.each([
  "",
  "2026-11-22",
  "22.11.2026 10:00",
  "2026-13-22T10:00:00Z",
  "2026-11-22T25:00:00Z",
  "soon",
  1_763_805_600_000,
  null,
])("can't read %j", (value) => {
  expect(parseCreatedAt(value)).toBeNaN();
});

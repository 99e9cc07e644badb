import { expect, it } from "vitest";
import { jsonFault } from "../../src/http/input.js";

const nested = (levels: number) => JSON.parse("[".repeat(levels) + "]".repeat(levels)) as unknown;
const cycle: Record<string, unknown> = {};
cycle.self = cycle;

it.each([
  [null],
  [true],
  ["text"],
  [-1.5],
  [[{ a: undefined }, new Date(0)]],
  [{ own: { toJSON: () => 1n } }],
  [Object.create(null)],
  [nested(100)],
])("finds nothing that JSON would lose of value %#", (value) => {
  expect(jsonFault("extras", value)).toBeUndefined();
});

const json = "must be a JSON value; got";
it.each([
  ["a Map", { a: [new Map()] }, `extras.a[0] ${json} a Map`],
  ["a promise", Promise.resolve(), `extras ${json} a Promise`],
  ["a function", { a: () => 1 }, `extras.a ${json} a function`],
  ["a bigint", [1, 1n], `extras[1] ${json} a bigint`],
  ["NaN", Number.NaN, `extras ${json} NaN`],
  ["undefined in an array", { list: [undefined] }, `extras.list[0] ${json} undefined`],
  ["a hole", new Array(1), `extras[0] ${json} undefined`],
  ["a name that may be an account", { DE89370400440532013000: { a: 1n } }, `extras….a ${json} a bigint`],
])("finds %s", (_, value, fault) => {
  expect(jsonFault("extras", value)).toBe(fault);
});

it.each([
  ["101 levels", nested(101)],
  ["a value that contains itself", cycle],
])("finds %s", (_, value) => {
  expect(jsonFault("extras", value)).toMatch(/must have at most 100 levels; it has more, or contains itself$/);
});

it("finds a whole number that was rounded, if it has to be exact", () => {
  const value = { sum: 2 ** 53 };
  expect(jsonFault("extras", value)).toBeUndefined();
  expect(jsonFault("extras", value, true)).toBe(`extras.sum ${json} a number that JavaScript can't hold exactly`);
});

import fc from "fast-check";
import { expect, it } from "vitest";
import { writeJson } from "../../../src/flows/state/write-json.js";
import { runs } from "../../support/thorough.js";

const depth = 20_000;

function nested(inner: unknown): object {
  let value: unknown = inner;
  for (let level = 0; level < depth; level++) value = [value];
  return { value };
}

it("writes what is nested too deeply for JSON.stringify", () => {
  const text = `${'{"a":['.repeat(depth)}1${"]}".repeat(depth)}`;
  expect(writeJson(JSON.parse(text))).toBe(text);
});

it("writes what JSON.stringify writes, at the bottom of a deep value too", () => {
  const leaves = [
    new Date(0),
    undefined,
    () => {},
    Symbol("s"),
    Object("boxed"),
    Object(1),
    Number.NaN,
    "\u2028\ud800\0",
  ];
  const value = fc.anything({ withNullPrototype: true, values: [fc.jsonValue(), fc.constantFrom(...leaves)] });
  fc.assert(
    fc.property(value, (item) => {
      expect(writeJson({ item })).toBe(JSON.stringify({ item }));
      const bottom = JSON.stringify([item]).slice(1, -1);
      expect(writeJson(nested(item))).toBe(`{"value":${"[".repeat(depth)}${bottom}${"]".repeat(depth)}}`);
    }),
    { numRuns: runs(50) },
  );
});

it("writes at the bottom of a deep value an object that is there twice", () => {
  const shared = { a: 1 };
  expect(writeJson(nested({ one: shared, other: [shared] }))).toContain('[{"one":{"a":1},"other":[{"a":1}]}]');
});

it("tells toJSON at the bottom of a deep value under which name or index it is asked", () => {
  const named = { toJSON: (key: string) => key };
  expect(writeJson(nested({ field: named, list: [0, named] }))).toContain('[{"field":"field","list":[0,"1"]}]');
});

it.each([
  ["a BigInt", 1n, "BigInt"],
  ["an object that contains itself", loop(), "an object contains itself"],
])("refuses %s, also at the bottom of a deep value, and says so", (_, bottom, reason) => {
  for (const value of [{ bottom }, nested(bottom)]) {
    const write = () => writeJson(value);
    expect(write).toThrow(TypeError);
    expect(write).toThrow(reason);
  }
});

function loop(): object {
  const value: { self?: object } = {};
  value.self = value;
  return value;
}

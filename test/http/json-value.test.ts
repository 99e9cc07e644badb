import { describe, expect, it } from "vitest";
import { copyJson, InputFault } from "../../src/http/json-value.js";
import { thrownBy } from "../signing/test-keys.js";

const copyOf = (value: unknown) => copyJson("extras", value, "extras");

function faultOf(value: unknown): string {
  const fault = thrownBy(() => copyOf(value));
  expect(fault).toBeInstanceOf(InputFault);
  return (fault as InputFault).message;
}

/** A value in as many wrappings. */
function wrapped(levels: number, wrap: (inner: unknown) => unknown, value: unknown): unknown {
  let outer = value;
  for (let level = 0; level < levels; level++) outer = wrap(outer);
  return outer;
}

describe("a copy of a JSON value", () => {
  it.each([null, true, false, 0, -1.5, "", "text"])("has %j as it is, alone and inside of others", (value) => {
    expect(copyOf(value)).toBe(value);
    expect(JSON.stringify(copyOf({ list: [value] }))).toBe(JSON.stringify({ list: [value] }));
  });

  it("has no names of what is undefined, of what makes itself undefined, and of the method that made it", () => {
    const made = {
      a: 1,
      gone: undefined,
      none: { toJSON: () => undefined },
      toJSON() {
        return this;
      },
    };
    for (const value of [made, [made]].map(copyOf)) {
      const copy = Array.isArray(value) ? value[0] : value;
      expect(Object.keys(copy as object)).toEqual(["a"]);
    }
  });

  it("has what is called toJSON and is no method", () => {
    expect(JSON.stringify(copyOf({ toJSON: "text" }))).toBe('{"toJSON":"text"}');
  });

  it("has the null that a toJSON made, unless it stands for an invalid Date", () => {
    expect(JSON.stringify(copyOf({ at: { toJSON: () => null } }))).toBe('{"at":null}');
    expect(faultOf({ at: new Date(Number.NaN) })).toBe("extras.at must be a JSON value; got an invalid Date");
    expect(JSON.stringify(copyOf({ at: new Date(0) }))).toBe('{"at":"1970-01-01T00:00:00.000Z"}');
  });

  it.each([
    ["a Map", new Map()],
    ["a function", () => 1],
    ["a function", Object.assign(() => 1, { [Symbol.toStringTag]: "Object" })],
    ["a bigint", 1n],
    ["NaN", Number.NaN],
  ])("is refused where it would not have %s", (name, value) => {
    expect(faultOf(value)).toBe(`extras must be a JSON value; got ${name}`);
    expect(faultOf({ a: value })).toBe(`extras.a must be a JSON value; got ${name}`);
    expect(faultOf([1, value])).toBe(`extras[1] must be a JSON value; got ${name}`);
  });

  it.each([
    ["undefined", [undefined]],
    ["a hole", new Array(1)],
    ["what makes itself undefined", [{ toJSON: () => undefined }]],
  ])("is refused where an array has %s", (_, value) => {
    expect(faultOf({ list: value })).toBe("extras.list[0] must be a JSON value; got undefined");
  });

  it.each([
    ["arrays", (inner: unknown) => [inner]],
    ["objects", (inner: unknown) => ({ inner })],
  ])("has up to 1000 levels of %s", (_, wrap) => {
    const deepest = wrapped(1000, wrap, "end");
    expect(JSON.stringify(copyOf(deepest))).toBe(JSON.stringify(deepest));
    expect(faultOf(wrapped(1001, wrap, "end"))).toMatch(
      /^extras.* must have at most 1000 levels; it has more, or contains itself$/,
    );
  });
});

describe("the place of a fault", () => {
  const long = "a".repeat(36);

  it("is shown as long as it has up to 80 characters before the last step", () => {
    expect(faultOf({ [long]: { [long]: { end: 1n } } })).toMatch(`extras.${long}.${long}.end must be`);
    expect(faultOf({ [long]: { [`${long}b`]: { end: 1n } } })).toMatch(`extras.${long}.${long}b… must be`);
    expect(faultOf({ [long]: { [`${long}b`]: { end: [1n] } } })).toMatch(`extras.${long}.${long}b… must be`);
  });

  it("shows no name that may be a value", () => {
    const account = "DE89370400440532013000";
    expect(faultOf({ [account]: 1n })).toMatch("extras… must be");
    expect(faultOf({ [account]: { [account]: 1n } })).toMatch("extras… must be");
    expect(faultOf({ [account]: { a: [{ [account]: 1n }] } })).toMatch("extras….a[0]… must be");
  });
});

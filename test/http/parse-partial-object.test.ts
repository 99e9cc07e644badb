import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { parsePartialObject } from "../../src/http/parse-partial-object.js";

describe("parsePartialObject", () => {
  it.each<[string, Record<string, unknown> | undefined]>([
    ["", undefined],
    ["  ", undefined],
    ["[", undefined],
    ["[1]", undefined],
    ["1", undefined],
    ['"{"', undefined],
    ["<html>", undefined],
    ["{", {}],
    ['{"a', {}],
    ['{"a"', {}],
    ['{"a":', {}],
    ['{"a":"b', {}],
    ['{"a":"b"', { a: "b" }],
    ['{"a":1', {}],
    ['{"a":1,', { a: 1 }],
    ['{"a":1 ,"b', { a: 1 }],
    ['{"a":tru', {}],
    ['{"a":"\\u00', {}],
    ['{"a":"\\"', {}],
    ['{"a":"\\\\"', { a: "\\" }],
    ['{"a":[1,{"b":2}', {}],
    ['{"a":[1,{"b":2}]', { a: [1, { b: 2 }] }],
    ['{"a":{"b":2,"c"', {}],
    ['{"a":{"b":1},"c"', { a: { b: 1 } }],
    ['{"a":{"b":1} "c"', undefined],
    ['{{"a":1} "b"', undefined],
    ['{"a":"}","b":"]", "c":"', { a: "}", b: "]" }],
    ['{"a":1,"a":2,"a":', { a: 2 }],
    ['{"a":1}', { a: 1 }],
    ['{"a":1}<html>', { a: 1 }],
    ['\r\n {"a":1}{"b":2}', { a: 1 }],
    ['{"a":1,}', undefined],
    ['{"a":1]', undefined],
    ["{a:1,", undefined],
    ["{'a':1,", undefined],
    ['{"a":01,', undefined],
    ['{"a" "b","c"', undefined],
    ['{,"a":1,', undefined],
    ["{}", {}],
    ["{]", undefined],
  ])("takes what came whole of %j", (text, expected) => {
    expect(parsePartialObject(text)).toEqual(expected);
  });

  it("never gives a member another value than the whole text does, wherever it breaks off", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string(), fc.jsonValue()), fc.nat(), fc.boolean(), (object, at, spaced) => {
        const text = JSON.stringify(object, undefined, spaced ? 2 : 0);
        const whole = JSON.parse(text) as Record<string, unknown>;
        const part = parsePartialObject(text.slice(0, 1 + (at % text.length))) ?? {};
        const names = Object.keys(part);
        expect(part).toEqual(Object.fromEntries(names.map((name) => [name, whole[name]])));
        expect(names.length).toBeLessThanOrEqual(Object.keys(whole).length);
      }),
    );
  });

  it("gives all members that came before the last comma", () => {
    fc.assert(
      fc.property(fc.dictionary(fc.string({ minLength: 1 }), fc.jsonValue(), { minKeys: 1 }), (object) => {
        const text = `${JSON.stringify(object).slice(0, -1)},"last":"`;
        expect(parsePartialObject(text)).toEqual(JSON.parse(JSON.stringify(object)));
      }),
    );
  });

  it("throws at nothing", () => {
    fc.assert(
      fc.property(fc.string({ unit: fc.constantFrom(...'{}[]",:\\ua1 <') }), (text) => void parsePartialObject(text)),
    );
  });

  it("looks at the first 128 KiB only, and at each character once, whatever it is", () => {
    const size = 16 * 2 ** 20;
    const texts = ['{"a":', '{"a":"\\', '{"', "[", " ", '{"a":1,', '{"a":[],', '{"a":{"b":["'].map((unit) =>
      unit.repeat(size / unit.length),
    );
    for (const text of [...texts, `{"a":"${"b".repeat(size)}`, `{"a":"${"\\".repeat(size)}`]) {
      const start = process.cpuUsage();
      parsePartialObject(text);
      // The processor's time: a busy machine takes more of the clock's.
      expect(process.cpuUsage(start).user).toBeLessThan(1_000_000);
    }
    expect(parsePartialObject(`{"a":1,"b":"${"b".repeat(2 ** 17)}","c":1}`)).toEqual({ a: 1 });
  });
});

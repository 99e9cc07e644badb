import { expect, it } from "vitest";
import { parseJsonObject, parseObject } from "../../src/wire/parse-json-object.js";

it.each(["[]", "[1]", "null", "7", '"text"', "true", "", "{", '{"a":1} '.repeat(2)])(
  "takes %s for no object",
  (text) => {
    expect(parseObject(text)).toBeUndefined();
    expect(parseJsonObject(text)).toEqual({});
  },
);

it("gives an object as it is", () => {
  expect(parseObject('{"a":{"b":[1]}}')).toEqual({ a: { b: [1] } });
  expect(parseJsonObject("{}")).toEqual({});
});

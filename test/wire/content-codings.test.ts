import { expect, it } from "vitest";
import { parseContentCodings } from "../../src/wire/content-codings.js";

it.each([
  [undefined, []],
  ["", []],
  ["identity", []],
  ["Identity, ", []],
  ["gzip", ["gzip"]],
  [" GZIP ", ["gzip"]],
  ["br, identity,gzip", ["br", "gzip"]],
  ["constructor,,x", ["constructor", "x"]],
])("finds in %j the codings %j", (header, codings) => {
  expect(parseContentCodings(header)).toEqual(codings);
});

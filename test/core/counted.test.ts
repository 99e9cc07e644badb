import { expect, it } from "vitest";
import { counted } from "../../src/core/describe.js";

it.each([
  [0, "0 looks"],
  [1, "1 look"],
  [2, "2 looks"],
])("says how many: %i", (count, wanted) => {
  expect(counted(count, "look")).toBe(wanted);
});

import { expect, it } from "vitest";
import { ruleMark } from "./branches.js";
import { mutations } from "./mutations.js";
import { ruleBranches } from "./rule-branches.js";

it("finds a branch for each rule", () => {
  const rules = ruleBranches();
  expect(Object.keys(rules)).toEqual(mutations.map(({ name }) => ruleMark(name)));
  expect(Object.entries(rules).filter(([, branches]) => branches.length === 0)).toEqual([]);
});

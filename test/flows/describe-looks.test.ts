import { expect, it } from "vitest";
import { describeLooks } from "../../src/flows/describe-looks.js";
import type { Look } from "../../src/flows/flow-state.js";

const whole: Look = { atMs: 0, claims: 1, seen: 3, complete: true };
const broken: Look = { ...whole, complete: false, problem: "the list does not go on" };

it.each([
  ["1 look at the list of payments did not find it", [whole]],
  ["2 looks at the list of payments did not find it", [whole, whole]],
  ["1 look at the list of payments did not find it (it could not see all payments: the list does not go on)", [broken]],
  [
    "2 looks at the list of payments did not find it (1 of them could not see all payments: the list does not go on)",
    [broken, whole],
  ],
] as const)("says: %s", (wanted, looks) => {
  expect(describeLooks(looks)).toBe(wanted);
});

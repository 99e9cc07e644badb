import { expect, it } from "vitest";
import { describeLooks } from "../../../src/flows/looking/describe-looks.js";
import type { Look } from "../../../src/flows/state/flow-state.js";

const whole: Look = { atMs: 0, claims: 1, seen: 3, complete: true };
const broken: Look = { ...whole, complete: false, problem: "the list does not go on" };
const lookalike = { id: "payment-1" } as NonNullable<Look["lookalike"]>;

it.each([
  ["1 look at the list of payments did not find it", [whole]],
  ["2 looks at the list of payments did not find it", [whole, whole]],
  ["1 look at the list of payments did not find it (it could not rule it out: the list does not go on)", [broken]],
  ["1 look at the list of payments did not find it (it could not rule it out)", [{ ...whole, complete: false }]],
  [
    "2 looks at the list of payments did not find it; a payment with the same transaction id is listed, and its signature or its content is another",
    [{ ...whole, lookalike }, whole],
  ],
  [
    "2 looks at the list of payments did not find it (1 of them could not rule it out: the list does not go on)",
    [broken, whole],
  ],
] as const)("says: %s", (wanted, looks) => {
  expect(describeLooks(looks)).toBe(wanted);
});

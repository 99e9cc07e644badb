import { expect, it } from "vitest";
import { decisionEffects, describeDecision } from "../../src/flows/decision-effects.js";

const decision = { by: "Olga", why: "ticket 4711", atMs: 0 } as const;

it("says what was decided, whether without proof, and on what grounds", () => {
  expect(describeDecision({ ...decision, action: "release" })).toEqual(["release", "ticket 4711"]);
  expect(describeDecision({ ...decision, action: "resend", withoutProof: true })).toEqual([
    "resend, without proof,",
    "ticket 4711",
  ]);
});

it("says of each decision on what grounds it may be made, what it does, and what follows", () => {
  for (const effect of Object.values(decisionEffects)) {
    expect(Object.values(effect).map((text) => text.length > 10)).toEqual([true, true, true]);
  }
});

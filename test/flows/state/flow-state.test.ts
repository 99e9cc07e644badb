import { expect, it } from "vitest";
import { type FlowState, isStuck } from "../../../src/flows/state/flow-state.js";
import { intent, intentRequest } from "../gateway-client.js";

function failing(phase: "funds-requested" | "quoted", count: number | undefined): FlowState {
  const failures = count === undefined ? undefined : { count, sinceMs: 1, atMs: 2, code: "http_503", message: "away" };
  const state = { phase, request: intentRequest, intent, since: null, claims: [], looks: [], decisions: [] };
  return { ...state, ...(failures && { failures }) } as FlowState;
}

it("is stuck once it has failed three times, and not before", () => {
  const counts = [undefined, 1, 2, 3, 4];
  expect(counts.map((count) => isStuck(failing("funds-requested", count)))).toEqual([false, false, false, true, true]);
});

it("is not stuck where nothing is left to do", () => {
  expect(isStuck(failing("quoted", 3))).toBe(false);
});

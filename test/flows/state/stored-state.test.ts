import { expect, it } from "vitest";
import { fromStored, type StoredState, toStored } from "../../../src/flows/state/stored-state.js";
import { intent, intentRequest } from "../gateway-client.js";

const claim = { path: "/payments", body: "{}", signature: "s", epoch: 1, claimedAtMs: 1, sendByMs: 2 };

function stored(phase: string, more: object = {}): StoredState {
  return { phase, request: intentRequest, intent, ...more } as StoredState;
}

it("stores no claim, which is one of the claims", () => {
  const state = fromStored(stored("claimed", { claims: [claim] }));
  if (state === undefined) throw new Error("the state can't be read");
  expect(state).toHaveProperty("claim");
  expect(toStored(state)).toStrictEqual(stored("claimed", { claims: [claim] }));
});

it.each(["claimed", "unknown"])("can't read a flow that is %s where no claim is open", (phase) => {
  for (const claims of [undefined, [], [{ ...claim, isRefused: true }], [{ ...claim, isAbsent: true }]]) {
    expect(fromStored(stored(phase, { claims }))).toBeUndefined();
  }
  expect(fromStored(stored(phase, { claims: [claim] }))).toMatchObject({ phase, claim });
});

it("reads a flow that is held, whether a claim is open or not", () => {
  const refused = { ...claim, isRefused: true };
  expect(fromStored(stored("held", { claims: [claim, refused] }))).toMatchObject({ claim });
  expect(fromStored(stored("held", { claims: [refused] }))).not.toHaveProperty("claim");
});

it("can't read a phase that it does not know", () => {
  expect(fromStored(stored("refunded"))).toBeUndefined();
});

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
  expect(JSON.parse(JSON.stringify(toStored(state)))).toStrictEqual(stored("claimed", { claims: [claim] }));
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

it("reads decisions of release 0.2.0, which stored `evenUnseen`, as those of today", () => {
  const decision = { action: "release", by: "Olga", why: "ticket-4711", atMs: 5 };
  const ofOldRelease = stored("refused", { decisions: [decision, { ...decision, evenUnseen: true }] });
  const ofToday = stored("refused", { decisions: [decision, { ...decision, withoutProof: true }] });
  expect(fromStored(ofOldRelease)).toStrictEqual(ofToday);
  expect(fromStored(ofToday)).toStrictEqual(ofToday);
});

it("reads decisions of release 0.2.0 about a flow whose claim is open", () => {
  const decision = { action: "resend", by: "Olga", why: "ticket-4711", atMs: 5 };
  const state = fromStored(stored("claimed", { claims: [claim], decisions: [{ ...decision, evenUnseen: true }] }));
  expect(state).toMatchObject({ claim, decisions: [{ ...decision, withoutProof: true }] });
});

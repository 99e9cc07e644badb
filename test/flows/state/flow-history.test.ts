import fc from "fast-check";
import { expect, it, onTestFinished, vi } from "vitest";
import { fromStoredHistory, mostSteps, toStoredHistory, withStep } from "../../../src/flows/state/flow-history.js";
import { allPhases, type FlowHistory, type FlowState, type FlowStep } from "../../../src/flows/state/flow-state.js";

const request = { senderGatewayId: "alpha" } as FlowState["request"];
const leaseMs = 300;
const stateOf = (phase: string, more: object = {}) => ({ phase, request, ...more }) as FlowState;
const failed = (code: string) => ({ failures: { count: 1, sinceMs: 1, atMs: 1, code, message: "it failed" } });
const begun = (from: FlowState | undefined) => ({ from, startMs: performance.now() });

it("has each step, by whom and with what it failed, and one line for a step that fails again", () => {
  const owner = { owner: "one", leaseMs };
  let state = withStep(owner, begun(undefined), stateOf("funds-requested"));
  for (let round = 0; round < 3; round += 1) {
    state = withStep(owner, begun(state), { ...state, ...failed("connection_failed") } as FlowState);
  }
  const { failures: _, ...rest } = state;
  state = withStep({ owner: "two", leaseMs: 200 }, begun(state), { ...rest, phase: "claimed" } as FlowState);
  expect(state.history).toMatchObject({
    dropped: 0,
    steps: [
      { to: "funds-requested", owner: "one" },
      { from: "funds-requested", to: "funds-requested", owner: "one", code: "connection_failed", times: 3 },
      { from: "funds-requested", to: "claimed", owner: "two" },
    ],
  });
  expect(state.leaseMs).toBe(leaseMs);
  expect(state.history?.steps[0]).not.toHaveProperty("from");
  expect(state.history?.steps[2]).not.toHaveProperty("code");
});

it("says when a step was done, and how long it took, in whole milliseconds", () => {
  vi.useFakeTimers({ toFake: ["Date", "performance"], now: 5000 });
  onTestFinished(() => void vi.useRealTimers());
  const startMs = performance.now();
  const stepOf = (from: number) =>
    withStep({ owner: "one", leaseMs }, { from: undefined, startMs: from }, stateOf("quoted")).history?.steps;
  expect(stepOf(startMs - 7.4)).toEqual([{ to: "quoted", atMs: 5000, durationMs: 7, owner: "one" }]);
  expect(stepOf(startMs - 7.6)).toMatchObject([{ durationMs: 8 }]);
  expect(stepOf(startMs + 7)).toMatchObject([{ durationMs: 0 }]);
});

it("has a line of its own for a step that fails in another way, or for another owner, or from another phase", () => {
  const failing = (phase: string, code = "connection_failed") => stateOf(phase, failed(code));
  const first = withStep({ owner: "one", leaseMs }, begun(stateOf("claimed")), failing("claimed"));
  const linesAfter = (owner: string, to: FlowState, from = first) =>
    withStep({ owner, leaseMs }, begun(from), to).history?.steps.length;
  expect(linesAfter("one", failing("claimed"))).toBe(1);
  expect(linesAfter("two", failing("claimed"))).toBe(2);
  expect(linesAfter("one", failing("unknown"))).toBe(2);
  expect(linesAfter("one", failing("claimed", "http_503"))).toBe(2);
  expect(linesAfter("one", failing("claimed"), { ...first, phase: "unknown" } as FlowState)).toBe(2);
  const well = withStep({ owner: "one", leaseMs }, begun(stateOf("claimed")), stateOf("claimed"));
  expect(linesAfter("one", stateOf("claimed"), well)).toBe(2);
  const begunFailing = withStep({ owner: "one", leaseMs }, begun(undefined), failing("quoted"));
  expect(begunFailing.history?.steps).toMatchObject([{ to: "quoted", code: "connection_failed" }]);
  // What failed before is still in the state.
  expect(linesAfter("one", first)).toBe(2);
  expect(withStep({ owner: "one", leaseMs }, begun(first), first).history?.steps[1]).not.toHaveProperty("code");
});

it("keeps the newest steps, and counts the others", () => {
  let state = stateOf("unknown");
  for (let step = 0; step < mostSteps + 7; step += 1)
    state = withStep({ owner: `o${step}`, leaseMs }, begun(state), state);
  expect(state.history?.steps).toHaveLength(mostSteps);
  expect(state.history?.steps[0]?.owner).toBe("o7");
  expect(state.history?.dropped).toBe(7);
});

const phase = fc.constantFrom(...allPhases);
const step: fc.Arbitrary<FlowStep> = fc
  .record(
    {
      from: phase,
      to: phase,
      atMs: fc.integer({ min: 0, max: 2 ** 45 }),
      durationMs: fc.nat(),
      owner: fc.string(),
      times: fc.integer({ min: 2, max: 1000 }),
      code: fc.string({ minLength: 1 }),
    },
    { requiredKeys: ["to", "atMs", "durationMs", "owner"] },
  )
  // Only what failed is repeated.
  .map(({ times, ...one }) => ({ ...one, ...(times !== undefined && one.code !== undefined && { times }) }));

it("comes back as it was from what is stored", () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: mostSteps }), fc.nat(), (steps, dropped) => {
      // Each step but the first begins somewhere.
      const whole = steps.map((one, index) =>
        index > 0 && one.from === undefined ? { ...one, from: "quoted" as const } : one,
      );
      const history: FlowHistory = { steps: whole, dropped };
      expect(fromStoredHistory(JSON.parse(JSON.stringify(toStoredHistory(history))))).toStrictEqual(history);
    }),
  );
});

it("is stored without what follows from the step before, or is as it mostly is", () => {
  const steps: FlowStep[] = [
    { to: "quoted", atMs: 1000, durationMs: 5, owner: "a" },
    { from: "quoted", to: "claimed", atMs: 1010, durationMs: 6, owner: "b" },
    { from: "claimed", to: "claimed", atMs: 1030, durationMs: 7, owner: "a", times: 3, code: "http_503" },
    { from: "unknown", to: "paid", atMs: 1060, durationMs: 8, owner: "a" },
  ];
  expect(toStoredHistory({ steps, dropped: 0 })).toStrictEqual({
    o: ["a", "b"],
    s: [
      ["quoted", 1000, 5],
      ["claimed", 10, 6, 1],
      ["claimed", 20, 7, 0, 3, "http_503"],
      ["unknown>paid", 30, 8],
    ],
  });
  expect(toStoredHistory({ steps: [], dropped: 7 })).toStrictEqual({ o: [], d: 7, s: [] });
});

it("takes about 150 bytes for the three states of a payment", () => {
  let state = withStep({ owner: crypto.randomUUID(), leaseMs }, begun(undefined), stateOf("funds-requested"));
  for (const to of ["claimed", "paid"]) {
    state = withStep({ owner: state.history?.steps[0]?.owner ?? "", leaseMs }, begun(state), {
      ...state,
      phase: to,
    } as FlowState);
  }
  if (state.history === undefined) throw new Error("there is none");
  expect(JSON.stringify(toStoredHistory(state.history)).length).toBeLessThan(160);
});

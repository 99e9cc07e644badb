import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { CrossBorderError } from "../../../src/errors/errors.js";
import type { FlowEvent, FlowPhase } from "../../../src/events/flow-event.js";
import { createReporter } from "../../../src/events/reporter.js";
import type { FlowContext } from "../../../src/flows/flow-context.js";
import type { ClaimResponse, FlowRefusal, FlowState } from "../../../src/flows/state/flow-state.js";
import { emitStep } from "../../../src/flows/steps/emit-step.js";
import { clock } from "../../../src/timing/clock.js";

interface Facts {
  readonly response?: ClaimResponse;
  readonly refusal?: FlowRefusal;
  readonly failures?: { readonly count: number };
}

const stateOf = (phase: FlowPhase, facts: Facts = {}) => ({ phase, ...facts }) as FlowState;

/** What whoever listens hears of a step. */
function heardOf(
  from: FlowState | undefined,
  to: FlowState,
  error?: unknown,
  startMs = clock.monotonicMs(),
): FlowEvent {
  const heard: FlowEvent[] = [];
  const reporter = createReporter([{ flow: (event) => heard.push(event) }]);
  emitStep({ reporter } as FlowContext, "order-1", from, to, startMs, error);
  const [event] = heard;
  if (event === undefined || heard.length > 1) return expect.unreachable(`${heard.length} events`);
  return event;
}

const claimed = stateOf("claimed");
const byService: FlowRefusal = { by: "service", status: 409, code: "limit_exceeded", message: "no more today" };

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  vi.advanceTimersByTime(1000);
});

describe("the event of a step", () => {
  it("says from where to where it led, how long it took, and at which attempt", () => {
    const startMs = clock.monotonicMs();
    vi.advanceTimersByTime(7);
    const event = heardOf(stateOf("claimed", { failures: { count: 2 } }), stateOf("paid"), undefined, startMs);
    expect(event).toEqual({ key: "order-1", from: "claimed", to: "paid", durationMs: 7, attempt: 3 });
    expect(heardOf(undefined, stateOf("quoted"))).toMatchObject({ from: undefined, to: "quoted", attempt: 1 });
  });

  it.each([
    ["possible", "is held", stateOf("held")],
    ["possible", "is held, although the service refused it", stateOf("held", { refusal: byService })],
    ["possible", "is unknown", stateOf("unknown")],
    [undefined, "is looked for only to be sure, after a refusal", stateOf("unknown", { refusal: byService })],
    [undefined, "was refused", stateOf("refused", { refusal: byService })],
    [undefined, "is paid", stateOf("paid")],
    [undefined, "may be sent", claimed],
  ])("has the effect %s where the payment %s", (effect, _, to) => {
    expect(heardOf(claimed, to).effect).toBe(effect);
  });

  it("has the effect possible, and the library's code, where the step failed", () => {
    const away = new CrossBorderError("away", { code: "http_503" });
    expect(heardOf(claimed, claimed, away)).toMatchObject({ effect: "possible", code: "http_503" });
    const foreign = heardOf(claimed, claimed, Object.assign(new Error("away"), { code: "ECONNREFUSED" }));
    expect(foreign.effect).toBe("possible");
    expect(foreign).not.toHaveProperty("code");
  });
});

/** What the event says of the service's response. */
function responseIn(to: FlowState): Pick<FlowEvent, "status" | "serviceCode"> {
  const isOfResponse = ([name]: [string, unknown]) => name === "status" || name === "serviceCode";
  return Object.fromEntries(Object.entries(heardOf(claimed, to)).filter(isOfResponse));
}

describe("of the service's response, the event of a step", () => {
  it("says nothing where there is none", () => {
    expect([claimed, stateOf("unknown"), stateOf("paid")].map(responseIn)).toEqual([{}, {}, {}]);
  });

  it("gives the status of one that settled nothing, and the service's code if it had one", () => {
    expect(responseIn(stateOf("unknown", { response: { status: 502 } }))).toStrictEqual({ status: 502 });
    const response = { status: 503, serviceCode: "maintenance" };
    expect(responseIn(stateOf("held", { response }))).toEqual(response);
  });

  it.each(["unknown", "refused", "rejected"] as const)("gives the refusal of a flow that is %s", (phase) => {
    const refused = stateOf(phase, { refusal: byService, response: { status: 503, serviceCode: "maintenance" } });
    expect(responseIn(refused)).toEqual({ status: 409, serviceCode: "limit_exceeded" });
  });

  it("gives the status alone of a refusal that named no code of the service's own", () => {
    const refusal = { ...byService, code: "http_409" };
    expect(responseIn(stateOf("refused", { refusal }))).toStrictEqual({ status: 409 });
  });

  it("says nothing of a refusal that came from no response", () => {
    const { status: _, ...unsent } = byService;
    expect(responseIn(stateOf("rejected", { refusal: unsent }))).toEqual({});
    const byOperator = { ...byService, by: "operator" as const };
    expect(responseIn(stateOf("rejected", { refusal: byOperator }))).toEqual({});
  });

  const longest = `E${"x".repeat(63)}`;

  it.each(["E1", "INSUFFICIENT_FUNDS", "gateway.limit-2", "error_1234", "x", longest])(
    "shows the code %s",
    (serviceCode) => {
      expect(responseIn(stateOf("unknown", { response: { status: 400, serviceCode } }))).toEqual({
        status: 400,
        serviceCode,
      });
    },
  );

  it.each([
    ["a sentence", "Ada has no account"],
    ["a sentence's end", "no such account: Ada"],
    ["a name with marks", "ada@bank"],
    ["a number", "1234"],
    ["what holds an account's number", "account-12345"],
    ["what begins like an account's number", "E12345"],
    ["what is longer than a code", `${longest}x`],
    ["nothing", ""],
  ])("does not show %s, which may tell of a person", (_, serviceCode) => {
    expect(responseIn(stateOf("unknown", { response: { status: 400, serviceCode } }))).toStrictEqual({ status: 400 });
    const refusal = { ...byService, code: serviceCode };
    expect(responseIn(stateOf("refused", { refusal }))).toStrictEqual({ status: 409 });
  });
});

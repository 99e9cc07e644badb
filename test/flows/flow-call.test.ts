import { AbortedError } from "cross-border-payments";
import { describe, expect, it } from "vitest";
import { FlowCall } from "../../src/flows/flow-call.js";
import { Alarm } from "../../src/timing/alarm.js";
import { errorOf } from "./results.js";

/** A call that its caller can stop. */
function callFixture() {
  const caller = new AbortController();
  const call = new FlowCall(caller.signal, new Alarm(), undefined);
  return { call, caller };
}

const never = new Promise<never>(() => {});

describe("a flow's call", () => {
  it.each([
    ["a pause", (call: FlowCall) => call.pause(60_000)],
    ["work that others wait for too", (call: FlowCall) => call.race(never)],
  ])("waits for %s until it is told to stop, and says why it did", async (_, wait) => {
    const { call, caller } = callFixture();
    const waiting = errorOf(wait(call));
    caller.abort();
    const error = await waiting;
    expect(error).toBeInstanceOf(AbortedError);
    expect(error.message).toMatch(/the caller's signal, or the end of the PaymentFlow/);
  });
});

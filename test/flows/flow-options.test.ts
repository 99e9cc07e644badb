import { ConfigError, InvalidArgumentError } from "cross-border-payments";
import type { PaymentFlowOptions } from "cross-border-payments/flow";
import { describe, expect, it } from "vitest";
import { toFlowContext } from "../../src/flows/context.js";
import { closeOptions, queryOptions, readOptions, runOptions, workOptions } from "../../src/flows/options.js";
import { flowFixture } from "./flow-fixture.js";

const maxMs = 2 ** 31 - 1;
const weekMs = 7 * 86_400_000;

describe("a flow", () => {
  it.each([
    ["gatewayId", 5, "a string that is not empty; got 5"],
    ["on", "log", "an object of functions"],
    ["readBackDelayMs", "5", "a whole number of milliseconds, 0 or more"],
    ["readBackDelayMs", maxMs + 1, "a whole number of milliseconds, 0 or more"],
    ["clockSkewMs", -1, "a whole number of milliseconds, 0 or more"],
    ["service", "", "the name of the service"],
    ["service", { singleUseIntents: true }, "the name of the service"],
    ["facts", { singleUseIntents: "yes" }, "an object such as"],
    ["facts", { listedWithinMs: 0 }, "an object such as"],
    ["circuitBreaker", true, "false, or an object such as"],
    ["circuitBreaker", { opensAfter: 0 }, "false, or an object such as"],
    ["circuitBreaker", { opens: 5 }, "false, or an object such as"],
  ])("refuses as its option %s %o", async (option, value, wanted) => {
    const { flow } = await flowFixture();
    const wrong = () => flow({ [option]: value });
    expect(wrong).toThrow(ConfigError);
    expect(wrong).toThrow(`${option} must be ${wanted}`);
  });

  it("refuses options that are no object", () => {
    const wrong = () => toFlowContext(5 as never);
    expect(wrong).toThrow(ConfigError);
    expect(wrong).toThrow("the flow's options must be an object");
  });

  it.each([
    [{ readBackDelayMs: 0 }],
    [{ readBackDelayMs: maxMs }],
    [{ facts: { singleUseIntents: false, listedWithinMs: weekMs, tokensFollowTime: true } }],
    [{ circuitBreaker: false }],
    [{ circuitBreaker: { opensAfter: 1, pauseMs: 1 } }],
  ] satisfies [Partial<PaymentFlowOptions>][])("accepts %o", async (options) => {
    const { flow } = await flowFixture();
    expect(() => flow(options)).not.toThrow();
  });
});

describe("a call of a flow", () => {
  it.each([
    ["list: after must be a string; got 5", () => readOptions("list", queryOptions, { after: 5 as never })],
    ["list: the options must be an object; got a number", () => readOptions("list", queryOptions, 5 as never)],
    [
      "work: everyMs must be a whole number of milliseconds, 1 or more; got 0",
      () => readOptions("work", workOptions, { everyMs: 0 }),
    ],
    ["close: timeoutMs must be a whole number", () => readOptions("close", closeOptions, { timeoutMs: -1 })],
  ])("is refused with its name: %s", (message, wrong) => {
    expect(wrong).toThrow(InvalidArgumentError);
    expect(wrong).toThrow(message);
  });

  it("keeps the headers that it was given, whatever becomes of the object", () => {
    const headers = { "x-request-id": "1" };
    const options = readOptions("run", runOptions, { headers });
    headers["x-request-id"] = "2";
    expect(options.headers).toEqual({ "x-request-id": "1" });
  });
});

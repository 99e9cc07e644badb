import type { CrossBorderClient, FundsTaken } from "cross-border-payments";
import type {
  FlowClient,
  FlowDecision,
  FlowFunds,
  FlowPhase,
  FlowResolution,
  PaymentFlow,
  PaymentFlowOptions,
  ResolveAction,
} from "cross-border-payments/flow";
import { describe, expectTypeOf, it } from "vitest";
import type { Flow } from "../../src/flows/core/state.js";

declare const flow: PaymentFlow;
declare const action: ResolveAction;

const resolution = { by: "Olga Operator", why: "the service confirmed it" };

describe("resolve", () => {
  it("takes each of its actions, and a variable that can be any of them", () => {
    flow.resolve("k", "found", resolution);
    flow.resolve("k", "release", resolution);
    flow.resolve("k", "resend", resolution);
    flow.resolve("k", action, resolution);
    flow.resolve("k", action as "found" | "release", resolution);
    // Nothing that an operator states is missing in what is stored and shown.
    expectTypeOf<Exclude<keyof FlowResolution, "revision">>().toExtend<keyof FlowDecision>();
    // @ts-expect-error there is no such action
    flow.resolve("k", "pay", resolution);
    // @ts-expect-error it must be on record who decided
    flow.resolve("k", "found", { why: "" });
  });
});

describe("the client of a flow", () => {
  it("is any copy's CrossBorderClient, whose private members are its own", () => {
    class OtherCopy {
      readonly #http = {};
      pay: CrossBorderClient["pay"] = () => Promise.reject(this.#http);
      close: CrossBorderClient["close"] = () => Promise.reject(this.#http);
    }
    expectTypeOf<CrossBorderClient>().toExtend<FlowClient>();
    expectTypeOf<OtherCopy>().toExtend<PaymentFlowOptions["client"]>();
    expectTypeOf<OtherCopy>().not.toExtend<CrossBorderClient>();
    expectTypeOf<object>().not.toExtend<FlowClient>();
  });

  it("names nothing internal", () => {
    expectTypeOf<keyof FlowClient>().toEqualTypeOf<"pay" | "close">();
  });
});

describe("takeFunds", () => {
  it("says in a flow whether the money had been taken before, which pay has no use for", () => {
    type Returned = Awaited<ReturnType<PaymentFlowOptions["takeFunds"]>>;
    expectTypeOf<Returned>().toEqualTypeOf<FlowFunds | null>();
    expectTypeOf<FlowFunds>().toExtend<FundsTaken>();
    expectTypeOf<Awaited<ReturnType<Parameters<CrossBorderClient["pay"]>[1]>>>().toEqualTypeOf<FundsTaken | null>();
    // @ts-expect-error the id alone is not enough
    const takeFunds: PaymentFlowOptions["takeFunds"] = () => "TX-1";
    expectTypeOf(takeFunds).toBeFunction();
  });
});

it("names every phase of a flow", () => {
  expectTypeOf<FlowPhase>().toEqualTypeOf<Flow["phase"]>();
});

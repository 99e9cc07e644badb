import { CrossBorderError } from "cross-border-payments";
import { FlowPausedError } from "cross-border-payments/flow";
import { expect, it } from "vitest";

it("names work first among what continues the flow", () => {
  const { message, effect } = new FlowPausedError("order-42", { phase: "unknown" });
  expect(effect).toBe("possible");
  expect(message).toMatch(/phase "unknown".* calls work, or reads recover to its end.*neither pay in another way/);
});

it("leaves a held flow to resolve", () => {
  expect(new FlowPausedError("order-42", { phase: "held" }).message).toMatch(/waits for resolve; (?!.*work)/);
});

it("says nothing of a phase, a request or a cause that nobody knows", () => {
  const error = new FlowPausedError("order-42");
  expect(error.message).toMatch(/^the flow of key "order-42" stopped without an outcome\. It still owns the payment/);
  for (const name of ["phase", "request", "cause"]) expect(Object.hasOwn(error, name)).toBe(false);
});

it.each([
  ["with its call", "payments.list", "payments.list: http_503"],
  ["without a call, where it is of none", undefined, "http_503"],
])("names what stopped the flow %s", (_, operation, what) => {
  const cause = new CrossBorderError("the account DE-0001; nothing was done", { code: "http_503", operation });
  const { message } = new FlowPausedError("order-42", { phase: "unknown", cause });
  expect(message).toContain(`without an outcome (${what}). It still owns the payment`);
});

it("repeats nothing of what a bank's function threw", () => {
  const cause = new Error("the account DE-0001 is closed");
  expect(new FlowPausedError("order-42", { cause }).message).toContain("without an outcome. It still owns the payment");
});

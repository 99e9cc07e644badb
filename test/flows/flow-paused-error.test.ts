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

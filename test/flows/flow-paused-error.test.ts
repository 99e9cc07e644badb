import { CrossBorderError, TimeoutError } from "cross-border-payments";
import { FlowPausedError } from "cross-border-payments/flow";
import { expect, it } from "vitest";

const end = "Until it has an outcome, don't pay this order another way, and don't refund it.";
const again = "Call it again with the same key, or keep a process running that calls work.";
const bug = Object.assign(new TypeError("the account DE-0001 is closed"), { code: "E_CLOSED" });

it.each<[string, ConstructorParameters<typeof FlowPausedError>[1], string]>([
  ["nothing that nobody knows", {}, `Payment "k3" is not finished. ${again} ${end}`],
  [
    "what to do about a held flow",
    { phase: "held" },
    `Payment "k3" is not finished in phase "held". Call resolve. ${end}`,
  ],
  [
    "the class and the code of what takeFunds threw",
    { phase: "funds-requested", cause: bug },
    `Payment "k3" is not finished in phase "funds-requested": TypeError E_CLOSED. ${again} ${end}`,
  ],
  [
    "the call that failed",
    { cause: new CrossBorderError("DE-0001. Nothing was sent.", { code: "http_503", operation: "payments.list" }) },
    `Payment "k3" is not finished: payments.list CrossBorderError http_503. ${again} ${end}`,
  ],
  [
    "a failure of no call",
    { cause: new TimeoutError("x") },
    `Payment "k3" is not finished: TimeoutError timeout. ${again} ${end}`,
  ],
  ["other advice", { advice: "Pass the gatewayId." }, `Payment "k3" is not finished. Pass the gatewayId. ${end}`],
])("tells %s", (_, details, message) => {
  const error = new FlowPausedError("k3", details);
  expect(error).toMatchObject({ message, effect: "possible", code: "flow_paused", key: "k3" });
  expect(message.split(" ").length).toBeLessThan(45);
});

it("has no fields for what nobody knows", () => {
  const error = new FlowPausedError("order-42");
  for (const name of ["phase", "request", "cause"]) expect(Object.hasOwn(error, name)).toBe(false);
});

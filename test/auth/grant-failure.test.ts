import { inspect } from "node:util";
import { expect, it } from "vitest";
import { failureOfGrant, GrantError, type GrantFailure } from "../../src/auth/grant-failure.js";

const failure: GrantFailure = { class: "throttled", status: 429, retryAfterMs: 1000 };

it("finds the failure in its own error, and in openid-client's error around it", () => {
  expect(failureOfGrant(new GrantError(failure))).toBe(failure);
  expect(failureOfGrant(new Error("something went wrong", { cause: new GrantError(failure) }))).toBe(failure);
});

it.each([
  new TypeError("canary", { cause: { password: "canary" } }),
  new Error("canary", { cause: new Error("canary") }),
  "canary",
  undefined,
])("takes nothing over from any other error (case %#)", (error) => {
  const found = failureOfGrant(error);
  expect(found).toEqual({ class: "unprepared" });
  expect(inspect(found, { showHidden: true, depth: 9 })).not.toContain("canary");
});

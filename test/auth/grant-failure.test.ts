import { inspect } from "node:util";
import { expect, it } from "vitest";
import {
  failureOfGrant,
  failureOfWire,
  GrantError,
  type GrantFailure,
  grantReactions,
  toTokenError,
} from "../../src/auth/grant-failure.js";
import { ConfigError } from "../../src/errors/errors.js";

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

it("fails at once, with what to do, where the transport can't be opened", () => {
  const found = failureOfWire(new ConfigError("undici can't be loaded"));
  expect(grantReactions[found.class]).toEqual({ refresh_token: "fail", password: "fail" });
  expect(toTokenError(found, "https://login.test", undefined)).toMatchObject({
    code: "token_request_failed",
    effect: "none",
    message: expect.stringMatching(/UNDICI_NOT_LOADED.*docs\/bundling\.md/),
  });
});

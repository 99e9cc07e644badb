import { expect, it } from "vitest";
import { type GrantFailure, refusalChecks, toTokenError } from "../../src/auth/token-error.js";
import { ConfigError, type TokenErrorCode } from "../../src/core/errors.js";

const url = "https://login.test/auth/realms/bank/protocol/openid-connect/token";

/** The code of each failure that the table of answers doesn't have, and how its text begins. */
it.each<[GrantFailure, TokenErrorCode, string]>([
  [{ class: "unsent-for-good", reason: "PROXY_REFUSED" }, "proxy_refused", `the proxy made no connection to ${url}.`],
  [{ class: "unverified", reason: "exp" }, "login_unverified", `the ID token of ${url} does not belong`],
  [
    { class: "no-secret", secretName: "password", reason: "THREW" },
    "token_source_failed",
    "the function auth.password did not return a secret (THREW).",
  ],
  [{ class: "session-ended" }, "login_refused", `${url} does not continue the session`],
  [{ class: "unshared", reason: "TIMEOUT" }, "token_store_failed", "the token store can't be used (TIMEOUT)."],
  [{ class: "unconfirmed" }, "logout_unconfirmed", "its newest refresh token is not known"],
  [{ class: "unprepared" }, "token_request_failed", "the request could not be made (UNKNOWN)."],
])("has a code and a text for %j", (failure, code, text) => {
  const error = toTokenError(failure, url);
  expect(error).toMatchObject({ code, effect: "none" });
  expect(error.message).toContain(`No access token: ${text}`);
  const { reason } = failure;
  expect(error.cause).toEqual(reason === undefined ? undefined : expect.objectContaining({ code: reason }));
});

it("says what to check after each code of RFC 6749", () => {
  for (const [serviceCode, check] of refusalChecks) {
    const error = toTokenError({ class: "refused", status: 400, serviceCode: String(serviceCode) }, url);
    expect(error.message).toBe(`Login failed: ${url} rejected the credentials (400 ${serviceCode}). ${check}.`);
  }
  expect(refusalChecks.size).toBe(6);
});

it("is the problem itself if an option or a package keeps the request from being made", () => {
  expect(toTokenError({ class: "unprepared", problem: "no undici" }, url)).toEqual(new ConfigError("no undici"));
});

it("adds when a token may be requested again, rounded up to a second", () => {
  const heldUntilMs = Date.UTC(2030, 0, 1, 15, 4, 54, 1);
  const message = expect.stringMatching(/ Next attempt allowed at 15:04:55 UTC\.$/);
  expect(toTokenError({ class: "throttled", status: 429 }, url, heldUntilMs)).toMatchObject({ heldUntilMs, message });
});

it.each(["canary", "Canary_code", "canary code", "canary_7", "a_canary", `canary_${"x".repeat(21)}`])(
  "keeps the endpoint's own words out of the message: %s",
  (serviceCode) => {
    const failure: GrantFailure = { class: "server-error", status: 500, serviceCode, serviceMessage: "canary" };
    const error = toTokenError(failure, url);
    expect(error).toMatchObject({ serviceCode, serviceMessage: "canary" });
    expect(error.message).not.toMatch(/canary/i);
  },
);

import { expect, it } from "vitest";
import {
  backOffMs,
  type GrantFailure,
  isRefusal,
  refusedHoldMs,
  rejectedHoldMs,
  toRejectedError,
  toTokenError,
} from "../../src/auth/token-error.js";
import { ConfigError, type TokenErrorCode } from "../../src/core/errors.js";

const url = "https://login.test/auth/realms/bank/protocol/openid-connect/token";

/** The code and the text of each failure. The table of answers has what follows. */
type Row = readonly [GrantFailure, TokenErrorCode, found: string];

const rows: readonly Row[] = [
  [
    { class: "unsent", reason: "ECONNREFUSED" },
    "token_endpoint_unreachable",
    `could not connect to ${url} (ECONNREFUSED)`,
  ],
  [{ class: "maybe-sent", reason: "ECONNRESET" }, "token_endpoint_unreachable", `no response from ${url} (ECONNRESET)`],
  [
    { class: "unknown-host", reason: "ENOTFOUND" },
    "token_endpoint_unreachable",
    `could not connect to ${url} (ENOTFOUND)`,
  ],
  [
    { class: "unsent-for-good", reason: "CERT" },
    "token_endpoint_untrusted",
    `could not make a secure connection to ${url} (CERT)`,
  ],
  [{ class: "unsent-for-good", reason: "PROXY_REFUSED" }, "proxy_refused", `the proxy made no connection to ${url}`],
  [
    { class: "refused", status: 400, serviceCode: "invalid_grant" },
    "login_refused",
    `${url} rejected the credentials (400 invalid_grant)`,
  ],
  [
    { class: "unauthorized", status: 401, serviceCode: "canary" },
    "login_refused",
    `${url} rejected the credentials (401)`,
  ],
  [{ class: "refused-by-another", status: 404 }, "token_endpoint_not_found", `${url} responded with 404`],
  [
    { class: "refused-by-another", status: 403, serviceCode: "access_denied" },
    "token_endpoint_blocked",
    `${url} responded with 403 access_denied, and did not say that the credentials are wrong`,
  ],
  [{ class: "server-error", status: 502 }, "token_endpoint_failing", `${url} responded with 502, and no token`],
  [{ class: "throttled", status: 429 }, "token_throttled", `${url} accepts no more token requests for now (429)`],
  [
    { class: "redirect", status: 302 },
    "token_endpoint_redirected",
    `${url} responded with a redirect (302), which is never followed`,
  ],
  [
    { class: "unreadable", status: 200 },
    "token_response_unreadable",
    `the response of ${url} (200) has no access_token in the described form, with the token_type "Bearer"`,
  ],
  [
    { class: "unverified", reason: "exp" },
    "login_unverified",
    `the ID token of ${url} does not belong to this login (exp)`,
  ],
  [
    { class: "no-secret", secretName: "password", reason: "THREW" },
    "token_source_failed",
    "the function auth.password did not return a secret (THREW)",
  ],
  [
    { class: "session-ended", serviceCode: "invalid_grant" },
    "login_refused",
    `${url} does not continue the session of auth.refreshToken, or a process that renewed it stored no new token. Build a client with another refreshToken`,
  ],
  [{ class: "unshared", reason: "TIMEOUT" }, "token_store_failed", "the token store can't be used (TIMEOUT)"],
  [
    { class: "unconfirmed" },
    "logout_unconfirmed",
    "its newest refresh token is not known, since a renewal has not ended or its response was lost",
  ],
  [{ class: "unprepared" }, "token_request_failed", "the request could not be made (UNKNOWN)"],
];

it.each(rows)("describes %j", (failure, code, found) => {
  const error = toTokenError(failure, url);
  expect(error).toMatchObject({ code, effect: "none" });
  expect(Reflect.get(error, "status")).toBe(failure.status);
  expect(error.message).toContain(`${isRefusal(failure) ? "Login failed" : "No access token"}: ${found}.`);
  expect(error.cause).toEqual(
    failure.reason === undefined ? undefined : expect.objectContaining({ code: failure.reason }),
  );
});

it.each([
  ["invalid_grant", "Check username and password; a locked account looks the same"],
  ["invalid_client", "Check clientId and clientSecret"],
  ["unauthorized_client", "Check clientId and clientSecret, and that the client may use this grant"],
  ["unsupported_grant_type", "Check that the identity provider allows this grant for the client"],
  ["invalid_request", "Check clientId, clientSecret, username, and password"],
  ["invalid_scope", "Check the scopes of the client"],
])("says what to check after %s", (serviceCode, check) => {
  expect(toTokenError({ class: "refused", status: 400, serviceCode }, url).message).toContain(` ${check}.`);
});

it("is the problem itself if an option or a package keeps the request from being made", () => {
  expect(toTokenError({ class: "unprepared", problem: "no undici" }, url)).toEqual(new ConfigError("no undici"));
});

it("adds when a token may be requested again, rounded up to a second", () => {
  const heldUntilMs = Date.UTC(2030, 0, 1, 15, 4, 54, 1);
  const at = { heldUntilMs, message: expect.stringMatching(/ Next attempt allowed at 15:04:55 UTC\.$/) };
  expect(toTokenError({ class: "throttled", status: 429 }, url, heldUntilMs)).toMatchObject(at);
  expect(toRejectedError(url, heldUntilMs)).toMatchObject({ ...at, code: "token_rejected", status: 401 });
});

it.each(["canary", "Canary_code", "canary code", "canary_7", "a_canary", `canary_${"x".repeat(21)}`])(
  "keeps the endpoint's own words out of the message: %s",
  (serviceCode) => {
    for (const kind of ["refused", "throttled", "refused-by-another", "server-error"] as const) {
      const error = toTokenError({ class: kind, status: 400, serviceCode, serviceMessage: "canary" }, url);
      expect(error).toMatchObject({ serviceCode, serviceMessage: "canary" });
      expect(error.message).not.toMatch(/canary/i);
    }
  },
);

it("leaves the endpoint alone for as long as Retry-After says, up to 300 s, or 3 s if it doesn't throttle", () => {
  const at = (kind: "throttled" | "server-error", retryAfterMs: number) =>
    backOffMs({ class: kind, retryAfterMs }, 9, () => 0.5);
  expect([1000, 300_000, 300_001].map((ms) => at("throttled", ms))).toEqual([1000, 300_000, 300_000]);
  expect([1000, 3000, 3001].map((ms) => at("server-error", ms))).toEqual([1000, 3000, 3000]);
});

it.each([
  ["unsent", 3000],
  ["throttled", 20_000],
  ["throttled-by-another", 20_000],
] as const)("backs off after %s from 100 ms to at most %i ms", (kind, capMs) => {
  const at = (failures: number, random: number) => backOffMs({ class: kind, retryAfterMs: 0 }, failures, () => random);
  expect([0, 1, 2, 90].map((failures) => at(failures, 0))).toEqual([100, 200, 400, capMs / 2]);
  expect([0, 1, 2, 90].map((failures) => at(failures, 1))).toEqual([200, 400, 800, capMs]);
});

it("holds a refused login for 1 min, then 2, 4, … 60, and renewals of refused tokens for 10 s, growing to 5 min", () => {
  expect([1, 2, 6, 7, 2000].map((refusals) => refusedHoldMs(refusals) / 60_000)).toEqual([1, 2, 32, 60, 60]);
  const held = (wasAccepted: boolean) => [0, 1, 2, 5, 6, 7, 2000].map((n) => rejectedHoldMs(n, wasAccepted) / 1000);
  expect(held(false)).toEqual([0, 10, 20, 160, 300, 300, 300]);
  expect(held(true)).toEqual([0, 0, 0, 0, 10, 20, 300]);
});

import { expect, it } from "vitest";
import {
  decisionOn,
  describeGrantFailure,
  type GrantFailure,
  isRefusal,
  mayBeSpent,
  toRejectedError,
  toTokenError,
} from "../../src/auth/token-error.js";
import type { TokenErrorCode } from "../../src/core/errors.js";

const url = "https://login.test/auth/realms/bank/protocol/openid-connect/token";

/** What follows a failed login and a failed refresh, whether the refresh token may be used up, and what the error says. */
type Row = readonly [
  failure: GrantFailure,
  login: string,
  refresh: string,
  spent: "kept" | "spent",
  code: TokenErrorCode,
  found: string,
];

const rows: readonly Row[] = [
  [
    { class: "unsent", reason: "ECONNREFUSED" },
    "retry",
    "retry",
    "kept",
    "token_endpoint_unreachable",
    `could not connect to ${url} (ECONNREFUSED)`,
  ],
  [
    { class: "maybe-sent", reason: "ECONNRESET" },
    "retry",
    "retry",
    "spent",
    "token_endpoint_unreachable",
    `no response from ${url} (ECONNRESET)`,
  ],
  [
    { class: "unknown-host", reason: "ENOTFOUND" },
    "fail",
    "fail",
    "kept",
    "token_endpoint_unreachable",
    `could not connect to ${url} (ENOTFOUND)`,
  ],
  [
    { class: "unsent-for-good", reason: "CERT_HAS_EXPIRED" },
    "fail",
    "fail",
    "kept",
    "token_endpoint_untrusted",
    `could not make a secure connection to ${url} (CERT_HAS_EXPIRED)`,
  ],
  [
    { class: "unsent-for-good", reason: "PROXY_REFUSED" },
    "fail",
    "fail",
    "kept",
    "proxy_refused",
    `the proxy made no connection to ${url}`,
  ],
  [
    { class: "refused", status: 400, serviceCode: "invalid_grant" },
    "fail",
    "renew-token",
    "kept",
    "login_refused",
    `${url} rejected the credentials (400 invalid_grant)`,
  ],
  [
    { class: "unauthorized", status: 401, serviceCode: "canary" },
    "fail",
    "renew-token",
    "kept",
    "login_refused",
    `${url} rejected the credentials (401)`,
  ],
  [
    { class: "refused-by-another", status: 404, serviceCode: "Realm does not exist" },
    "fail",
    "renew-token",
    "kept",
    "token_endpoint_not_found",
    `${url} responded with 404`,
  ],
  [
    { class: "refused-by-another", status: 403, serviceCode: "access_denied" },
    "fail",
    "renew-token",
    "kept",
    "token_endpoint_blocked",
    `${url} responded with 403 access_denied, and did not say that the credentials are wrong`,
  ],
  [
    { class: "server-error", status: 502 },
    "retry",
    "retry",
    "spent",
    "token_endpoint_failing",
    `${url} responded with 502, and no token`,
  ],
  // A server that is starting.
  [
    { class: "server-error", status: 503 },
    "retry",
    "retry",
    "kept",
    "token_endpoint_failing",
    `${url} responded with 503, and no token`,
  ],
  [
    { class: "throttled", status: 429 },
    "retry",
    "retry",
    "kept",
    "token_throttled",
    `${url} accepts no more token requests for now (429)`,
  ],
  [
    { class: "redirect", status: 302 },
    "fail",
    "fail",
    "kept",
    "token_endpoint_redirected",
    `${url} responded with a redirect (302), which is never followed`,
  ],
  [
    { class: "unreadable", status: 200 },
    "fail",
    "fail",
    "spent",
    "token_response_unreadable",
    `the response of ${url} (200) has no access_token in the described form, with the token_type "Bearer"`,
  ],
  [
    { class: "unverified", reason: "exp" },
    "fail",
    "fail",
    "kept",
    "login_unverified",
    `the ID token of ${url} does not belong to this login (exp)`,
  ],
  [
    { class: "no-secret", secretName: "password", reason: "THREW" },
    "fail",
    "fail",
    "kept",
    "token_source_failed",
    "the function auth.password did not return a secret (THREW)",
  ],
  [
    { class: "session-ended" },
    "fail",
    "fail",
    "kept",
    "login_refused",
    `${url} does not continue the session of auth.refreshToken, or a process that renewed it stored no new token`,
  ],
  [
    { class: "unshared", reason: "TIMEOUT" },
    "retry",
    "retry",
    "kept",
    "token_store_failed",
    "the token store can't be used (TIMEOUT)",
  ],
  [
    { class: "unconfirmed" },
    "fail",
    "fail",
    "kept",
    "logout_unconfirmed",
    "its newest refresh token is not known, since a renewal has not ended or its response was lost",
  ],
  [{ class: "unprepared" }, "fail", "fail", "kept", "token_request_failed", "the request could not be made (UNKNOWN)"],
];

it.each(rows)("decides and describes %j", (failure, login, refresh, spent, code, found) => {
  expect([decisionOn(failure, "login").reaction, decisionOn(failure, "refresh").reaction]).toEqual([login, refresh]);
  expect(mayBeSpent(failure) ? "spent" : "kept").toBe(spent);
  expect(describeGrantFailure(failure, url).found).toBe(found);
  const error = toTokenError(failure, url);
  expect(error).toMatchObject({ code, effect: "none" });
  expect(error.message).toContain(`${isRefusal(failure) ? "Login failed" : "No access token"}: ${found}. `.trimEnd());
  expect(error.status).toBe(failure.status);
});

it.each([
  ["invalid_grant", "Check username and password; a locked account looks the same"],
  ["invalid_client", "Check clientId and clientSecret"],
  ["unauthorized_client", "Check clientId and clientSecret, and that the client may use this grant"],
  ["unsupported_grant_type", "Check that the identity provider allows this grant for the client"],
  ["invalid_request", "Check clientId, clientSecret, username, and password"],
  ["invalid_scope", "Check the scopes of the client"],
])("says what to check after %s", (serviceCode, check) => {
  expect(describeGrantFailure({ class: "refused", status: 400, serviceCode }, url).check).toBe(check);
});

it("gives the reason as the cause, and no cause without one", () => {
  expect(toTokenError({ class: "unsent", reason: "ECONNREFUSED" }, url).cause).toMatchObject({ code: "ECONNREFUSED" });
  expect(toTokenError({ class: "throttled", status: 429 }, url).cause).toBeUndefined();
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

import { inspect } from "node:util";
import { expect, it } from "vitest";
import {
  failureOfGrant,
  failureOfWire,
  GrantError,
  type GrantFailure,
  type GrantFailureClass,
  type GrantReaction,
  mayBeSpent,
  reactionTo,
  toRejectedError,
  toTokenError,
} from "../../src/auth/grant-failure.js";
import { ConfigError, type TokenErrorCode } from "../../src/core/errors.js";

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
  const found = failureOfWire(new ConfigError("undici can't be loaded (UNDICI_NOT_LOADED); see docs/bundling.md"));
  expect(reactionTo(found, "password", true)).toBe("fail");
  expect(toTokenError(found, "https://login.test", undefined)).toMatchObject({
    code: "token_request_failed",
    effect: "none",
    message: expect.stringMatching(/UNDICI_NOT_LOADED.*docs\/bundling\.md/),
    cause: { code: "UNDICI_NOT_LOADED" },
  });
  expect(failureOfWire(new ConfigError("what sends requests can't be loaded"))).toMatchObject({ reason: "NOT_SENT" });
});

const url = "https://login.test/auth/realms/bank/protocol/openid-connect/token";

it.each<[GrantFailure, TokenErrorCode, string]>([
  [
    { class: "unsent", reason: "ECONNREFUSED" },
    "token_endpoint_unreachable",
    `No access token: could not connect to ${url} (ECONNREFUSED). Check authUrl, and that this machine can reach it.`,
  ],
  [
    { class: "maybe-sent", reason: "ECONNRESET", isFirst: true },
    "token_endpoint_unreachable",
    `No access token: no response from ${url} (ECONNRESET); if the server wants a client certificate, give one as tls.cert and tls.key. Check authUrl, and that this machine can reach it.`,
  ],
  [
    { class: "untrusted", reason: "CERT_HAS_EXPIRED" },
    "token_endpoint_untrusted",
    `No access token: could not make a secure connection to ${url} (CERT_HAS_EXPIRED). Check its certificate, and tls.ca if a private authority signed it.`,
  ],
  [
    { class: "proxy-refused", reason: "PROXY_REFUSED" },
    "proxy_refused",
    `No access token: the proxy made no connection to https://login.test; check its address, user, and password, and which addresses it lets through.`,
  ],
  ...(
    [
      ["invalid_grant", "Check username and password; a locked account looks the same"],
      ["invalid_client", "Check clientId and clientSecret"],
      ["unauthorized_client", "Check clientId and clientSecret, and that the client may use this grant"],
      ["unsupported_grant_type", "Check that the identity provider allows this grant for the client"],
      ["invalid_request", "Check clientId, clientSecret, username, and password"],
      ["invalid_scope", "Check the scopes of the client"],
    ] as const
  ).map(([serviceCode, check]): [GrantFailure, TokenErrorCode, string] => [
    { class: "refused", status: 400, serviceCode },
    "login_refused",
    `Login failed: ${url} rejected the credentials (400 ${serviceCode}). ${check}.`,
  ]),
  [
    { class: "refused", status: 401, serviceCode: "canary" },
    "login_refused",
    `Login failed: ${url} rejected the credentials (401). Check realm, clientId, clientSecret, username, and password.`,
  ],
  [
    { class: "not-found", status: 404, serviceCode: "Realm does not exist" },
    "token_endpoint_not_found",
    `No access token: ${url} responded with 404. Check authUrl and realm.`,
  ],
  [
    { class: "blocked", status: 403, serviceCode: "access_denied" },
    "token_endpoint_blocked",
    `No access token: ${url} responded with 403 access_denied, and did not say that the credentials are wrong. Check that the realm is enabled, that it allows more sessions, and that no firewall or proxy blocks the request.`,
  ],
  [
    { class: "failing", status: 503 },
    "token_endpoint_failing",
    `No access token: ${url} responded with 503. Check that the identity provider is up.`,
  ],
  [
    { class: "failing", status: 200 },
    "token_endpoint_failing",
    `No access token: ${url} responded with a web page (200). Check authUrl, and that the identity provider is up.`,
  ],
  [
    { class: "throttled", status: 429 },
    "token_throttled",
    `No access token: ${url} accepts no more token requests for now (429). If many processes log in, share a session with tokenStore.`,
  ],
  [
    { class: "redirected", status: 302 },
    "token_endpoint_redirected",
    `No access token: ${url} responded with a redirect (302), which is never followed. Check authUrl.`,
  ],
  [
    { class: "unreadable", status: 200 },
    "token_response_unreadable",
    `No access token: the response of ${url} (200) has no access_token in the described form, with the token_type "Bearer". Check authUrl and realm.`,
  ],
  [
    { class: "unverified", reason: "exp" },
    "login_unverified",
    `No access token: the ID token of ${url} does not belong to this login (exp). Check clientId, and that the clocks of both machines agree.`,
  ],
  [
    { class: "no-secret", secretName: "password", reason: "THREW" },
    "token_source_failed",
    "No access token: the function auth.password did not return a secret (THREW).",
  ],
  [
    { class: "no-secret", reason: "DEADLINE" },
    "token_source_failed",
    "No access token: the function auth.password or clientSecret did not return a secret (DEADLINE).",
  ],
  [
    { class: "session-ended" },
    "login_refused",
    `No access token: ${url} does not continue the session of auth.refreshToken. Build a client with another refreshToken.`,
  ],
  [
    { class: "session-spent" },
    "login_refused",
    "No access token: a process used the refresh token in the token store and stored no new one. Build clients with another refreshToken.",
  ],
  [
    { class: "unshared", reason: "TIMEOUT" },
    "token_store_failed",
    "No access token: the token store can't be used (TIMEOUT).",
  ],
  [
    { class: "unconfirmed" },
    "logout_unconfirmed",
    "No access token: its newest refresh token is not known, since a renewal has not ended or its response was lost. Log out again, or send the user to the logout page of https://login.test.",
  ],
  [
    { class: "unprepared" },
    "token_request_failed",
    "No access token: the request could not be made. Check that the package openid-client is installed completely.",
  ],
  [
    { class: "unprepared", problem: "undici can't be loaded" },
    "token_request_failed",
    "No access token: the request could not be made: undici can't be loaded.",
  ],
])("says what happened, where, and what to check: %j", (failed, code, message) => {
  const error = toTokenError(failed, url);
  expect(error).toMatchObject({ code, effect: "none", message });
  expect(error.status).toBe(failed.status);
});

it("gives the reason as the cause, and no cause without one", () => {
  expect(toTokenError({ class: "unsent", reason: "ECONNREFUSED" }, url).cause).toMatchObject({
    code: "ECONNREFUSED",
  });
  expect(toTokenError(failure, url).cause).toBeUndefined();
});

it("adds when a token may be requested again, rounded up to a second", () => {
  const { message } = toTokenError(failure, url);
  const heldUntilMs = Date.UTC(2030, 0, 1, 15, 4, 54, 1);
  expect(toTokenError(failure, url, heldUntilMs)).toMatchObject({
    message: `${message} Next attempt allowed at 15:04:55 UTC.`,
    heldUntilMs,
  });
});

it("keeps the endpoint's own words out of the message", () => {
  for (const serviceCode of [
    "canary",
    "Canary_code",
    "canary code",
    "canary_7",
    "a_canary",
    `canary_${"x".repeat(21)}`,
  ]) {
    for (const kind of ["refused", "throttled", "not-found", "blocked", "failing"] as const) {
      const error = toTokenError({ class: kind, status: 400, serviceCode, serviceMessage: "canary" }, url);
      expect(error).toMatchObject({ serviceCode, serviceMessage: "canary" });
      expect(error.message).not.toMatch(/canary/i);
    }
  }
});

it("says of a new token that is refused what to check, and when another one may be requested", () => {
  const heldUntilMs = Date.UTC(2030, 0, 1);
  expect(toRejectedError(url, heldUntilMs)).toMatchObject({
    code: "token_rejected",
    status: 401,
    heldUntilMs,
    message: `The service refused a new access token (401). Check that ${url} issues tokens for this service (realm, audience), and that the clocks of both machines agree. Next attempt allowed at 00:00:00 UTC.`,
  });
});

/** What follows a refresh if there is a password, a refresh if there is none, and a login; and whether the refresh token can be sent again. */
type Row = readonly [refresh: GrantReaction, ofSession: GrantReaction, login: GrantReaction, "kept" | "maybe spent"];

const rows: Readonly<Record<GrantFailureClass, Row>> = {
  unsent: ["wait", "wait", "wait", "kept"],
  "maybe-sent": ["old-or-login", "old-or-login", "wait", "maybe spent"],
  untrusted: ["fail", "fail", "fail", "kept"],
  "proxy-refused": ["fail", "fail", "fail", "kept"],
  refused: ["login", "login", "stop", "maybe spent"],
  "not-found": ["pause", "pause", "pause", "kept"],
  blocked: ["login", "pause", "pause", "kept"],
  failing: ["wait", "wait", "wait", "maybe spent"],
  throttled: ["wait", "wait", "wait", "kept"],
  redirected: ["fail", "fail", "fail", "kept"],
  unreadable: ["fail", "fail", "fail", "maybe spent"],
  unverified: ["fail", "fail", "fail", "maybe spent"],
  "no-secret": ["fail", "fail", "fail", "kept"],
  "session-ended": ["stop", "stop", "stop", "maybe spent"],
  "session-spent": ["stop", "stop", "stop", "maybe spent"],
  unshared: ["wait", "wait", "wait", "maybe spent"],
  unconfirmed: ["fail", "fail", "fail", "maybe spent"],
  unprepared: ["fail", "fail", "fail", "kept"],
};

it.each(Object.entries(rows))("reacts to %s as the decision table says", (kind, row) => {
  const failed = { class: kind as GrantFailureClass };
  const reactions = [
    reactionTo(failed, "refresh_token", true),
    reactionTo(failed, "refresh_token", false),
    reactionTo(failed, "password", true),
  ];
  expect([...reactions, mayBeSpent(failed) ? "maybe spent" : "kept"]).toEqual(row);
});

it("takes the refresh token for unused after a 503", () => {
  expect([502, 503].map((status) => mayBeSpent({ class: "failing", status }))).toEqual([true, false]);
});

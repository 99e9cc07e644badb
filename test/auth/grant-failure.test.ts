import { inspect } from "node:util";
import { expect, it } from "vitest";
import {
  failureOfGrant,
  failureOfWire,
  GrantError,
  type GrantFailure,
  type GrantReaction,
  grantReactions,
  toRejectedError,
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
  const found = failureOfWire(new ConfigError("undici can't be loaded (UNDICI_NOT_LOADED); see docs/bundling.md"));
  expect(grantReactions[found.class]).toEqual({ refresh_token: "fail", password: "fail" });
  expect(toTokenError(found, "https://login.test", undefined)).toMatchObject({
    code: "token_request_failed",
    effect: "none",
    message: expect.stringMatching(/UNDICI_NOT_LOADED.*docs\/bundling\.md/),
    cause: { code: "UNDICI_NOT_LOADED" },
  });
  expect(failureOfWire(new ConfigError("what sends requests can't be loaded"))).toMatchObject({ reason: "NOT_SENT" });
});

const origin = "https://login.test";

it.each<[GrantFailure, string, ...RegExp[]]>([
  [{ class: "unsent", reason: "ECONNREFUSED" }, "token_endpoint_unreachable", /no response/, /ECONNREFUSED/],
  [{ class: "maybe-sent", reason: "ECONNRESET" }, "token_endpoint_unreachable", /no response/, /ECONNRESET/],
  [
    { class: "untrusted", reason: "CERT_HAS_EXPIRED" },
    "token_endpoint_untrusted",
    /CERT_HAS_EXPIRED/,
    /check its cert/,
  ],
  [
    { class: "proxy-refused", reason: "PROXY_RESPONSE_407", proxy: { origin: "http://proxy.test:3128", status: 407 } },
    "proxy_refused",
    /^no access token: the proxy http:\/\/proxy\.test:3128 made no connection to https:\/\/login\.test \(407\)/,
    /check the user and the password in the proxy's address/,
  ],
  [{ class: "refused", status: 401 }, "login_refused", /401/, /check authUrl.*password/, /account is not locked/],
  [{ class: "failing", status: 503 }, "token_endpoint_failing", /failed with 503/],
  [{ class: "throttled", status: 429 }, "token_throttled", /no more token requests/, /429/],
  [{ class: "redirected", status: 302 }, "token_endpoint_redirected", /redirect/, /302/, /check authUrl/],
  [{ class: "unreadable", status: 200 }, "token_response_unreadable", /no access_token/, /token_type "Bearer"/, /200/],
  [{ class: "unverified", reason: "exp" }, "login_unverified", /ID token/, /\(exp\)/, /check clientId.*clocks/],
  [{ class: "session-ended" }, "login_refused", /auth\.refreshToken/, /another one/],
])("names the token endpoint, what it did, and what to do: %j", (failed, code, ...says) => {
  const error = toTokenError(failed, origin);
  expect(error).toMatchObject({ code, effect: "none" });
  expect(error.status).toBe(failed.status);
  for (const words of [/^no access token: /, /https:\/\/login\.test/, ...says]) expect(error.message).toMatch(words);
});

it.each<[GrantFailure, string, ...RegExp[]]>([
  [{ class: "no-secret", secretName: "password", reason: "THREW" }, "token_source_failed", /auth\.password/, /THREW/],
  [{ class: "no-secret", reason: "DEADLINE" }, "token_source_failed", /auth\.password or clientSecret/, /DEADLINE/],
  [{ class: "session-spent" }, "login_refused", /used already/, /another refreshToken/],
  [{ class: "unshared", reason: "TIMEOUT" }, "token_store_failed", /token store/, /TIMEOUT/],
  [{ class: "unprepared" }, "token_request_failed", /openid-client/],
  [{ class: "unprepared", problem: "undici can't be loaded" }, "token_request_failed", /could not be made: undici/],
])("names what failed on this side, and what to do: %j", (failed, code, ...says) => {
  const error = toTokenError(failed, origin);
  expect(error).toMatchObject({ code, effect: "none" });
  for (const words of says) expect(error.message).toMatch(words);
});

it("gives the reason as the cause, and no cause without one", () => {
  expect(toTokenError({ class: "unsent", reason: "ECONNREFUSED" }, origin).cause).toMatchObject({
    code: "ECONNREFUSED",
  });
  expect(toTokenError(failure, origin).cause).toBeUndefined();
});

it("adds until when no token is requested, where that is so", () => {
  const { message } = toTokenError(failure, origin);
  expect(toTokenError(failure, origin, Date.UTC(2030, 0, 1))).toMatchObject({
    message: `${message}; no token is requested before 2030-01-01T00:00:00.000Z`,
    heldUntilMs: Date.UTC(2030, 0, 1),
  });
});

/** RFC 6749, 5.2. */
const standardCodes = [
  "invalid_request",
  "invalid_client",
  "invalid_grant",
  "unauthorized_client",
  "unsupported_grant_type",
  "invalid_scope",
];

it("adds the endpoint's error where it is a standard one, and no other text of the response", () => {
  const { message } = toTokenError(failure, origin);
  const saying = (serviceCode: string) => toTokenError({ ...failure, serviceCode, serviceMessage: "canary" }, origin);
  for (const standard of standardCodes) {
    expect(saying(standard)).toMatchObject({ message: `${message} (${standard})`, serviceCode: standard });
  }
  expect(saying("canary")).toMatchObject({ message, serviceCode: "canary", serviceMessage: "canary" });
});

it("says of a new token that is refused what to check, and until when no other one is requested", () => {
  const error = toRejectedError(origin, Date.UTC(2030, 0, 1));
  expect(error).toMatchObject({ code: "token_rejected", status: 401, heldUntilMs: Date.UTC(2030, 0, 1) });
  for (const words of [
    /just been issued/,
    /check that https:\/\/login\.test/,
    /realm, audience/,
    /clocks/,
    /2030-01-01/,
  ]) {
    expect(error.message).toMatch(words);
  }
});

/** The failures that are followed by this, of a refresh and of a login. */
function failuresFollowedBy(reaction: GrantReaction) {
  const of = (grant: "refresh_token" | "password") =>
    Object.entries(grantReactions).flatMap(([kind, reactions]) => (reactions[grant] === reaction ? [kind] : []));
  return { refreshes: of("refresh_token"), logins: of("password") };
}

const away = ["unsent", "failing", "throttled", "unshared"];
const sameAgain = [
  "untrusted",
  "proxy-refused",
  "redirected",
  "unreadable",
  "unverified",
  "no-secret",
  "unconfirmed",
  "unprepared",
];

it.each<[GrantReaction, string, { refreshes: string[]; logins: string[] }]>([
  [
    "stop",
    "another login would lock the account, or there is nothing to log in with",
    { refreshes: ["session-ended", "session-spent"], logins: ["refused", "session-ended", "session-spent"] },
  ],
  ["login", "the refresh token is of no more use", { refreshes: ["refused"], logins: [] }],
  ["old-or-login", "the refresh token may be used up", { refreshes: ["maybe-sent"], logins: [] }],
  ["back-off", "the endpoint or the store is away", { refreshes: away, logins: [...away, "maybe-sent"] }],
  ["fail", "waiting does not help", { refreshes: sameAgain, logins: sameAgain }],
])("follows a failure with %s where %s", (reaction, _, { refreshes, logins }) => {
  const found = failuresFollowedBy(reaction);
  expect({ refreshes: found.refreshes.sort(), logins: found.logins.sort() }).toEqual({
    refreshes: [...refreshes].sort(),
    logins: [...logins].sort(),
  });
});

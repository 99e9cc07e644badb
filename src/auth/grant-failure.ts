import { ConfigError, TokenError, type TokenErrorCode } from "../errors/errors.js";
import { Ended } from "../timing/deadline.js";
import { provesNothing } from "../wire/status.js";
import { closingHint, describeProxyRefusal, type ProxyRefusal, WireFailure } from "../wire/wire-failure.js";
import type { TokenEvent } from "./token-event.js";

/** How a token is requested. The names are the values of `grant_type`. */
export type Grant = TokenEvent["grant"];

export type GrantFailureClass =
  | "unsent" // refused, DNS, connect timeout, handshake reset: no byte was written
  | "untrusted" // certificate, TLS version: no byte was written, and another try can't help
  | "proxy-refused" // a proxy makes no connection, which another try can't help: no byte was written
  | "maybe-sent" // reset, truncated, timeout: no status arrived
  | "refused" // 401, and every other 4xx with an `error` in JSON: the endpoint's own word
  | "failing" // another's 4xx, one that proves nothing, 5xx, and statuses that do not exist
  | "throttled" // 429
  | "redirected" // 3xx, which is never followed: it would carry the password away
  | "unreadable" // 2xx that is not what is described
  | "unverified" // 2xx whose ID token does not belong to this login
  | "no-secret" // the caller's function for the password or the client's secret failed
  | "session-ended" // there is no refresh token that could be used, and nothing to log in with
  | "session-spent" // the same, after another process may have used the fleet's refresh token and stored no other one
  | "unshared" // the token store is away, and this process waits for its turn to log in alone
  | "unconfirmed" // a logout that was not sent with what is certainly the session's newest refresh token
  | "unprepared"; // the request could not even be made

/** A token request that failed, described without any secret. */
export interface GrantFailure {
  readonly class: GrantFailureClass;
  readonly status?: number;
  /** Why no response arrived, or a function or the token store failed: a code such as `ECONNRESET`. Of an ID token: the claim. */
  readonly reason?: string;
  /** What keeps this process from sending, and what to do. */
  readonly problem?: string;
  /** The proxy that made no connection. */
  readonly proxy?: ProxyRefusal;
  /** Nothing was sent: another process has noted the failure. */
  readonly isNoted?: true;
  /** The endpoint has never responded to this client. */
  readonly isFirst?: boolean;
  /** The option whose function failed. */
  readonly secretName?: string;
  /** The `error` of the response, such as `invalid_grant`, unless it repeats a secret. */
  readonly serviceCode?: string;
  /** The `error_description` of the response, without the secrets of the request. */
  readonly serviceMessage?: string;
  readonly retryAfterMs?: number;
}

/**
 * What follows a failure.
 *
 * - `fail`: the calls that wait get an error, and the next call requests a token again.
 * - `back-off`: the endpoint is away. No request for a while; calls wait for the next one until their deadline.
 * - `login`: the refresh token can't be used any more; one login.
 * - `old-or-login`: the refresh token may have been used up. The old access token is used until it expires; then one login.
 * - `stop`: no request for a minute or longer, and every call fails at once.
 */
export type GrantReaction = "fail" | "back-off" | "login" | "old-or-login" | "stop";

/** The token endpoint's column of the decision table. */
export const grantReactions: Readonly<Record<GrantFailureClass, Readonly<Record<Grant, GrantReaction>>>> = {
  unsent: { refresh_token: "back-off", password: "back-off" },
  untrusted: { refresh_token: "fail", password: "fail" },
  "proxy-refused": { refresh_token: "fail", password: "fail" },
  "maybe-sent": { refresh_token: "old-or-login", password: "back-off" },
  refused: { refresh_token: "login", password: "stop" },
  failing: { refresh_token: "back-off", password: "back-off" },
  throttled: { refresh_token: "back-off", password: "back-off" },
  redirected: { refresh_token: "fail", password: "fail" },
  unreadable: { refresh_token: "fail", password: "fail" },
  unverified: { refresh_token: "fail", password: "fail" },
  "no-secret": { refresh_token: "fail", password: "fail" },
  "session-ended": { refresh_token: "stop", password: "stop" },
  "session-spent": { refresh_token: "stop", password: "stop" },
  unshared: { refresh_token: "back-off", password: "back-off" },
  unconfirmed: { refresh_token: "fail", password: "fail" },
  unprepared: { refresh_token: "fail", password: "fail" },
};

/** @param isOwn whether the response carries the endpoint's own error. Anything else may come from a proxy before it. */
export function classifyGrantResponse(status: number, isOwn: boolean): GrantFailureClass {
  if (status === 401) return "refused";
  if (status === 429) return "throttled";
  if (status < 200 || status >= 500) return "failing";
  if (status < 300) return "unreadable";
  if (status < 400) return "redirected";
  return isOwn && !provesNothing(status) ? "refused" : "failing";
}

/** Whether a refresh that failed like this may have used the refresh token up. */
export function mayBeSpent({ class: kind, status }: GrantFailure): boolean {
  // A server that is starting, or a proxy without one, says 503.
  return !unspent.has(kind) && status !== 503;
}

const unspent: ReadonlySet<GrantFailureClass> = new Set([
  "unsent",
  "untrusted",
  "proxy-refused",
  "throttled",
  "redirected",
  "no-secret",
  "unprepared",
]);

/** Whether the endpoint's own word is that the session of a refresh token has ended: that it was the newest one is for others to know. */
export function isDeadGrant({ class: kind, serviceCode }: GrantFailure): boolean {
  return kind === "refused" && serviceCode === "invalid_grant";
}

export function failureOfWire(error: unknown): GrantFailure {
  if (error instanceof Ended) return { class: error.sent ? "maybe-sent" : "unsent", reason: "DEADLINE" };
  if (error instanceof ConfigError) {
    const reason = /[A-Z]+(?:_[A-Z]+){2}/.exec(error.message)?.[0] ?? "NOT_SENT";
    return { class: "unprepared", reason, problem: error.message };
  }
  // It is not known where any other error comes from: the request may have been sent.
  if (!(error instanceof WireFailure)) return { class: "maybe-sent", reason: "UNKNOWN" };
  const reason = /^[\w.-]{1,64}$/.test(error.reason) ? error.reason : "UNKNOWN";
  if (error.sent) return { class: "maybe-sent", reason };
  const { permanent, proxy } = error;
  if (permanent && proxy !== undefined) return { class: "proxy-refused", reason, proxy };
  return { class: permanent ? "untrusted" : "unsent", reason };
}

/** Takes a failure through openid-client, which hands out what its `fetch` throws as the `cause` of an error of its own. */
export class GrantError extends Error {
  readonly failure: GrantFailure;

  constructor(failure: GrantFailure) {
    super(failure.class);
    this.name = "GrantError";
    this.failure = failure;
  }
}

/** The failure behind what a token request threw. openid-client's own errors carry secrets: nothing is taken over from them. */
export function failureOfGrant(error: unknown): GrantFailure {
  const cause = error instanceof Error ? error.cause : undefined;
  const failed = [error, cause].find((thrown) => thrown instanceof GrantError);
  return failed?.failure ?? { class: "unprepared" };
}

/** The failure of a login whose tokens have come, and which its ID token does not belong to. Only the name of a claim is taken over. */
export function failureOfIdToken(error: unknown): GrantFailure {
  const cause: unknown = Object(error).cause;
  const claims = [Object(cause).claim, Object(Object(cause).cause).claim];
  return { class: "unverified", reason: claims.find((claim) => claimNames.has(claim)) ?? "ID_TOKEN" };
}

const claimNames: ReadonlySet<unknown> = new Set(["iss", "sub", "aud", "azp", "exp", "nbf", "nonce"]);

/**
 * The error of a call that got no token. Each call gets its own: the payment flow adds facts to its errors.
 *
 * @param origin of the token endpoint.
 * @param heldUntilMs until when no token is requested, by the wall clock.
 * @param effect of the failure: the beginning of the message.
 */
export function toTokenError(
  failure: GrantFailure,
  origin: string,
  heldUntilMs?: number,
  effect = "no access token",
): TokenError {
  const { code, says } = texts[failure.class];
  const { status, reason, serviceCode, serviceMessage } = failure;
  const standard = standardCodes.has(serviceCode) ? ` (${serviceCode})` : "";
  const held = heldUntilMs === undefined ? "" : `; no token is requested before ${toIsoTime(heldUntilMs)}`;
  return new TokenError(`${effect}: ${says(origin, failure)}${standard}${held}`, {
    code,
    status,
    serviceCode,
    serviceMessage,
    heldUntilMs,
    cause: reason === undefined ? undefined : Object.assign(new Error(reason), { code: reason }),
  });
}

/** The error of a call whose token was refused although it had just been issued. */
export function toRejectedError(origin: string, heldUntilMs: number): TokenError {
  return new TokenError(
    `the service refused an access token that had just been issued; check that ${origin} issues tokens for this service ` +
      `(realm, audience), and that the clocks of both agree; no other token is requested before ${toIsoTime(heldUntilMs)}`,
    { code: "token_rejected", status: 401, heldUntilMs },
  );
}

/** RFC 6749, 5.2. No message holds any other text of a response. */
const standardCodes: ReadonlySet<unknown> = new Set([
  "invalid_request",
  "invalid_client",
  "invalid_grant",
  "unauthorized_client",
  "unsupported_grant_type",
  "invalid_scope",
]);

const unreachable = {
  code: "token_endpoint_unreachable" as const,
  says: (origin: string, { reason = "UNKNOWN", isFirst }: GrantFailure) =>
    `no response from ${origin} (${reason})${isFirst === true ? closingHint(origin, reason) : ""}`,
};

const texts: Readonly<
  Record<GrantFailureClass, { readonly code: TokenErrorCode; says(origin: string, failure: GrantFailure): string }>
> = {
  unsent: unreachable,
  "maybe-sent": unreachable,
  untrusted: {
    code: "token_endpoint_untrusted",
    says: (origin, { reason }) => `no secure connection to ${origin} is possible (${reason}); check its certificate`,
  },
  "proxy-refused": {
    code: "proxy_refused",
    says: (origin, { proxy = { origin: undefined, status: 0 } }) => describeProxyRefusal(proxy, origin),
  },
  refused: {
    code: "login_refused",
    says: (origin, { status }) =>
      `${origin} refused the login with ${status}; check authUrl, realm, clientId, clientSecret, username and password, ` +
      "and that the account is not locked, which looks the same",
  },
  failing: {
    code: "token_endpoint_failing",
    says: (origin, { status }) => `${origin} failed with ${status}`,
  },
  throttled: {
    code: "token_throttled",
    says: (origin, { status }) => `${origin} accepts no more token requests for now (${status})`,
  },
  redirected: {
    code: "token_endpoint_redirected",
    says: (origin, { status }) =>
      `${origin} responded with a redirect (${status}), which is not followed; check authUrl`,
  },
  unreadable: {
    code: "token_response_unreadable",
    // "bearer" before another word would be taken for the beginning of a token, and the message for one that shows it.
    says: (origin, { status }) =>
      `the response of ${origin} (${status}) has no access_token in the described form, with the token_type "Bearer"`,
  },
  unverified: {
    code: "login_unverified",
    says: (origin, { reason }) =>
      `the ID token of ${origin} does not belong to this login (${reason}); check clientId, and that the clocks of both agree`,
  },
  "no-secret": {
    code: "token_source_failed",
    says: (_, { secretName = "password or clientSecret", reason }) =>
      `the function auth.${secretName} did not return a secret (${reason})`,
  },
  "session-ended": {
    code: "login_refused",
    says: (origin) => `${origin} does not continue the session of auth.refreshToken; build a client with another one`,
  },
  "session-spent": {
    code: "login_refused",
    says: () =>
      "the token store has a refresh token that was used already, by a process that stored no other one; build clients with " +
      "another refreshToken",
  },
  unshared: {
    code: "token_store_failed",
    says: (_, { reason }) => `the token store can't be used (${reason})`,
  },
  unconfirmed: {
    code: "logout_unconfirmed",
    says: (origin) =>
      "its newest refresh token is not known, since a renewal has not ended or its response was lost; log out again, or send " +
      `the user to the logout page of ${origin}`,
  },
  unprepared: {
    code: "token_request_failed",
    says: (_, { problem }) =>
      problem === undefined
        ? "the request could not be made; is the package openid-client installed completely, and are Response, URL and " +
          "URLSearchParams those of the runtime?"
        : `the request could not be made: ${problem}`,
  },
};

function toIsoTime(wallMs: number): string {
  return new Date(wallMs).toISOString();
}

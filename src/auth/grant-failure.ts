import { Ended } from "../core/deadline.js";
import { ConfigError, TokenError, type TokenErrorCode } from "../core/errors.js";
import type { TokenEvent } from "../events/events.js";
import { provesNothing } from "../wire/status.js";
import { closingHint, proxyRefusal, WireFailure } from "../wire/wire-failure.js";

/** How a token is requested. The names are the values of `grant_type`. */
export type Grant = TokenEvent["grant"];

/**
 * What follows a failed token request.
 *
 * - `fail`: the waiting calls fail, and the next call requests a token again.
 * - `pause`: the waiting calls fail, and there is no request for 3 s.
 * - `wait`: the endpoint is away. Calls wait for the next try until their deadline.
 * - `login`: the refresh token can't be used any more. One login.
 * - `old-or-login`: the refresh token may have been used. The old access token serves until it expires; then one login.
 * - `stop`: no request for a minute or longer; every call fails at once.
 */
export type GrantReaction = "fail" | "pause" | "wait" | "login" | "old-or-login" | "stop";

export type GrantFailureClass =
  | "unsent" // refused, DNS, connect timeout, handshake reset: no byte was written
  | "untrusted" // certificate, TLS version: no byte was written, and another try can't help
  | "proxy-refused" // a proxy makes no connection, and another try can't help: no byte was written
  | "maybe-sent" // reset, truncated, timeout
  | "refused" // 401, and a 4xx with a code of RFC 6749
  | "not-found" // 404, 405: there is no token endpoint at this address
  | "blocked" // another 4xx: a realm that isn't enabled, a firewall
  | "failing" // 5xx, statuses that don't exist, a 4xx that proves nothing, and a 2xx that is a web page
  | "throttled" // 429
  | "redirected" // 3xx, which is never followed: it would carry the password away
  | "unreadable" // a 2xx that isn't as described
  | "unverified" // a 2xx whose ID token doesn't belong to this login
  | "no-secret" // the caller's function for the password or the client's secret failed
  | "session-ended" // there is no refresh token to use, and nothing to log in with
  | "session-spent" // the same, after another process may have used the fleet's refresh token and stored no other one
  | "unshared" // the token store is away, and this process waits for its turn to log in alone
  | "unconfirmed" // a logout that was not sent with what is certainly the session's newest refresh token
  | "unprepared"; // the request could not be made

/** A token request that failed, described without any secret. */
export interface GrantFailure {
  readonly class: GrantFailureClass;
  readonly status?: number;
  /** Why no response arrived, or a function or the token store failed: a code such as `ECONNRESET`. Of an ID token: the claim. */
  readonly reason?: string;
  /** What keeps this process from sending, and what to do. */
  readonly problem?: string;
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

interface Row {
  readonly refresh_token: GrantReaction;
  readonly password: GrantReaction;
  /** The refresh token was certainly not used, so it can be sent again. */
  readonly isUnspent?: true;
  readonly code: TokenErrorCode;
  /** What happened, and what to check. */
  says(failure: GrantFailure, url: string): readonly [found: string, check?: string];
}

const same = (reaction: GrantReaction) => ({ refresh_token: reaction, password: reaction });
const fail = same("fail");
const pause = same("pause");
const wait = same("wait");
const stop = same("stop");

const unreachable = {
  code: "token_endpoint_unreachable",
  says: ({ class: kind, reason = "UNKNOWN", isFirst }, url) => [
    `${kind === "unsent" ? "could not connect to" : "no response from"} ${url} (${reason})${
      isFirst === true ? closingHint(url, reason) : ""
    }`,
    "Check authUrl, and that this machine can reach it",
  ],
} satisfies Partial<Row>;

/** The token endpoint's column of the decision table. */
const rows: Readonly<Record<GrantFailureClass, Row>> = {
  unsent: { ...wait, isUnspent: true, ...unreachable },
  "maybe-sent": { refresh_token: "old-or-login", password: "wait", ...unreachable },
  untrusted: {
    ...fail,
    isUnspent: true,
    code: "token_endpoint_untrusted",
    says: ({ reason }, url) => [
      `could not make a secure connection to ${url} (${reason})`,
      "Check its certificate, and tls.ca if a private authority signed it",
    ],
  },
  "proxy-refused": {
    ...fail,
    isUnspent: true,
    code: "proxy_refused",
    says: (_, url) => [proxyRefusal(new URL(url).origin)],
  },
  refused: {
    refresh_token: "login",
    password: "stop",
    code: "login_refused",
    says: (failure, url) => [
      `${url} rejected the credentials (${withCode(failure)})`,
      refusalChecks.get(failure.serviceCode) ?? "Check realm, clientId, clientSecret, username, and password",
    ],
  },
  "not-found": {
    ...pause,
    isUnspent: true,
    code: "token_endpoint_not_found",
    says: (failure, url) => [`${url} responded with ${withCode(failure)}`, "Check authUrl and realm"],
  },
  blocked: {
    refresh_token: "login",
    password: "pause",
    isUnspent: true,
    code: "token_endpoint_blocked",
    says: (failure, url) => [
      `${url} responded with ${withCode(failure)}, and did not say that the credentials are wrong`,
      "Check that the realm is enabled, that it allows more sessions, and that no firewall or proxy blocks the request",
    ],
  },
  failing: {
    ...wait,
    code: "token_endpoint_failing",
    says: ({ status = 0 }, url) =>
      status >= 200 && status < 300
        ? [`${url} responded with a web page (${status})`, "Check authUrl, and that the identity provider is up"]
        : [`${url} responded with ${status}`, "Check that the identity provider is up"],
  },
  throttled: {
    ...wait,
    isUnspent: true,
    code: "token_throttled",
    says: ({ status }, url) => [
      `${url} accepts no more token requests for now (${status})`,
      "If many processes log in, share a session with tokenStore",
    ],
  },
  redirected: {
    ...fail,
    isUnspent: true,
    code: "token_endpoint_redirected",
    says: ({ status }, url) => [
      `${url} responded with a redirect (${status}), which is never followed`,
      "Check authUrl",
    ],
  },
  unreadable: {
    ...fail,
    code: "token_response_unreadable",
    // "bearer" before another word would be redacted as the beginning of a token.
    says: ({ status }, url) => [
      `the response of ${url} (${status}) has no access_token in the described form, with the token_type "Bearer"`,
      "Check authUrl and realm",
    ],
  },
  unverified: {
    ...fail,
    code: "login_unverified",
    says: ({ reason }, url) => [
      `the ID token of ${url} does not belong to this login (${reason})`,
      "Check clientId, and that the clocks of both machines agree",
    ],
  },
  "no-secret": {
    ...fail,
    isUnspent: true,
    code: "token_source_failed",
    says: ({ secretName = "password or clientSecret", reason }) => [
      `the function auth.${secretName} did not return a secret (${reason})`,
    ],
  },
  "session-ended": {
    ...stop,
    code: "login_refused",
    says: (_, url) => [
      `${url} does not continue the session of auth.refreshToken`,
      "Build a client with another refreshToken",
    ],
  },
  "session-spent": {
    ...stop,
    code: "login_refused",
    says: () => [
      "a process used the refresh token in the token store and stored no new one",
      "Build clients with another refreshToken",
    ],
  },
  unshared: {
    ...wait,
    code: "token_store_failed",
    says: ({ reason }) => [`the token store can't be used (${reason})`],
  },
  unconfirmed: {
    ...fail,
    code: "logout_unconfirmed",
    says: (_, url) => [
      "its newest refresh token is not known, since a renewal has not ended or its response was lost",
      `Log out again, or send the user to the logout page of ${new URL(url).origin}`,
    ],
  },
  unprepared: {
    ...fail,
    isUnspent: true,
    code: "token_request_failed",
    says: ({ problem }) =>
      problem === undefined
        ? ["the request could not be made", "Check that the package openid-client is installed completely"]
        : [`the request could not be made: ${problem}`],
  },
};

/** RFC 6749, 5.2: the codes that refuse a login, and what to check. */
const refusalChecks: ReadonlyMap<unknown, string> = new Map([
  ["invalid_grant", "Check username and password; a locked account looks the same"],
  ["invalid_client", "Check clientId and clientSecret"],
  ["unauthorized_client", "Check clientId and clientSecret, and that the client may use this grant"],
  ["unsupported_grant_type", "Check that the identity provider allows this grant for the client"],
  ["invalid_request", "Check clientId, clientSecret, username, and password"],
  ["invalid_scope", "Check the scopes of the client"],
]);

/** No message holds any other text of a response than what can only be a code. */
function withCode({ status, serviceCode = "" }: GrantFailure): string {
  return /^[a-z]{2,20}(?:_[a-z]{2,20}){1,3}$/.test(serviceCode) ? `${status} ${serviceCode}` : String(status);
}

/** @param canLogIn whether there are credentials besides the refresh token. */
export function reactionTo({ class: kind }: GrantFailure, grant: Grant, canLogIn: boolean): GrantReaction {
  const reaction = rows[kind][grant];
  // Only a refusal ends a session that can't be replaced by a login.
  return reaction === "login" && kind === "blocked" && !canLogIn ? "pause" : reaction;
}

/** The class of a response that holds no token. @param code its `error`, if it is JSON with one. */
export function classifyGrantResponse(status: number, code: unknown, isPage: boolean): GrantFailureClass {
  if (status === 401) return "refused";
  if (status === 429) return "throttled";
  if (status < 200 || status >= 500 || provesNothing(status)) return "failing";
  if (status < 300) return isPage ? "failing" : "unreadable";
  if (status < 400) return "redirected";
  if (status === 404 || status === 405) return "not-found";
  return refusalChecks.has(code) ? "refused" : "blocked";
}

/** Whether a refresh that failed like this may have used the refresh token up. */
export function mayBeSpent({ class: kind, status }: GrantFailure): boolean {
  // A server that is starting, or a proxy without one, says 503.
  return rows[kind].isUnspent !== true && status !== 503;
}

/** Whether the endpoint said that the session of a refresh token has ended. It may not have been the newest one. */
export function isDeadGrant({ class: kind, serviceCode }: GrantFailure): boolean {
  return kind === "refused" && serviceCode === "invalid_grant";
}

export function failureOfWire(error: unknown): GrantFailure {
  if (error instanceof Ended) return { class: error.sent ? "maybe-sent" : "unsent", reason: "DEADLINE" };
  if (error instanceof ConfigError) {
    const reason = /[A-Z]+(?:_[A-Z]+){2}/.exec(error.message)?.[0] ?? "NOT_SENT";
    return { class: "unprepared", reason, problem: error.message };
  }
  // Any other error may come from anywhere: the request may have been sent.
  if (!(error instanceof WireFailure)) return { class: "maybe-sent", reason: "UNKNOWN" };
  const reason = /^[\w.-]{1,64}$/.test(error.reason) ? error.reason : "UNKNOWN";
  if (error.sent) return { class: "maybe-sent", reason };
  if (reason === "PROXY_REFUSED") return { class: "proxy-refused", reason };
  return { class: error.permanent ? "untrusted" : "unsent", reason };
}

/** Carries a failure through openid-client, which makes what its `fetch` throws the `cause` of an error of its own. */
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
  if (error instanceof ConfigError) return failureOfWire(error);
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

/** @param url of the token endpoint, without credentials. */
export function describeGrantFailure(failure: GrantFailure, url: string): { found: string; check: string | undefined } {
  const [found, check] = rows[failure.class].says(failure, url);
  return { found, check };
}

/**
 * The error of a call that got no token. Each call gets its own: the payment flow adds facts to its errors.
 *
 * @param url of the token endpoint, without credentials.
 * @param heldUntilMs until when no token is requested, by the wall clock.
 * @param what begins the message.
 */
export function toTokenError(
  failure: GrantFailure,
  url: string,
  heldUntilMs?: number,
  what = failure.class === "refused" ? "Login failed" : "No access token",
): TokenError {
  const { found, check } = describeGrantFailure(failure, url);
  const { status, reason, serviceCode, serviceMessage } = failure;
  const sentences = [`${what}: ${found}.`, check && `${check}.`, heldUntilMs && nextAttempt(heldUntilMs)];
  return new TokenError(sentences.filter(Boolean).join(" "), {
    code: rows[failure.class].code,
    status,
    serviceCode,
    serviceMessage,
    heldUntilMs,
    cause: reason === undefined ? undefined : Object.assign(new Error(reason), { code: reason }),
  });
}

/** The error of a call whose token was refused although it had just been issued. */
export function toRejectedError(url: string, heldUntilMs: number): TokenError {
  return new TokenError(
    `The service refused a new access token (401). Check that ${url} issues tokens for this service (realm, audience), and ` +
      `that the clocks of both machines agree. ${nextAttempt(heldUntilMs)}`,
    { code: "token_rejected", status: 401, heldUntilMs },
  );
}

function nextAttempt(wallMs: number): string {
  const time = new Date(Math.ceil(wallMs / 1000) * 1000).toISOString().slice(11, 19);
  return `Next attempt allowed at ${time} UTC.`;
}

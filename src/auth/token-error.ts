import { TokenError, type TokenErrorCode } from "../core/errors.js";
import { type Decision, decisions, type FailureClass, type GrantKind } from "../http/decision.js";

/** Failures that no response and no connection caused. */
type LocalClass =
  | "unverified" // the ID token doesn't belong to this login
  | "no-secret" // the user's function for the password or the client's secret failed
  | "session-ended" // there is no refresh token to use, and nothing to log in with
  | "unshared" // the token store is unavailable, and this process waits for its turn to log in alone
  | "unconfirmed" // a logout was sent with a refresh token that may not be the session's newest
  | "unprepared"; // the request could not be made

/** A token request that failed, described without any secret. */
export interface GrantFailure {
  readonly class: FailureClass | LocalClass;
  readonly status?: number;
  /** Why there is no response, or why a function or the token store failed: a code such as `ECONNRESET`. Of an ID token: the claim. */
  readonly reason?: string;
  /** Why the request could not be made. */
  readonly problem?: string;
  /** Nothing was sent: another process was refused with the same credentials. */
  readonly isNoted?: true;
  /** The option whose function failed. */
  readonly secretName?: string;
  /** The `error` of the response, such as `invalid_grant`, unless it repeats a secret. */
  readonly serviceCode?: string | undefined;
  /** The `error_description` of the response, without the secrets of the request. */
  readonly serviceMessage?: string | undefined;
  readonly retryAfterMs?: number | undefined;
}

export function decisionOn({ class: kind }: GrantFailure, grant: GrantKind): Decision {
  if (kind in decisions) return decisions[kind as FailureClass][grant];
  return { reaction: kind === "unshared" ? "retry" : "fail", effect: "none" };
}

/** Whether a refresh that failed like this may have used its refresh token up. */
export function mayBeSpent(failure: GrantFailure): boolean {
  // A server that is starting, or a proxy without one, says 503.
  return decisionOn(failure, "refresh").effect !== "none" && failure.status !== 503;
}

/** Whether the endpoint refused the credentials or the refresh token, and not the request. */
export function isRefusal({ class: kind }: GrantFailure): boolean {
  return kind === "unauthorized" || kind === "refused";
}

/** Why no token is requested, for `TokenHold`. */
export function holdReason({ class: kind }: GrantFailure): string {
  return kind === "unauthorized" ? "refused" : kind === "server-error" ? "failing" : kind;
}

/** Whether the endpoint said that the session of a refresh token has ended. That token may not have been the newest one. */
export function isDeadGrant(failure: GrantFailure): boolean {
  return isRefusal(failure) && failure.serviceCode === "invalid_grant";
}

/** RFC 6749, 5.2: the codes that refuse a grant, and what to check. */
export const refusalChecks: ReadonlyMap<unknown, string> = new Map([
  ["invalid_grant", "Check username and password; a locked account looks the same"],
  ["invalid_client", "Check clientId and clientSecret"],
  ["unauthorized_client", "Check clientId and clientSecret, and that the client may use this grant"],
  ["unsupported_grant_type", "Check that the identity provider allows this grant for the client"],
  ["invalid_request", "Check clientId, clientSecret, username, and password"],
  ["invalid_scope", "Check the scopes of the client"],
]);

/** In the texts, `{…}` stands for a part of the failure. */
interface Row {
  readonly code: TokenErrorCode;
  readonly found: string;
  readonly check?: string;
}

const unconnected: Row = {
  code: "token_endpoint_unreachable",
  found: "could not connect to {url} ({reason})",
  check: "Check authUrl, and that this machine can reach it",
};
const lost: Row = {
  code: "token_endpoint_unreachable",
  found: "no response from {url} ({reason})",
  check: "Check authUrl, and tls.cert and tls.key if the server wants a client certificate",
};
const refused: Row = {
  code: "login_refused",
  found: "{url} rejected the credentials ({status})",
  check: "Check realm, clientId, clientSecret, username, and password",
};
const throttled: Row = {
  code: "token_throttled",
  found: "{url} accepts no more token requests for now ({status})",
  check: "If many processes log in, share a session with tokenStore",
};
const unreadable: Row = {
  code: "token_response_unreadable",
  // "bearer" before another word would be redacted as the beginning of a token.
  found: 'the response of {url} ({status}) has no access_token in the described form, with the token_type "Bearer"',
  check: "Check authUrl and realm",
};
const proxyRefused: Row = {
  code: "proxy_refused",
  found: "the proxy made no connection to {url}",
  check: "Check its address, user, and password, and which addresses it lets through",
};
const notFound: Row = {
  code: "token_endpoint_not_found",
  found: "{url} responded with {status}",
  check: "Check authUrl and realm",
};

const rows: Readonly<Record<GrantFailure["class"], Row>> = {
  unsent: unconnected,
  "unknown-host": unconnected,
  "ended-unsent": unconnected,
  "maybe-sent": lost,
  ended: lost,
  "broken-off": lost,
  "ended-reading": lost,
  "unsent-for-good": {
    code: "token_endpoint_untrusted",
    found: "could not make a secure connection to {url} ({reason})",
    check: "Check its certificate, and tls.ca if a private authority signed it",
  },
  unauthorized: refused,
  refused,
  "refused-by-another": {
    code: "token_endpoint_blocked",
    found: "{url} responded with {status}, and did not say that the credentials are wrong",
    check:
      "Check that the realm is enabled, that it allows more sessions, and that no firewall or proxy blocks the request",
  },
  "server-error": {
    code: "token_endpoint_failing",
    found: "{url} responded with {status}, and no token",
    check: "Check authUrl, and that the identity provider is up",
  },
  throttled,
  "throttled-by-another": throttled,
  redirect: {
    code: "token_endpoint_redirected",
    found: "{url} responded with a redirect ({status}), which is never followed",
    check: "Check authUrl",
  },
  oversized: unreadable,
  unreadable,
  made: unreadable,
  unverified: {
    code: "login_unverified",
    found: "the ID token of {url} does not belong to this login ({reason})",
    check: "Check clientId, and that the clocks of both machines agree",
  },
  "no-secret": {
    code: "token_source_failed",
    found: "the function auth.{secretName} did not return a secret ({reason})",
  },
  "session-ended": {
    code: "login_refused",
    found: "{url} does not continue the session of auth.refreshToken, or a process that renewed it stored no new token",
    check: "Build a client with another refreshToken",
  },
  unshared: { code: "token_store_failed", found: "the token store can't be used ({reason})" },
  unconfirmed: {
    code: "logout_unconfirmed",
    found: "its newest refresh token is not known, since a renewal has not ended or its response was lost",
    check: "Log out again, or send the user to the logout page of the identity provider",
  },
  unprepared: {
    code: "token_request_failed",
    found: "the request could not be made ({problem})",
  },
};

function rowOf({ class: kind, status, serviceCode, reason }: GrantFailure): Row {
  if (reason === "PROXY_REFUSED") return proxyRefused;
  if (kind === "refused-by-another" && (status === 404 || status === 405)) return notFound;
  const check = refusalChecks.get(serviceCode);
  return rows[kind] === refused && check !== undefined ? { ...refused, check } : rows[kind];
}

/** @param url of the token endpoint, without credentials. */
export function describeGrantFailure(failure: GrantFailure, url: string): { found: string; check: string | undefined } {
  const { status, serviceCode = "" } = failure;
  // No message holds any other text of a response than what can only be a code.
  const code = /^[a-z]{2,20}(?:_[a-z]{2,20}){1,3}$/.test(serviceCode) ? ` ${serviceCode}` : "";
  const parts: object = { ...failure, url, status: `${status}${code}` };
  const { found, check } = rowOf(failure);
  return { found: found.replace(/\{(\w+)\}/g, (_, name) => String(Reflect.get(parts, name) ?? "UNKNOWN")), check };
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
  what = isRefusal(failure) ? "Login failed" : "No access token",
): TokenError {
  const { found, check } = describeGrantFailure(failure, url);
  const { status, reason, serviceCode, serviceMessage } = failure;
  const sentences = [`${what}: ${found}.`, check && `${check}.`, heldUntilMs && nextAttempt(heldUntilMs)];
  return new TokenError(sentences.filter(Boolean).join(" "), {
    code: rowOf(failure).code,
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

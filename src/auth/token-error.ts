import { ConfigError, TokenError, type TokenErrorCode } from "../core/errors.js";
import { type Decision, decisions, type FailureClass, type GrantKind } from "../http/decision.js";

/** Failures without a response or a connection. */
type LocalClass =
  | "unverified" // the ID token doesn't belong to this login
  | "no-secret" // the user's function for the password or the client's secret failed
  | "session-ended" // there is no refresh token to use, and nothing to log in with
  | "unshared" // the token store is unavailable, and this process waits for its turn to log in alone
  | "unconfirmed" // a logout was sent with a refresh token that may not be the session's newest
  | "token-rejected" // the service refused a token that had just been issued
  | "unprepared"; // the request could not be made

/** A token request that failed, described without any secret. */
export interface GrantFailure {
  readonly class: FailureClass | LocalClass;
  readonly status?: number;
  /** A code such as `ECONNRESET` if there is no response, or if a function or the token store failed. The claim of a wrong ID token. */
  readonly reason?: string | undefined;
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

/** The code, what was found, and what to check. `{…}` stands for a part of the failure. */
type Row = readonly [code: TokenErrorCode, text: string];

const unconnected: Row = [
  "token_endpoint_unreachable",
  "could not connect to {url} ({reason}). Check authUrl, and that this machine can reach it.",
];
const lost: Row = [
  "token_endpoint_unreachable",
  "no response from {url} ({reason}). Check authUrl, and tls.cert and tls.key if the server wants a client certificate.",
];
const refused: Row = ["login_refused", "{url} rejected the credentials ({status}). {check}."];
const throttled: Row = [
  "token_throttled",
  "{url} accepts no more token requests for now ({status}). If many processes log in, share a session with tokenStore.",
];
const unreadable: Row = [
  "token_response_unreadable",
  // "bearer" before another word would be redacted as the beginning of a token.
  'the response of {url} ({status}) has no access_token in the described form, with the token_type "Bearer". Check authUrl and realm.',
];

const rows: Readonly<Record<GrantFailure["class"] | "proxy-refused" | "not-found", Row>> = {
  unsent: unconnected,
  "unknown-host": unconnected,
  "ended-unsent": unconnected,
  "maybe-sent": lost,
  ended: lost,
  "broken-off": lost,
  "ended-reading": lost,
  "unsent-for-good": [
    "token_endpoint_untrusted",
    "could not make a secure connection to {url} ({reason}). Check its certificate, and tls.ca if a private authority signed it.",
  ],
  "proxy-refused": [
    "proxy_refused",
    "the proxy made no connection to {url}. Check its address, user, and password, and which addresses it lets through.",
  ],
  unauthorized: refused,
  refused,
  "refused-by-another": [
    "token_endpoint_blocked",
    "{url} responded with {status}, and did not say that the credentials are wrong. Check that the realm is enabled, that it allows more sessions, and that no firewall or proxy blocks the request.",
  ],
  "not-found": ["token_endpoint_not_found", "{url} responded with {status}. Check authUrl and realm."],
  "server-error": [
    "token_endpoint_failing",
    "{url} responded with {status}, and no token. Check authUrl, and that the identity provider is up.",
  ],
  throttled,
  "throttled-by-another": throttled,
  redirect: [
    "token_endpoint_redirected",
    "{url} responded with a redirect ({status}), which is never followed. Check authUrl.",
  ],
  oversized: unreadable,
  unreadable,
  made: unreadable,
  "token-rejected": [
    "token_rejected",
    "the service refused a new access token ({status}). Check that {url} issues tokens for this service (realm, audience), and that the clocks of both machines agree.",
  ],
  unverified: [
    "login_unverified",
    "the ID token of {url} does not belong to this login ({reason}). Check clientId, and that the clocks of both machines agree.",
  ],
  "no-secret": ["token_source_failed", "the function auth.{secretName} did not return a secret ({reason})."],
  "session-ended": [
    "login_refused",
    "{url} does not continue the session of auth.refreshToken, or a process that renewed it stored no new token. Build a client with another refreshToken.",
  ],
  unshared: ["token_store_failed", "the token store can't be used ({reason})."],
  unconfirmed: [
    "logout_unconfirmed",
    "its newest refresh token is not known, since a renewal has not ended or its response was lost. Log out again, or send the user to the logout page of the identity provider.",
  ],
  unprepared: ["token_request_failed", "the request could not be made ({problem})."],
};

function rowOf({ class: kind, status, reason }: GrantFailure): Row {
  if (reason === "PROXY_REFUSED") return rows["proxy-refused"];
  return rows[kind === "refused-by-another" && (status === 404 || status === 405) ? "not-found" : kind];
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
): TokenError | ConfigError {
  const { status, reason, problem, serviceCode, serviceMessage } = failure;
  // An option or a package keeps every request from being made. No login helps.
  if (problem !== undefined) return new ConfigError(problem);
  // No message holds any other text of a response than what can only be a code.
  const shown = /^[a-z]{2,20}(?:_[a-z]{2,20}){1,3}$/.test(serviceCode ?? "") ? ` ${serviceCode}` : "";
  const check = refusalChecks.get(serviceCode) ?? "Check realm, clientId, clientSecret, username, and password";
  const parts: object = { ...failure, url, check, status: `${status}${shown}` };
  const [code, text] = rowOf(failure);
  const found = text.replace(/\{(\w+)\}/g, (_, name) => String(Reflect.get(parts, name) ?? "UNKNOWN"));
  const next = heldUntilMs === undefined ? "" : ` Next attempt allowed at ${timeOf(heldUntilMs)} UTC.`;
  return new TokenError(`${what}: ${found}${next}`, {
    code,
    status,
    serviceCode,
    serviceMessage,
    heldUntilMs,
    cause: reason === undefined ? undefined : Object.assign(new Error(reason), { code: reason }),
  });
}

function timeOf(wallMs: number): string {
  return new Date(Math.ceil(wallMs / 1000) * 1000).toISOString().slice(11, 19);
}

export function isThrottled({ class: kind }: GrantFailure): boolean {
  return kind === "throttled" || kind === "throttled-by-another";
}

/** The longest wait that the `Retry-After` of a 429 can cause. */
export const longestAskedMs = 300_000;

/** How long there is no login after the first refused one. */
export const refusedHoldMs = 60_000;

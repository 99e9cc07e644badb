import { TokenError } from "../errors/errors.js";
import { WireFailure } from "../wire/wire-failure.js";

/** How a token is asked for. The names are the values of `grant_type`. */
export type Grant = "password" | "refresh_token";

/** How a token request can end, other than well. */
export type GrantFailureClass =
  | "unsent" // refused, DNS, connect timeout, handshake reset: no byte was written
  | "unsent-for-good" // certificate, TLS version
  | "maybe-sent" // reset, truncated, timeout: no status came back
  | "ended" // broken off from this side
  | "refused" // 400, 401, 403, 404, 405, 413, 415, 422 and every other 4xx
  | "failing" // 408, 409, 5xx, and statuses that do not exist
  | "throttled" // 429
  | "redirected" // 3xx, which is never followed: it would carry the password away
  | "unreadable" // 2xx that is not what is described
  | "unprepared"; // the request could not even be made

/** A token request that failed, told without any secret. */
export interface GrantFailure {
  readonly class: GrantFailureClass;
  readonly status?: number;
  /** The code of what broke the exchange, such as `ECONNRESET`. */
  readonly reason?: string;
  /** The `error` of the response, such as `invalid_grant`. */
  readonly oauthError?: string;
  /** The `error_description` of the response, with what the request held in secret taken out. */
  readonly description?: string;
  readonly retryAfterMs?: number;
}

/**
 * What follows a failure.
 *
 * - `fail`: the callers get an error, and the next call tries afresh.
 * - `repeat`, `repeat-later`: the same request once more, at once or after a second; then `fail`.
 * - `back-off`: nobody asks for a while; calls wait for that as far as their patience goes.
 * - `login`: the refresh token is no good; one login.
 * - `old-or-login`: the refresh token may have been used up. The old access token serves as long as it lives; then one login.
 * - `stop`: nobody asks for a minute, and every call fails at once.
 */
export type GrantReaction = "fail" | "repeat" | "repeat-later" | "back-off" | "login" | "old-or-login" | "stop";

/** The token endpoint's column of the decision table. */
export const grantReactions: Readonly<Record<GrantFailureClass, Readonly<Record<Grant, GrantReaction>>>> = {
  unsent: { refresh_token: "repeat", password: "repeat" },
  "unsent-for-good": { refresh_token: "fail", password: "fail" },
  "maybe-sent": { refresh_token: "old-or-login", password: "repeat-later" },
  ended: { refresh_token: "fail", password: "fail" },
  refused: { refresh_token: "login", password: "stop" },
  failing: { refresh_token: "back-off", password: "back-off" },
  throttled: { refresh_token: "back-off", password: "back-off" },
  redirected: { refresh_token: "fail", password: "fail" },
  unreadable: { refresh_token: "fail", password: "fail" },
  unprepared: { refresh_token: "fail", password: "fail" },
};

export function classifyResponse(status: number): GrantFailureClass {
  if (status === 429) return "throttled";
  if (status === 408 || status === 409) return "failing";
  if (status >= 400 && status < 500) return "refused";
  if (status >= 300 && status < 400) return "redirected";
  return status >= 200 && status < 300 ? "unreadable" : "failing";
}

export function failureOfWire(error: unknown): GrantFailure {
  // What is no WireFailure comes from nowhere known, and may have come after the request left.
  if (!(error instanceof WireFailure)) return { class: "maybe-sent", reason: "UNKNOWN" };
  const reason = /^[\w.-]{1,64}$/.test(error.reason) ? error.reason : "UNKNOWN";
  if (error.kind === "abort") return { class: "ended", reason };
  if (error.sent) return { class: "maybe-sent", reason };
  return { class: error.permanent ? "unsent-for-good" : "unsent", reason };
}

/**
 * The error of a call that got no token. Each call gets one of its own: the flow that makes payments writes on its errors.
 *
 * @param origin of the token endpoint.
 * @param heldUntilMs until when nobody asks again, by the wall clock.
 */
export function toTokenError(failure: GrantFailure, origin: string, heldUntilMs: number | undefined): TokenError {
  const { code, says } = texts[failure.class];
  const { status, reason, oauthError, description } = failure;
  const response = [oauthError, description].filter((part) => part !== undefined).join(": ");
  const held =
    heldUntilMs === undefined ? "" : `; the next token is asked for at ${toIsoTime(heldUntilMs)} at the earliest`;
  return new TokenError(`no access token: ${says(origin, failure)}${response === "" ? "" : ` (${response})`}${held}`, {
    code,
    status,
    oauthError,
    heldUntilMs,
    cause: reason === undefined ? undefined : Object.assign(new Error(reason), { code: reason }),
  });
}

const unreachable = {
  code: "token_endpoint_unreachable",
  says: (origin: string, { reason }: GrantFailure) => `no response came from ${origin} (${reason})`,
};

const texts: Readonly<
  Record<GrantFailureClass, { readonly code: string; says(origin: string, failure: GrantFailure): string }>
> = {
  unsent: unreachable,
  "maybe-sent": unreachable,
  ended: unreachable,
  "unsent-for-good": {
    code: "token_endpoint_untrusted",
    says: (origin, { reason }) => `there can be no safe connection with ${origin} (${reason}); check its certificate`,
  },
  refused: {
    code: "login_refused",
    says: (origin, { status }) =>
      `${origin} refused the login with ${status}; check authUrl, realm, clientId, clientSecret, username and password`,
  },
  failing: {
    code: "token_endpoint_failing",
    says: (origin, { status }) => `${origin} failed with ${status}`,
  },
  throttled: {
    code: "token_throttled",
    says: (origin, { status }) => `${origin} takes no more token requests for now (${status})`,
  },
  redirected: {
    code: "token_endpoint_redirected",
    says: (origin, { status }) =>
      `${origin} responded with a redirect (${status}), which is not followed; check authUrl`,
  },
  unreadable: {
    code: "token_response_unreadable",
    says: (origin, { status }) =>
      `the response of ${origin} (${status}) holds no bearer token in the form that is described`,
  },
  unprepared: {
    code: "token_request_failed",
    says: () => "the request could not be made; is the package openid-client installed whole?",
  },
};

function toIsoTime(wallMs: number): string {
  return new Date(wallMs).toISOString();
}

import { TokenError, type TokenErrorCode } from "../errors/errors.js";
import { Ended } from "../timing/deadline.js";
import { WireFailure } from "../wire/wire-failure.js";
import type { TokenEvent } from "./token-event.js";

/** How a token is requested. The names are the values of `grant_type`. */
export type Grant = TokenEvent["grant"];

/** How a token request can fail. */
export type GrantFailureClass =
  | "unsent" // refused, DNS, connect timeout, handshake reset: no byte was written
  | "untrusted" // certificate, TLS version: no byte was written, and another try can't help
  | "maybe-sent" // reset, truncated, timeout: no status arrived
  | "refused" // 400, 401, 403, 404, 405, 413, 415, 422 and every other 4xx
  | "failing" // 408, 409, 5xx, and statuses that do not exist
  | "throttled" // 429
  | "redirected" // 3xx, which is never followed: it would carry the password away
  | "unreadable" // 2xx that is not what is described
  | "unprepared"; // the request could not even be made

/** A token request that failed, described without any secret. */
export interface GrantFailure {
  readonly class: GrantFailureClass;
  readonly status?: number;
  /** Why no response arrived: a code such as `ECONNRESET`. */
  readonly reason?: string;
  /** The `error` of the response, such as `invalid_grant`. */
  readonly oauthError?: string;
  /** The `error_description` of the response, without the secrets of the request. */
  readonly description?: string;
  readonly retryAfterMs?: number;
}

/**
 * What follows a failure.
 *
 * - `fail`: the calls that wait get an error, and the next call requests a token again.
 * - `repeat`, `repeat-later`: the same request once more, at once or after a second; then `fail`.
 * - `back-off`: no request for a while; calls wait as long as their deadline and `maxRetries` allow.
 * - `login`: the refresh token can't be used any more; one login.
 * - `old-or-login`: the refresh token may have been used up. The old access token is used until it expires; then one login.
 * - `stop`: no request for a minute, and every call fails at once.
 */
export type GrantReaction = "fail" | "repeat" | "repeat-later" | "back-off" | "login" | "old-or-login" | "stop";

/** The token endpoint's column of the decision table. */
export const grantReactions: Readonly<Record<GrantFailureClass, Readonly<Record<Grant, GrantReaction>>>> = {
  unsent: { refresh_token: "repeat", password: "repeat" },
  untrusted: { refresh_token: "fail", password: "fail" },
  "maybe-sent": { refresh_token: "old-or-login", password: "repeat-later" },
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

/** What a transport's error is as a failure. */
export function failureOfWire(error: unknown): GrantFailure {
  if (error instanceof Ended) return { class: error.sent ? "maybe-sent" : "unsent", reason: "DEADLINE" };
  // It is not known where any other error comes from: the request may have been sent.
  if (!(error instanceof WireFailure)) return { class: "maybe-sent", reason: "UNKNOWN" };
  const reason = /^[\w.-]{1,64}$/.test(error.reason) ? error.reason : "UNKNOWN";
  if (error.sent) return { class: "maybe-sent", reason };
  return { class: error.permanent ? "untrusted" : "unsent", reason };
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

/**
 * The error of a call that got no token. Each call gets its own: the payment flow adds facts to its errors.
 *
 * @param origin of the token endpoint.
 * @param heldUntilMs until when no token is requested, by the wall clock.
 */
export function toTokenError(failure: GrantFailure, origin: string, heldUntilMs: number | undefined): TokenError {
  const { code, says } = texts[failure.class];
  const { status, reason, oauthError, description } = failure;
  const response = [oauthError, description].filter((part) => part !== undefined).join(": ");
  const held = heldUntilMs === undefined ? "" : `; no token is requested before ${toIsoTime(heldUntilMs)}`;
  return new TokenError(`no access token: ${says(origin, failure)}${response === "" ? "" : ` (${response})`}${held}`, {
    code,
    status,
    oauthError,
    heldUntilMs,
    cause: reason === undefined ? undefined : Object.assign(new Error(reason), { code: reason }),
  });
}

const unreachable = {
  code: "token_endpoint_unreachable" as const,
  says: (origin: string, { reason }: GrantFailure) => `no response from ${origin} (${reason})`,
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
    says: (origin, { status }) => `${origin} accepts no more token requests for now (${status})`,
  },
  redirected: {
    code: "token_endpoint_redirected",
    says: (origin, { status }) =>
      `${origin} responded with a redirect (${status}), which is not followed; check authUrl`,
  },
  unreadable: {
    code: "token_response_unreadable",
    says: (origin, { status }) => `the response of ${origin} (${status}) has no bearer token in the described form`,
  },
  unprepared: {
    code: "token_request_failed",
    says: () => "the request could not be made; is the package openid-client installed completely?",
  },
};

function toIsoTime(wallMs: number): string {
  return new Date(wallMs).toISOString();
}

import { describeThrown, docUrlOf } from "./describe.js";
import { hide, redactText } from "./redact.js";

/**
 * What a failed call did at the service.
 *
 * - `none`: nothing. It is safe to call again, or to give the money back.
 * - `possible`: it is unknown. Look before doing anything: see {@link OutcomeUnknownError}.
 * - `done`: the service did it, although the response could not be used.
 */
export type Effect = "none" | "possible" | "done";

/** The response behind an error. It never takes part in printing or in `JSON.stringify`: it may hold account numbers. */
export interface ErrorResponse {
  readonly status: number;
  /** Header names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body as it came, as far as it came. */
  readonly text: string;
}

/** A signed or unsigned request whose outcome matters. It never takes part in printing: it holds account numbers. */
export interface SentRequest {
  /** Path as it was on the wire, base path included. */
  readonly path: string;
  /** The raw body, exactly as it was sent. */
  readonly body: string;
  /** The `X-SERVICE-SIGNATURE-BASE64` header; it comes back as `creationRequestSignatureBase64` in listed payments. */
  readonly signature?: string;
}

/** What was signed, told without any secret: for comparing with what the service saw. */
export interface SignedText {
  /** The path that was signed, base path included. It isn't printed if it holds something confidential, such as an account. */
  readonly path: string;
  /** SHA-256 of the raw body, in hex. */
  readonly bodySha256: string;
  /** SHA-256 of the public key's DER form (SubjectPublicKeyInfo), in hex. */
  readonly publicKeySha256: string;
}

/** Money that was taken from the sender: what `takeFunds` returns, and what errors after that carry as `funds`. */
export interface FundsTaken {
  /** The sending gateway's own id of the transaction that took it. */
  readonly senderGatewayTransactionId: string;
}

/** What went wrong, for programs. These codes are the library's own and stay as they are; the service's are in `ApiError.serviceCode`. */
export type ErrorCode =
  | "aborted"
  | "client_closed"
  | "connection_failed"
  | "connection_untrusted"
  | "flow_approval_needed"
  | "flow_busy"
  | "flow_changed"
  | "flow_circuit_open"
  | "flow_closed"
  | "flow_confirmed"
  | "flow_foreign"
  | "flow_key_reused"
  | "flow_not_held"
  | "flow_not_proposed"
  | "flow_paused"
  | "flow_payment_found"
  | "flow_payment_not_found"
  | "flow_payment_unseen"
  | "flow_pruned"
  | "flow_same_person"
  | "flow_throttled"
  | "flow_unexpected_event"
  | "flow_unknown"
  | "flow_unreadable"
  /** The service responded with this status, such as `http_400`. */
  | `http_${number}`
  | "intent_mismatch"
  | "invalid_argument"
  | "invalid_config"
  | "journal_failed"
  | "journal_outdated"
  | "journal_replica"
  | "outcome_unknown"
  | "paging"
  | "paging_cursor_ignored"
  | "paging_end_unproved"
  | "paging_no_token"
  | "paging_order"
  | "paging_sort"
  | "paging_sort_ignored"
  | "quote_changed"
  | "quote_expired"
  | "signing_failed"
  | "timeout"
  | "unexpected_failure"
  | "unexpected_response"
  | TokenErrorCode;

/** What went wrong with an access token: see {@link TokenError}. */
export type TokenErrorCode =
  | "login_code_refused"
  | "login_denied"
  | "login_failed"
  | "login_issuer_mismatch"
  | "login_refused"
  | "login_required"
  | "login_state_mismatch"
  | "login_unverified"
  | "logout_unconfirmed"
  | "proxy_refused"
  | "session_ended"
  | "token_endpoint_blocked"
  | "token_endpoint_failing"
  | "token_endpoint_not_found"
  | "token_endpoint_redirected"
  | "token_endpoint_unreachable"
  | "token_endpoint_untrusted"
  | "token_rejected"
  | "token_request_failed"
  | "token_response_unreadable"
  | "token_source_failed"
  | "token_source_invalid"
  | "token_store_failed"
  | "token_throttled";

export interface ErrorDetails {
  readonly code: ErrorCode;
  readonly effect?: Effect;
  readonly operation?: string | undefined;
  readonly attempts?: number | undefined;
  readonly requestId?: string | undefined;
  readonly status?: number | undefined;
  readonly serviceCode?: string | undefined;
  readonly serviceMessage?: string | undefined;
  readonly cause?: unknown;
}

/**
 * The base of every error of this package. If a process loads two copies of the package, compare `code` instead of using `instanceof`.
 *
 * Never contains a token, a key, a password, a body or an account number, neither in `message` nor in `cause`.
 */
export class CrossBorderError extends Error {
  /** Stable, for programs. */
  readonly code: ErrorCode;
  /** What the failed call did at the service. */
  readonly effect: Effect;
  /** The address of what the documentation says about the code: what happened, and what to do. It holds nothing else of the error. */
  readonly docUrl: string;
  /** Such as `payments.create`, if the error belongs to one call. */
  declare readonly operation?: string;
  /** How often the request was tried. */
  declare readonly attempts?: number;
  /** `x-request-id` of the call's last response that had one: quote it when you ask the service about the call. */
  declare readonly requestId?: string;
  /** Status of the response behind the error: the service's, or the token endpoint's for a {@link TokenError}. */
  declare readonly status?: number;
  /**
   * The response's own `error` or `code`, word for word. Absent if there is none, if it is longer than 256 characters, and if it repeats
   * something confidential of the request or holds a number of eight digits or more, which may be an account.
   */
  declare readonly serviceCode?: string;
  /**
   * The response's own `message`, or `error_description`, up to 4,096 characters. It may hold names and account numbers, so it takes no
   * part in printing or in `JSON.stringify`.
   */
  declare readonly serviceMessage?: string;
  /** Set if the sender's money had been taken before the failure, together with the id of the intent it was taken for. */
  declare funds?: FundsTaken & { readonly intentId: string };

  constructor(message: string, details: ErrorDetails) {
    super(redactText(message));
    this.code = details.code;
    this.effect = details.effect ?? "none";
    this.docUrl = docUrlOf(details.code);
    for (const name of ["operation", "attempts", "requestId", "status", "serviceCode"] as const) {
      if (details[name] !== undefined) Object.assign(this, { [name]: details[name] });
    }
    if (details.serviceMessage !== undefined) hide(this, "serviceMessage", details.serviceMessage);
    if (details.cause !== undefined)
      hide(this, "cause", details.cause instanceof CrossBorderError ? details.cause : describeThrown(details.cause));
  }

  /** The enumerable facts and the message; never the response or the request. */
  toJSON(): Record<string, unknown> {
    const facts: Record<string, unknown> = { name: this.name, message: this.message };
    return Object.assign(facts, this);
  }
}

/**
 * An argument of a call is wrong: thrown before any I/O, with `effect` `none`. Or a durable flow refuses the call because of how far it
 * has got: then `code` begins with `flow_` or `quote_`, and `effect` is `possible` if that flow may have paid.
 */
export class InvalidArgumentError extends CrossBorderError {
  constructor(message: string, details: Partial<ErrorDetails> = {}) {
    super(message, { code: "invalid_argument", ...details });
  }
}

/** An option of the client is wrong, or a package that it needs is missing. Thrown when the client is built. */
export class ConfigError extends CrossBorderError {
  constructor(message: string, details: Partial<ErrorDetails> = {}) {
    super(message, { code: "invalid_config", ...details });
  }
}

/** A signature could not be made; nothing was sent. */
export class SigningError extends CrossBorderError {
  constructor(message: string, details: Partial<ErrorDetails> = {}) {
    super(message, { code: "signing_failed", ...details });
  }
}

/**
 * No access token could be had; the call itself was not sent, so `effect` is `none`. The codes:
 *
 * - `login_refused`: the credentials or the client are wrong, or the account is locked, which looks the same. Every call fails at
 *   once until `heldUntilMs`: 1 min after the first refusal, then 2, 4, … 60. Other credentials end that.
 * - `login_required`: no user is logged in to the `BrowserLogin` or the `ServerSession`.
 * - `session_ended`: the user's session has expired, or an administrator has ended it. A new login begins another one.
 * - `login_state_mismatch`: the callback does not belong to the login that this user began: another tab's, a replayed one, or a forged
 *   one. Like the next six, it comes from the callback of a login; nothing was stored, and a new login can begin at once.
 * - `login_code_refused`: the callback's code was used before, or is too old.
 * - `login_issuer_mismatch`: the callback or the ID token names another issuer than `issuer`.
 * - `login_denied`: the user refused, on the login page.
 * - `login_failed`: the login page came back with another error, which is in `serviceCode`, or with none and no code.
 * - `login_unverified`: the ID token belongs to another login or another client, has expired, or is missing.
 * - `token_throttled`: the token endpoint responded with 429 and is left alone until `heldUntilMs`.
 * - `token_endpoint_failing`: it responded with 5xx or 408, or with a web page in place of a token. The call waited for it.
 * - `token_endpoint_not_found`: it responded with 404 or 405. Check `authUrl` and `realm`.
 * - `token_endpoint_blocked`: it responded with another 4xx that says nothing of the credentials: a realm that isn't enabled, a limit of
 *   sessions, a firewall.
 * - `token_endpoint_unreachable`: no response came from it. The call waited for it.
 * - `token_endpoint_untrusted`: its certificate or its TLS is not acceptable.
 * - `proxy_refused`: the proxy on the way to it let nothing through, such as with 407.
 * - `token_endpoint_redirected`: it responded with a redirect, which is never followed.
 * - `token_response_unreadable`: its response holds no bearer token.
 * - `token_request_failed`: the request could not be made at all.
 * - `token_rejected`: the service refused a token with 401, and no other token was available. If tokens are refused as soon
 *   as they are issued (another audience, clocks apart), no other one is requested until `heldUntilMs`: 10 s at first, 5 min at most.
 * - `token_source_failed`: a function of the options failed: `accessToken`, `password` or `clientSecret`.
 * - `token_source_invalid`: the `accessToken` function gave something that can be no token.
 * - `token_store_failed`: the `tokenStore` is away. The call waited for it, or for its turn to log in without it.
 */
export class TokenError extends CrossBorderError {
  /** Until when (milliseconds since 1970) the client requests no other token. */
  declare readonly heldUntilMs?: number;
  constructor(message: string, details: TokenErrorDetails) {
    super(message, details);
    if (details.heldUntilMs !== undefined) this.heldUntilMs = details.heldUntilMs;
  }
}

export interface TokenErrorDetails extends ErrorDetails {
  readonly heldUntilMs?: number | undefined;
}

/** The service could not be reached, or a read broke off. */
export class ConnectionError extends CrossBorderError {
  constructor(message: string, details: Partial<ErrorDetails> = {}) {
    super(message, { code: "connection_failed", ...details });
  }
}

/** The call's total deadline (`timeoutMs`) passed. */
export class TimeoutError extends CrossBorderError {
  constructor(message: string, details: Partial<ErrorDetails> = {}) {
    super(message, { code: "timeout", ...details });
  }
}

/** The caller's `signal` ended the call. */
export class AbortedError extends CrossBorderError {
  constructor(message: string, details: Partial<ErrorDetails> = {}) {
    super(message, { code: "aborted", ...details });
  }
}

/**
 * The request may have reached the service, and no response says what it did: neither success nor failure. `effect` is `possible`.
 *
 * Do not call again and do not give the money back: look for `request.signature` among the listed payments first.
 */
export class OutcomeUnknownError extends CrossBorderError {
  /** The exact request, for reconciliation. */
  declare readonly request: SentRequest;
  constructor(message: string, details: Partial<ErrorDetails> & { readonly request: SentRequest }) {
    super(message, { code: "outcome_unknown", effect: "possible", ...details });
    hide(this, "request", details.request);
  }
}

/**
 * The service responded, but not in the form that is described: not JSON, of another shape, not this record, too large or cut short.
 * On a write, `effect` is `done` only if the response identifies the record.
 */
export class UnexpectedResponseError extends CrossBorderError {
  declare readonly status: number;
  declare readonly response: ErrorResponse;
  constructor(message: string, details: Partial<ErrorDetails> & { readonly response: ErrorResponse }) {
    super(message, { code: "unexpected_response", status: details.response.status, ...details });
    hide(this, "response", details.response);
  }
}

/**
 * Going on with a list would lose or repeat records (`paging`); or an empty page seems to end it, and the service does not show the last
 * record any more, so that the page may be of a machine that lags behind (`paging_end_unproved`): read the list again.
 */
export class PagingError extends CrossBorderError {
  constructor(message: string, details: Partial<ErrorDetails> = {}) {
    super(message, { code: "paging", ...details });
  }
}

/**
 * A journal could not read or store a flow: no room, a broken disk, a database that can't be reached. `effect` is `none`: the
 * journal is not part of the service.
 *
 * `stored` is `nothing` if the database said so: what was there is still there. It is `unknown` if no response
 * came from the database: then all of it was stored or nothing, and reading tells which.
 */
export class JournalError extends CrossBorderError {
  readonly stored: "nothing" | "unknown";
  constructor(message: string, details: Partial<ErrorDetails> & { readonly stored?: "nothing" | "unknown" } = {}) {
    super(message, { code: "journal_failed", ...details });
    this.stored = details.stored ?? "nothing";
  }
}

export interface ApiErrorDetails extends ErrorDetails {
  readonly response: ErrorResponse;
  readonly retryAfterMs?: number | undefined;
  readonly signed?: SignedText | undefined;
}

/** The service responded with a status other than 2xx (Interface description 0.0.1, "Errors"). */
export class ApiError extends CrossBorderError {
  declare readonly status: number;
  /** What the response's `Retry-After` asked for. */
  declare readonly retryAfterMs?: number;
  /** On signed calls: what exactly was signed, to compare with what the service saw. */
  declare readonly signed?: SignedText;
  declare readonly response: ErrorResponse;

  constructor(message: string, details: ApiErrorDetails) {
    super(message, { ...details, status: details.response.status });
    if (details.retryAfterMs !== undefined) this.retryAfterMs = details.retryAfterMs;
    if (details.signed !== undefined) this.signed = details.signed;
    hide(this, "response", details.response);
  }

  /** The subclass that stands for the status. */
  static of(message: string, details: ApiErrorDetails): ApiError {
    const status = details.response.status;
    const Class = apiErrorClasses.get(status) ?? (status >= 500 ? ServerError : ApiError);
    return new Class(message, details);
  }
}

/** 400: the request is invalid. */
export class BadRequestError extends ApiError {}

/** 401: the access token is missing or invalid, and a new one did not help. */
export class AuthenticationError extends ApiError {}

/** 403: the token's owner may not do this. */
export class PermissionDeniedError extends ApiError {}

/** 404: there is no such record. */
export class NotFoundError extends ApiError {}

/** 409: the request stands against the record's present state. */
export class ConflictError extends ApiError {}

/** 422: the fields are well-formed and still not acceptable. */
export class UnprocessableEntityError extends ApiError {}

/** 429: too many requests. */
export class RateLimitError extends ApiError {}

/** 5xx: the service failed; on a write, `effect` is `possible`. */
export class ServerError extends ApiError {}

const apiErrorClasses: ReadonlyMap<number, typeof ApiError> = new Map([
  [400, BadRequestError],
  [401, AuthenticationError],
  [403, PermissionDeniedError],
  [404, NotFoundError],
  [409, ConflictError],
  [422, UnprocessableEntityError],
  [429, RateLimitError],
]);

const classes = {
  CrossBorderError,
  InvalidArgumentError,
  ConfigError,
  SigningError,
  TokenError,
  ConnectionError,
  TimeoutError,
  AbortedError,
  OutcomeUnknownError,
  UnexpectedResponseError,
  PagingError,
  JournalError,
  ApiError,
  BadRequestError,
  AuthenticationError,
  PermissionDeniedError,
  NotFoundError,
  ConflictError,
  UnprocessableEntityError,
  RateLimitError,
  ServerError,
};

// A bundler may rename a class, so that the name of its constructor says nothing.
for (const [name, { prototype }] of Object.entries(classes)) hide(prototype, "name", name);

/**
 * Takes the stack of an error again, so that it begins where `from` was called, and shows the caller's line near its top. Each of our own
 * frames would hide one of the caller's. Engines without `captureStackTrace` keep the stack as it is.
 *
 * @param from one of the functions that are running. Default: this one.
 */
export function traceFrom<Thrown>(thrown: Thrown, from: (...args: never) => unknown = traceFrom): Thrown {
  if (thrown instanceof CrossBorderError) Error.captureStackTrace?.(thrown, from);
  return thrown;
}

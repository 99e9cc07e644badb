import { describeThrown, docUrlOf } from "./describe.js";
import { hide, redactText } from "./redact.js";

/**
 * Tells you what a failed call did at the service.
 *
 * - `none` means nothing. It's safe to call again, or to give the money back.
 * - `possible` means that the client can't tell. See {@link OutcomeUnknownError} before you do anything.
 * - `done` means that the service did it, although the response couldn't be used.
 */
export type Effect = "none" | "possible" | "done";

/** The response behind an error. It isn't printed, since it may hold account numbers. */
export interface ErrorResponse {
  readonly status: number;
  /** Header names in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body, as far as it was received. */
  readonly text: string;
}

/** A request with an unknown outcome. It isn't printed, since it holds account numbers. */
export interface SentRequest {
  /** Path as it was on the wire, base path included. */
  readonly path: string;
  /** The raw body, exactly as it was sent. */
  readonly body: string;
  /** The `X-SERVICE-SIGNATURE-BASE64` header. Listed payments have it as `creationRequestSignatureBase64`. */
  readonly signature?: string;
}

/** The signed text without its secrets, to compare with what the service saw. */
export interface SignedText {
  /** The path that was signed, base path included. It isn't printed if it holds something confidential, such as an account. */
  readonly path: string;
  /** SHA-256 of the raw body, in hex. */
  readonly bodySha256: string;
  /** SHA-256 of the public key's DER form (SubjectPublicKeyInfo), in hex. */
  readonly publicKeySha256: string;
}

/** Money that was taken from the sender, as `takeFunds` returns it and later errors have it in `funds`. */
export interface FundsTaken {
  /** The sending gateway's own id of the transaction that took it. */
  readonly senderGatewayTransactionId: string;
}

/** The library's own codes, for programs. They stay as they are. The service's codes are in `serviceCode`. */
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

/** The codes of a {@link TokenError}. */
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
  /** Tells you what the failed call did at the service. */
  readonly effect: Effect;
  /** The section of the documentation about the code. */
  readonly docUrl: string;
  /** Such as `payments.create`, if the error belongs to one call. */
  declare readonly operation?: string;
  /** How often the request was tried. */
  declare readonly attempts?: number;
  /** `x-request-id` of the call's last response. Quote it when you ask the service about the call. */
  declare readonly requestId?: string;
  /** Status of the service's response, or the token endpoint's for a {@link TokenError}. */
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

  /** @param details `code` has a default in each class that stands for one code. */
  constructor(message: string, details: Partial<ErrorDetails> = {}) {
    super(redactText(message));
    this.code = details.code ?? codes[this.name] ?? "unexpected_failure";
    this.effect = details.effect ?? "none";
    this.docUrl = docUrlOf(this.code);
    for (const name of ["operation", "attempts", "requestId", "status", "serviceCode"] as const) {
      if (details[name] !== undefined) Object.assign(this, { [name]: details[name] });
    }
    if (details.serviceMessage !== undefined) hide(this, "serviceMessage", details.serviceMessage);
    if (details.cause !== undefined)
      hide(this, "cause", details.cause instanceof CrossBorderError ? details.cause : describeThrown(details.cause));
  }

  /** The enumerable facts and the message, but never the response or the request. */
  toJSON(): Record<string, unknown> {
    const facts: Record<string, unknown> = { name: this.name, message: this.message };
    return Object.assign(facts, this);
  }
}

/**
 * An argument of a call is wrong. It's thrown before any I/O, with `effect` `none`. If a durable flow refuses the call because of its
 * state, `code` begins with `flow_` or `quote_`, and `effect` is `possible` if that flow may have paid.
 */
export class InvalidArgumentError extends CrossBorderError {}

/** An option of the client is wrong, or a package that it needs is missing. Thrown when the client is built. */
export class ConfigError extends CrossBorderError {}

/** A signature could not be made, so nothing was sent. */
export class SigningError extends CrossBorderError {}

/**
 * The client got no access token, so the call was not sent, and `effect` is `none`. `docs/error-codes.md` explains each code.
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
export class ConnectionError extends CrossBorderError {}

/** The call's total deadline (`timeoutMs`) passed. */
export class TimeoutError extends CrossBorderError {}

/** The caller's `signal` ended the call. */
export class AbortedError extends CrossBorderError {}

/**
 * The request may have reached the service, and no response says what it did. It's neither success nor failure.
 *
 * Don't call again, and don't give the money back. Search the listed payments for `request.signature` first.
 */
export class OutcomeUnknownError extends CrossBorderError {
  /** The exact request, for reconciliation. */
  declare readonly request: SentRequest;
  constructor(message: string, details: Partial<ErrorDetails> & { readonly request: SentRequest }) {
    super(message, { effect: "possible", ...details });
    hide(this, "request", details.request);
  }
}

/**
 * The service's response can't be used. It isn't JSON, has another shape, isn't this record, is too large, or was cut short.
 * On a write, `effect` is `done` only if the response identifies the record.
 */
export class UnexpectedResponseError extends CrossBorderError {
  declare readonly status: number;
  declare readonly response: ErrorResponse;
  constructor(message: string, details: Partial<ErrorDetails> & { readonly response: ErrorResponse }) {
    super(message, { status: details.response.status, ...details });
    hide(this, "response", details.response);
  }
}

/**
 * A list can't be continued without losing or repeating records. With `paging_end_unproved`, an empty page may be of a machine that lags
 * behind, so read the list again.
 */
export class PagingError extends CrossBorderError {}

/**
 * A journal could not read or store a flow. For example, the disk is full, or the database can't be reached. `effect` is `none`, since
 * the journal isn't part of the service.
 *
 * `stored` is `nothing` if the database said so. It's `unknown` if the database didn't respond. Then everything was stored or nothing,
 * and reading tells you which.
 */
export class JournalError extends CrossBorderError {
  readonly stored: "nothing" | "unknown";
  constructor(message: string, details?: Partial<ErrorDetails> & { readonly stored?: "nothing" | "unknown" }) {
    super(message, details);
    this.stored = details?.stored ?? "nothing";
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
  /** The wait that the response's `Retry-After` asked for. */
  declare readonly retryAfterMs?: number;
  /** The signed text of a signed call, to compare with what the service saw. */
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
    const Class = apiErrorClasses[status] ?? (status >= 500 ? ServerError : ApiError);
    return new Class(message, details);
  }
}

/** The request is invalid (400). */
export class BadRequestError extends ApiError {}

/** The access token is missing or invalid, and a new one did not help (401). */
export class AuthenticationError extends ApiError {}

/** The token's owner may not do this (403). */
export class PermissionDeniedError extends ApiError {}

/** There is no such record (404). */
export class NotFoundError extends ApiError {}

/** The request conflicts with the record's present state (409). */
export class ConflictError extends ApiError {}

/** The fields are well-formed and still not acceptable (422). */
export class UnprocessableEntityError extends ApiError {}

/** Too many requests (429). */
export class RateLimitError extends ApiError {}

/** The service failed (5xx). On a write, `effect` is `possible`. */
export class ServerError extends ApiError {}

const apiErrorClasses: Readonly<Record<number, typeof ApiError>> = {
  400: BadRequestError,
  401: AuthenticationError,
  403: PermissionDeniedError,
  404: NotFoundError,
  409: ConflictError,
  422: UnprocessableEntityError,
  429: RateLimitError,
};

/** The code of each class that stands for one, by its name. */
const codes: Readonly<Record<string, ErrorCode>> = {
  InvalidArgumentError: "invalid_argument",
  ConfigError: "invalid_config",
  SigningError: "signing_failed",
  ConnectionError: "connection_failed",
  TimeoutError: "timeout",
  AbortedError: "aborted",
  OutcomeUnknownError: "outcome_unknown",
  UnexpectedResponseError: "unexpected_response",
  PagingError: "paging",
  JournalError: "journal_failed",
};

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
 * @param from one of the functions that are running. The default is this one.
 */
export function traceFrom<Thrown>(thrown: Thrown, from: (...args: never) => unknown = traceFrom): Thrown {
  if (thrown instanceof CrossBorderError) Error.captureStackTrace?.(thrown, from);
  return thrown;
}

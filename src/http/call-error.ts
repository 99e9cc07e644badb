import {
  AbortedError,
  ApiError,
  ConnectionError,
  CrossBorderError,
  type Effect,
  OutcomeUnknownError,
  type SentRequest,
  type SignedText,
  TimeoutError,
  UnexpectedResponseError,
} from "../errors/errors.js";
import { redactText } from "../errors/redact.js";
import { Ended } from "../timing/deadline.js";
import { parseJsonObject } from "../wire/parse-json-object.js";
import type { WireFailure } from "../wire/wire-failure.js";
import type { OperationKind } from "./decision.js";
import { endedReasons, type Failure, type RefusedStatus, type UnusableResponse } from "./failure.js";

/** What is known of a call when it fails, whatever went wrong. */
export interface CallFacts {
  readonly operation: string;
  readonly kind: OperationKind;
  readonly origin: string;
  readonly attempts: number;
  /** What all attempts together may have done. */
  readonly effect: Effect;
  readonly request: SentRequest;
  readonly signed: SignedText | undefined;
  /** Values that may appear in no message. */
  readonly secrets: readonly string[];
}

/** The one place where the failure of a call becomes an error. */
export function toError(failure: Failure, facts: CallFacts): CrossBorderError {
  switch (failure.kind) {
    case "no-status":
      return errorOfNoStatus(failure.cause, facts);
    case "status":
      return errorOfStatus(failure, facts);
    case "unusable":
      return errorOfUnusable(failure, facts);
    case "thrown":
      return errorOfThrown(failure.error, facts);
  }
}

function errorOfNoStatus(cause: WireFailure | Ended, facts: CallFacts): CrossBorderError {
  const { operation, attempts, effect } = facts;
  const reason = cause instanceof Ended ? endedReasons[cause.kind] : cause.reason;
  const details = { operation, attempts, effect, cause: Object.assign(new Error(reason), { code: reason }) };
  const text = describeNoStatus(cause, reason, facts);
  if (effect !== "none") return outcomeUnknown(text, facts, classOfNoStatus(cause, text, details));
  return classOfNoStatus(cause, `${text}; nothing was done`, details);
}

type NoStatusDetails = ConstructorParameters<typeof TimeoutError>[1];

function classOfNoStatus(cause: WireFailure | Ended, message: string, details: NoStatusDetails): CrossBorderError {
  if (cause instanceof Ended) {
    return cause.kind === "timeout" ? new TimeoutError(message, details) : new AbortedError(message, details);
  }
  const code = cause.permanent ? "connection_untrusted" : "connection_failed";
  return new ConnectionError(message, { ...details, code });
}

function describeNoStatus(
  cause: WireFailure | Ended,
  reason: string,
  { operation, origin, attempts, effect }: CallFacts,
): string {
  const unsent = attempts > 1 || effect !== "none" ? "before it was sent again" : "before anything was sent";
  const when = cause.sent ? "after the request may have been sent" : unsent;
  if (cause instanceof Ended) {
    const what = cause.kind === "timeout" ? "the deadline passed" : "the caller's signal ended the call";
    return `${operation}: ${what} ${when}`;
  }
  const what = cause.sent ? `the connection to ${origin} broke` : `no connection to ${origin}`;
  return `${operation}: ${what} (${reason}), ${when}`;
}

/** Interface description 0.0.1, "Errors". */
function errorOfStatus({ response, retryAfterMs }: RefusedStatus, facts: CallFacts): ApiError {
  const { operation, attempts, effect, signed } = facts;
  const { code, message } = readErrorBody(response.text, facts.secrets);
  const said = message === undefined ? "" : `: ${message}`;
  return ApiError.of(`${operation}: the service responded with ${response.status}${said} (${consequences[effect]})`, {
    operation,
    attempts,
    effect,
    signed,
    code: code ?? `http_${response.status}`,
    serviceMessage: message,
    retryAfterMs,
    response: { status: response.status, headers: response.headers, text: response.text },
  });
}

function errorOfUnusable(
  { class: failureClass, response, problem }: UnusableResponse,
  facts: CallFacts,
): CrossBorderError {
  const { operation, attempts, effect } = facts;
  const { status, headers, text, broken } = response;
  if (failureClass === "ended-reading" && effect === "none") {
    return errorOfNoStatus(new Ended(broken === "abort" ? "abort" : "timeout", true), facts);
  }
  return new UnexpectedResponseError(
    `${operation}: the service responded with ${status}, but ${problem} (${consequences[effect]})`,
    { operation, attempts, effect, response: { status, headers, text } },
  );
}

/** An error from outside of the exchange, together with what earlier attempts may have done. */
function errorOfThrown(error: unknown, facts: CallFacts): CrossBorderError {
  const { operation, attempts, effect, kind } = facts;
  if (error instanceof CrossBorderError) {
    if (effect !== "possible" || error.effect !== "none") return error;
    return outcomeUnknown(`${operation}: an earlier attempt got no response, and the last one failed`, facts, error);
  }
  const what = `${operation}: an unexpected failure inside the client`;
  if (attempts > 0 && kind !== "read") return outcomeUnknown(what, facts, error);
  return new CrossBorderError(what, { code: "unexpected_failure", operation, attempts, cause: error });
}

function outcomeUnknown(what: string, facts: CallFacts, cause: unknown): OutcomeUnknownError {
  const { operation, attempts, request } = facts;
  return new OutcomeUnknownError(`${what}; ${consequences.possible}`, { operation, attempts, request, cause });
}

const consequences: Readonly<Record<Effect, string>> = {
  none: "nothing was done",
  possible: "it may have been done all the same: look for it before doing it again",
  done: "it was done",
};

/** `error` and `message`, or `code` and `message` of a single read; neither is trusted. */
function readErrorBody(
  text: string,
  secrets: readonly string[],
): { readonly code: string | undefined; readonly message: string | undefined } {
  const body = parseJsonObject(text);
  const code = [body.error, body.code].find((value) => isCode(value, secrets));
  if (typeof body.message !== "string") return { code, message: undefined };
  const line = redactText(body.message, secrets)
    .replace(/[\p{Cc}\p{Cf}\s]+/gu, " ")
    .trim();
  return { code, message: line.length > 300 ? `${line.slice(0, 300)}…` : line };
}

function isCode(value: unknown, secrets: readonly string[]): value is string {
  return typeof value === "string" && /^[\w.:-]{1,64}$/.test(value) && redactText(value, secrets) === value;
}

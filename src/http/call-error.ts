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
import { hide } from "../errors/hide.js";
import { isShowable } from "../errors/redact.js";
import { safeCause } from "../errors/safe-cause.js";
import { Ended } from "../timing/deadline.js";
import { parseJsonObject } from "../wire/parse-json-object.js";
import { closingHint, describeProxyRefusal, type WireFailure } from "../wire/wire-failure.js";
import { errorMessageOf, type OperationKind } from "./decision.js";
import { endedReasons, type Failure, type RefusedStatus, type UnusableResponse } from "./failure.js";

export interface CallFacts {
  readonly operation: string;
  readonly kind: OperationKind;
  readonly origin: string;
  /** Whether the service ever responded to this client. */
  readonly hasResponded?: boolean | undefined;
  readonly attempts: number;
  /** What all attempts together may have done. */
  readonly effect: Effect;
  readonly request?: SentRequest | undefined;
  readonly signed?: SignedText | undefined;
  /** The id that the last response with one gave. */
  readonly requestId: string | undefined;
  /** Values that may appear in no message. */
  readonly secrets: readonly string[];
}

/** Turns the failure of a call into an error; nothing else does. */
export function toError(failure: Failure, facts: CallFacts): CrossBorderError {
  const error = errorOf(failure, facts);
  // Errors of tokens and signatures are made where nothing is known of the call.
  for (const name of ["operation", "attempts", "requestId"] as const) {
    if (facts[name] !== undefined && error[name] === undefined) Object.assign(error, { [name]: facts[name] });
  }
  return error;
}

function errorOf(failure: Failure, facts: CallFacts): CrossBorderError {
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
  const reason = cause instanceof Ended ? endedReasons[cause.kind] : showableReason(cause.reason, facts.secrets);
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
  const forGood = cause.proxy === undefined ? "connection_untrusted" : "proxy_refused";
  const code = cause.permanent ? forGood : "connection_failed";
  return new ConnectionError(message, { ...details, code });
}

function describeNoStatus(
  cause: WireFailure | Ended,
  reason: string,
  { operation, origin, attempts, effect, hasResponded }: CallFacts,
): string {
  const unsent = attempts > 1 || effect !== "none" ? "before it was sent again" : "before anything was sent";
  const when = cause.sent ? "after the request may have been sent" : unsent;
  if (cause instanceof Ended) {
    const what = cause.kind === "timeout" ? "the deadline passed" : "the caller's signal ended the call";
    return `${operation}: ${what} ${when}`;
  }
  if (cause.proxy !== undefined) return `${operation}: ${describeProxyRefusal(cause.proxy, origin)}`;
  const what = cause.sent ? `the connection to ${origin} broke` : `no connection to ${origin}`;
  const hint = hasResponded || !cause.sent ? "" : closingHint(origin, reason);
  return `${operation}: ${what} (${reason}), ${when}${hint}`;
}

/** Interface description 0.0.1, "Errors". The message holds nothing that the service wrote: it may write names and account numbers. */
function errorOfStatus({ response, retryAfterMs }: RefusedStatus, facts: CallFacts): ApiError {
  const { operation, attempts, effect, kind, signed } = facts;
  const { status, headers, text } = response;
  const said = readErrorBody(text, facts.secrets);
  const isForeign = status >= 400 && said.serviceMessage === undefined;
  const hint = statusHints.get(status) ?? (isForeign ? ": not in its own form, so a proxy may have" : "");
  return ApiError.of(`${operation}: the service responded with ${status}${hint} (${consequenceOf(effect, kind)})`, {
    operation,
    attempts,
    effect,
    signed: signed && showableSigned(signed, facts.secrets),
    code: `http_${status}`,
    ...said,
    retryAfterMs,
    response: { status, headers, text },
  });
}

/** An id in the path, or a filter in a query that is signed, may be an account: such a path can be read, and is not printed. */
function showableSigned(signed: SignedText, secrets: readonly string[]): SignedText {
  if (isShowable(signed.path, secrets)) return signed;
  const copy = { ...signed };
  hide(copy, "path", signed.path);
  return copy;
}

const statusHints: ReadonlyMap<number, string> = new Map([
  [
    401,
    ": if a renewed token was refused too, check that it is meant for this service (audience), and that the clocks agree",
  ],
  [431, ": the headers are too large, and the access token may be the reason"],
]);

function errorOfUnusable(
  { class: failureClass, response, problem }: UnusableResponse,
  facts: CallFacts,
): CrossBorderError {
  const { operation, attempts, effect, kind } = facts;
  const { status, headers, text, broken } = response;
  if (failureClass === "ended-reading" && effect === "none") {
    return errorOfNoStatus(new Ended(broken === "abort" ? "abort" : "timeout", true), facts);
  }
  // The name of an unknown field is the service's own.
  const said = isShowable(problem, facts.secrets) ? problem : "it is not as described";
  return new UnexpectedResponseError(
    `${operation}: the service responded with ${status}, but ${said} (${consequenceOf(effect, kind)})`,
    { operation, attempts, effect, response: { status, headers, text } },
  );
}

/** An error from outside of the exchange, together with what earlier attempts may have done. */
function errorOfThrown(error: unknown, facts: CallFacts): CrossBorderError {
  const { operation, attempts, effect, kind } = facts;
  if (error instanceof CrossBorderError) {
    // What a signer or a token source of the caller's threw may repeat what it was given.
    if (error.cause instanceof Error && !(error.cause instanceof CrossBorderError)) {
      hide(error, "cause", safeCause(error.cause, facts.secrets));
    }
    if (effect === "none" || error.effect !== "none") return error;
    return outcomeUnknown(`${operation}: an earlier attempt may have been done, and the last one failed`, facts, error);
  }
  const what = `${operation}: an unexpected failure inside the client`;
  const cause = safeCause(error, facts.secrets);
  if (attempts > 0 && kind !== "read") return outcomeUnknown(what, facts, cause);
  return new CrossBorderError(what, { code: "unexpected_failure", operation, attempts, cause });
}

function outcomeUnknown(what: string, facts: CallFacts, cause: unknown): OutcomeUnknownError {
  const { operation, attempts, request = unsent, kind } = facts;
  return new OutcomeUnknownError(`${what}; ${consequenceOf("possible", kind)}`, {
    operation,
    attempts,
    request,
    cause,
  });
}

const unsent: SentRequest = { path: "", body: "" };

function consequenceOf(effect: Effect, kind: OperationKind): string {
  if (kind === "repeatable" && effect !== "none") return "it moves nothing, and may simply be asked for again";
  return consequences[effect];
}

const consequences: Readonly<Record<Effect, string>> = {
  none: "nothing was done",
  possible: "it may have been done all the same: look for it before doing it again",
  done: "it was done",
};

/** `error` and `message`, or `code` and `message` of a single read, word for word. */
function readErrorBody(
  text: string,
  secrets: readonly string[],
): { readonly serviceCode: string | undefined; readonly serviceMessage: string | undefined } {
  const { error, code } = parseJsonObject(text);
  return {
    serviceCode: [error, code].find((value) => isServiceCode(value, secrets)) as string | undefined,
    serviceMessage: errorMessageOf(text)?.slice(0, 4096),
  };
}

function isServiceCode(value: unknown, secrets: readonly string[]): boolean {
  if (typeof value !== "string" || !/^[^\p{Cc}]{1,256}$/u.test(value)) return false;
  // A long number may be an account that the request did not name.
  return !/\d(?:[ .-]?\d){7}/.test(value) && isShowable(value, secrets);
}

/** What a dispatcher or a `fetch` of the caller's gives as a code may be anything. */
export function showableReason(reason: string, secrets: readonly string[]): string {
  return isShowable(reason, secrets) ? reason : "UNKNOWN";
}

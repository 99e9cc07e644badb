import type { AnyOperation } from "../api/operation.js";
import { type CallProblem, callText } from "../core/call-texts.js";
import { Ended } from "../core/deadline.js";
import { describeThrown } from "../core/describe.js";
import {
  AbortedError,
  ApiError,
  ConfigError,
  ConnectionError,
  CrossBorderError,
  type Effect,
  type ErrorDetails,
  OutcomeUnknownError,
  type SentRequest,
  type SignedText,
  TimeoutError,
  UnexpectedResponseError,
} from "../core/errors.js";
import { hide, isShowable } from "../core/redact.js";
import { parseJsonObject } from "../wire/parse-json-object.js";
import { proxyRefusal, type WireFailure } from "../wire/wire-failure.js";
import { errorMessageOf, type OperationKind, worseEffect } from "./decision.js";
import { endedReasons, type Failure, type RefusedStatus, type UnusableResponse } from "./failure.js";

export interface CallFacts {
  readonly operation: Pick<AnyOperation, "name" | "verb" | "method" | "path">;
  readonly kind: OperationKind;
  readonly origin: string;
  readonly basePath: string;
  /** Whether the service ever responded to this client. */
  readonly hasResponded?: boolean | undefined;
  readonly attempts: number;
  /** What all attempts together may have done. */
  readonly effect: Effect;
  /** Whether any byte of any attempt may have left. */
  readonly isSent: boolean;
  readonly request?: SentRequest | undefined;
  readonly signed?: SignedText | undefined;
  /** The id that the last response with one gave. */
  readonly requestId?: string | undefined;
  /** Status of the last response. */
  readonly status?: number | undefined;
  /** Values that may appear in no message. */
  readonly secrets: readonly string[];
}

/** Turns the failure of a call into an error; nothing else does. */
export function toError(failure: Failure, facts: CallFacts): CrossBorderError {
  const error = errorOf(failure, facts);
  const { attempts, requestId, status } = facts;
  const known = { operation: facts.operation.name, attempts, requestId };
  // Errors of tokens and signatures are made where nothing is known of the call.
  for (const name of ["operation", "attempts", "requestId"] as const) {
    if (known[name] !== undefined && error[name] === undefined) Object.assign(error, { [name]: known[name] });
  }
  if (error instanceof OutcomeUnknownError && status !== undefined && error.status === undefined) {
    Object.assign(error, { status });
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

function textOf(problem: CallProblem, facts: CallFacts): string {
  const { operation, kind, origin, hasResponded = false, ...rest } = facts;
  const { name, verb, method, path } = operation;
  return callText(problem, {
    ...rest,
    operation: name,
    verb,
    method,
    url: origin + showablePath(facts),
    hasIds: path.parameters.length > 0,
    isRepeatable: kind === "repeatable",
    hasResponded,
  });
}

/** The path as it was sent, or its template if an id in it may be confidential, as any of a raw request may be. */
function showablePath({ operation: { verb, path }, basePath, request, secrets }: CallFacts): string {
  const [sent = ""] = request?.path.split("?") ?? [];
  const isSafe = verb !== "request" && !accountLike.test(sent.slice(basePath.length)) && isShowable(sent, secrets);
  return isSafe && sent !== "" ? sent : basePath + path.text;
}

const accountLike = /\d(?:[ .-]?\d){7}/;

function errorOfNoStatus(cause: WireFailure | Ended, facts: CallFacts, status?: number): CrossBorderError {
  const { attempts, effect } = facts;
  const reason = cause instanceof Ended ? endedReasons[cause.kind] : showableReason(cause.reason, facts.secrets);
  const operation = facts.operation.name;
  // What undici says of a proxy has its status, and nothing of the request.
  const shown =
    cause.cause === undefined ? Object.assign(new Error(reason), { code: reason }) : describeThrown(cause.cause);
  const details = { operation, attempts, effect, status, cause: shown };
  const text = textOf(problemOf(cause, reason, facts), facts);
  const error = classOfNoStatus(cause, text, details);
  return effect === "none" ? error : outcomeUnknown(text, facts, error);
}

function problemOf(cause: WireFailure | Ended, reason: string, { origin }: CallFacts): CallProblem {
  if (cause instanceof Ended) return { kind: cause.kind };
  if (isProxyRefusal(cause)) return { kind: "proxy", says: proxyRefusal(origin) };
  if (cause.sent) return { kind: "broken", reason };
  return { kind: cause.permanent ? "untrusted" : "unconnected", reason };
}

const isProxyRefusal = ({ reason }: WireFailure): boolean => reason === "PROXY_REFUSED";

function classOfNoStatus(cause: WireFailure | Ended, message: string, details: Partial<ErrorDetails>) {
  if (cause instanceof Ended) {
    return cause.kind === "timeout" ? new TimeoutError(message, details) : new AbortedError(message, details);
  }
  const forGood = isProxyRefusal(cause) ? "proxy_refused" : "connection_untrusted";
  return new ConnectionError(message, { ...details, code: cause.permanent ? forGood : "connection_failed" });
}

/** Interface description 0.0.1, "Errors". Of the service's own text, the message holds only what looks like a code. */
function errorOfStatus(failure: RefusedStatus, facts: CallFacts): ApiError {
  const { response, retryAfterMs } = failure;
  const { attempts, effect, signed, secrets } = facts;
  const { status, headers, text } = response;
  const said = readErrorBody(text, secrets);
  const serviceCode = looksLikeCode(said.serviceCode) ? said.serviceCode : undefined;
  const isForeign = failure.class === "refused-by-another" || failure.class === "throttled-by-another";
  return ApiError.of(textOf({ kind: "status", status, serviceCode, isForeign }, facts), {
    operation: facts.operation.name,
    attempts,
    effect,
    signed: signed && showableSigned(signed, secrets),
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

function errorOfUnusable(failure: UnusableResponse, facts: CallFacts): CrossBorderError {
  const { response, problem } = failure;
  const { attempts, effect, secrets } = facts;
  const { status, headers, text, broken } = response;
  if (failure.class === "ended-reading" && effect === "none") {
    return errorOfNoStatus(new Ended(broken === "abort" ? "abort" : "timeout", true), facts, status);
  }
  // The name of an unknown field is the service's own.
  const said = isShowable(problem, secrets) ? problem : "it is not as described";
  return new UnexpectedResponseError(textOf({ kind: "unusable", status, problem: said }, facts), {
    operation: facts.operation.name,
    attempts,
    effect,
    ...readErrorBody(text, secrets),
    response: { status, headers, text },
  });
}

/** An error from outside of the exchange, together with what earlier attempts may have done. */
function errorOfThrown(error: unknown, facts: CallFacts): CrossBorderError {
  const { operation, attempts, effect, kind, secrets } = facts;
  if (error instanceof ConfigError && attempts > 0) {
    // A `fetch` that gives no response may have sent the request all the same.
    const own = kind === "read" ? "none" : worseEffect(effect, error.effect);
    const { message, cause } = error;
    return new ConfigError(message, { operation: operation.name, attempts, effect: own, cause });
  }
  if (error instanceof CrossBorderError) {
    // What a signer or a token source of the caller's threw may repeat what it was given.
    if (error.cause instanceof Error && !(error.cause instanceof CrossBorderError)) {
      hide(error, "cause", describeThrown(error.cause, secrets));
    }
    if (effect === "none" || error.effect !== "none") return error;
    return outcomeUnknown(textOf({ kind: "earlier" }, facts), facts, error);
  }
  const cause = describeThrown(error, secrets);
  if (attempts > 0 && kind !== "read") {
    return outcomeUnknown(textOf({ kind: "unexpected" }, { ...facts, effect: "possible", isSent: true }), facts, cause);
  }
  return new CrossBorderError(textOf({ kind: "unexpected" }, facts), {
    code: "unexpected_failure",
    operation: operation.name,
    attempts,
    cause,
  });
}

function outcomeUnknown(message: string, { operation, attempts, request = unsent }: CallFacts, cause: unknown) {
  return new OutcomeUnknownError(message, { operation: operation.name, attempts, request, cause });
}

const unsent: SentRequest = { path: "", body: "" };

/** `error` and `message`, or `code` and `message` of a single read, word for word. */
function readErrorBody(text: string, secrets: readonly string[]): Pick<ErrorDetails, "serviceCode" | "serviceMessage"> {
  const { error, code } = parseJsonObject(text);
  return {
    serviceCode: [error, code].find((value) => isServiceCode(value, secrets)) as string | undefined,
    serviceMessage: errorMessageOf(text)?.slice(0, 4096),
  };
}

function isServiceCode(value: unknown, secrets: readonly string[]): boolean {
  if (typeof value !== "string" || !/^[^\p{Cc}]{1,256}$/u.test(value)) return false;
  // A long number may be an account that the request did not name.
  return !accountLike.test(value) && isShowable(value, secrets);
}

/** Only such a code gets into a message: digits may be an account, and several words a name. */
function looksLikeCode(serviceCode: string | undefined): boolean {
  return serviceCode !== undefined && /^[a-z][a-z_.-]{0,63}$/i.test(serviceCode);
}

/** What a dispatcher or a `fetch` of the caller's gives as a code may be anything. */
export function showableReason(reason: string, secrets: readonly string[]): string {
  return isShowable(reason, secrets) ? reason : "UNKNOWN";
}

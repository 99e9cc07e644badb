import type { AnyOperation } from "../api/operation.js";
import { Ended } from "../core/deadline.js";
import { describeThrown, docsPage } from "../core/describe.js";
import {
  AbortedError,
  ApiError,
  ConnectionError,
  CrossBorderError,
  type Effect,
  type ErrorCode,
  type ErrorDetails,
  OutcomeUnknownError,
  type SentRequest,
  type SignedText,
  TimeoutError,
  UnexpectedResponseError,
} from "../core/errors.js";
import { hide, isShowable } from "../core/redact.js";
import { parseJsonObject } from "../wire/response.js";
import type { WireFailure } from "../wire/transport.js";
import { errorMessageOf, type OperationKind } from "./decision.js";
import { endedReasons, type Failure, type NoStatus, type RefusedStatus, type UnusableResponse } from "./read.js";

/** The facts of a call that failed. */
export interface CallFacts {
  readonly operation: Pick<AnyOperation, "name" | "verb" | "method" | "path">;
  readonly kind: OperationKind;
  readonly origin: string;
  readonly basePath: string;
  readonly attempts: number;
  /** Of all attempts together. */
  readonly effect: Effect;
  /** Whether any byte of any attempt may have left. */
  readonly isSent: boolean;
  readonly request: SentRequest;
  readonly signed?: SignedText | undefined;
  /** The id that the last response with one gave. */
  readonly requestId?: string | undefined;
  /** Status of the last response. */
  readonly status?: number | undefined;
  /** Values that may appear in no message. */
  readonly secrets: readonly string[];
}

/** The one place that turns the failure of a call into an error. */
export function toError(failure: Failure, facts: CallFacts): CrossBorderError {
  switch (failure.kind) {
    case "no-status":
      return errorOfNoStatus(failure, facts);
    case "status":
      return errorOfStatus(failure, facts);
    case "unusable":
      return errorOfUnusable(failure, facts);
    case "thrown":
      return errorOfThrown(failure.error, facts);
  }
}

function detailsOf({ operation: { name: operation }, attempts, effect, requestId }: CallFacts) {
  return { operation, attempts, effect, requestId };
}

/** No status arrived, or the call ended before all of the body had arrived. */
function errorOfNoStatus(
  { cause, reason }: Pick<NoStatus, "cause" | "reason">,
  facts: CallFacts,
  status?: number,
): CrossBorderError {
  const { Class = ConnectionError, code, problem, hint } = findingOf(cause, reason, facts);
  const own = Object.assign(new Error(reason), { code: reason });
  const error = new Class(messageOf(facts, problem, hint), {
    ...detailsOf(facts),
    ...(code && { code }),
    status,
    // undici's error about a proxy has its status, and nothing of the request.
    cause: code === "proxy_refused" ? cause.cause : own,
  });
  return facts.effect === "none" ? error : outcomeUnknown(error.message, facts, error);
}

interface Finding {
  /** Default: `ConnectionError`. */
  readonly Class?: typeof TimeoutError | typeof AbortedError;
  readonly code?: ErrorCode;
  readonly problem: string;
  readonly hint?: string;
}

function findingOf(cause: WireFailure | Ended, reason: string, facts: CallFacts): Finding {
  if (cause instanceof Ended) {
    return cause.kind === "timeout"
      ? { Class: TimeoutError, problem: `the deadline (timeoutMs) passed${during(facts)}` }
      : { Class: AbortedError, problem: `your signal ended the call${during(facts)}` };
  }
  if (cause.sent) return { problem: `the connection broke (${reason})${during(facts)}` };
  if (reason === "PROXY_REFUSED") {
    return {
      code: "proxy_refused",
      problem: `the proxy made no connection to ${facts.origin}${after(facts)}`,
      hint: "Check the proxy's address, user, and password, and which addresses it lets through.",
    };
  }
  const problem = `could not connect to ${facts.origin} (${reason})${after(facts)}`;
  if (reason === "ENOTFOUND") {
    return { problem, hint: "Check the host in baseUrl. In a test with MSW or Nock, pass the fetch option." };
  }
  if (!cause.permanent) return { problem };
  const hint = "Check the server's certificate and TLS version. A private CA goes into tls.ca.";
  return { code: "connection_untrusted", problem, hint };
}

/** Interface description 0.0.1, "Errors". The message shows the service's own text only if it looks like a code. */
function errorOfStatus(failure: RefusedStatus, facts: CallFacts): ApiError {
  const { response, retryAfterMs } = failure;
  const { signed, secrets } = facts;
  const { status, headers, text } = response;
  const said = readErrorBody(text, secrets);
  // Digits may be an account, and several words a name.
  const isCode = /^[a-z][a-z_.-]{0,63}$/i.test(said.serviceCode ?? "");
  const phrase = isCode ? said.serviceCode : phrases[status];
  const problem = `${[status, phrase].filter(Boolean).join(" ")} for ${requestOf(facts)}`;
  return ApiError.of(messageOf(facts, problem, statusHint(failure, phrase, facts)), {
    ...detailsOf(facts),
    signed: signed && showableSigned(signed, secrets),
    code: `http_${status}`,
    ...said,
    retryAfterMs,
    response: { status, headers, text },
  });
}

function statusHint(failure: RefusedStatus, phrase = "", { operation }: CallFacts): string | undefined {
  const { status } = failure.response;
  if (status >= 300 && status < 400) return "Redirects aren't followed. Check baseUrl.";
  if (status === 401) return "Check that the token is meant for this service (audience), and that the clocks agree.";
  if (status === 404) {
    const hasIds = operation.path.parameters.length > 0;
    return hasIds ? "There is no such record, or the path in baseUrl is wrong." : "Check the path in baseUrl.";
  }
  if (status === 431) return "The access token may be too large.";
  if (/signature/i.test(phrase)) return `See ${docsPage("invalid-signature.md")}.`;
  const isForeign = failure.class === "refused-by-another" || failure.class === "throttled-by-another";
  return isForeign ? "It isn't the service's own response, so a proxy may have sent it." : undefined;
}

/** An id in the path, or a filter in a signed query, may be an account. You can read such a path, but it isn't printed. */
function showableSigned(signed: SignedText, secrets: readonly string[]): SignedText {
  if (isShowable(signed.path, secrets)) return signed;
  const copy = { ...signed };
  hide(copy, "path", signed.path);
  return copy;
}

function errorOfUnusable(failure: UnusableResponse, facts: CallFacts): CrossBorderError {
  const { response, problem } = failure;
  const { status, headers, text, broken } = response;
  if (failure.class === "ended-reading" && facts.effect === "none") {
    const cause = new Ended(broken === "abort" ? "abort" : "timeout", true);
    return errorOfNoStatus({ cause, reason: endedReasons[cause.kind] }, facts, status);
  }
  return new UnexpectedResponseError(messageOf(facts, `${status} for ${requestOf(facts)}, but ${problem}`), {
    ...detailsOf(facts),
    ...readErrorBody(text, facts.secrets),
    response: { status, headers, text },
  });
}

/** An error from outside of the exchange, together with what earlier attempts may have done. */
function errorOfThrown(error: unknown, facts: CallFacts): CrossBorderError {
  const { attempts, effect, kind, secrets } = facts;
  if (error instanceof CrossBorderError) {
    // Errors of tokens and signatures don't know the call.
    for (const [name, fact] of Object.entries(detailsOf(facts))) {
      if (fact !== undefined && Reflect.get(error, name) === undefined) Object.assign(error, { [name]: fact });
    }
    // The error of your signer or token source may repeat what it was given.
    if (error.cause instanceof Error && !(error.cause instanceof CrossBorderError)) {
      hide(error, "cause", describeThrown(error.cause, secrets));
    }
    if (kind === "read") Object.assign(error, { effect: "none" });
    if (effect === "none" || error.effect !== "none") return error;
    const problem = `an earlier attempt may have succeeded, and the last one failed${during(facts)}`;
    return outcomeUnknown(messageOf(facts, problem), facts, error);
  }
  const cause = describeThrown(error, secrets);
  const isOpen = attempts > 0 && kind !== "read";
  const known: CallFacts = isOpen ? { ...facts, effect: "possible", isSent: true } : facts;
  const message = messageOf(known, `an unexpected error inside the client${during(known)}`);
  if (isOpen) return outcomeUnknown(message, known, cause);
  return new CrossBorderError(message, { ...detailsOf(facts), code: "unexpected_failure", cause });
}

function outcomeUnknown(message: string, facts: CallFacts, cause: unknown): OutcomeUnknownError {
  const { request, status } = facts;
  return new OutcomeUnknownError(message, { ...detailsOf(facts), effect: "possible", status, request, cause });
}

/** `error` and `message`, or `code` and `message` of a single read, word for word. */
function readErrorBody(text: string, secrets: readonly string[]): Pick<ErrorDetails, "serviceCode" | "serviceMessage"> {
  const { error, code } = parseJsonObject(text);
  const serviceCode = [error, code].find((value): value is string => isServiceCode(value, secrets));
  return { serviceCode, serviceMessage: errorMessageOf(text)?.slice(0, 4096) };
}

function isServiceCode(value: unknown, secrets: readonly string[]): boolean {
  if (typeof value !== "string" || !/^[^\p{Cc}]{1,256}$/u.test(value)) return false;
  return !accountLike.test(value) && isShowable(value, secrets);
}

/** A long number may be an account that the request did not name. */
const accountLike = /\d(?:[ .-]?\d){7}/;

/** The failure, the check, and the effect, each as a sentence. */
function messageOf(facts: CallFacts, problem: string, hint?: string): string {
  return [`${facts.operation.name} failed: ${problem}.`, hint, consequenceOf(facts)].filter(Boolean).join(" ");
}

function after({ attempts }: CallFacts): string {
  return attempts > 1 ? ` after ${attempts} attempts` : "";
}

function requestOf(facts: CallFacts): string {
  return `${facts.operation.method} ${facts.origin}${showablePath(facts)}${after(facts)}`;
}

function during(facts: CallFacts): string {
  return facts.isSent ? ` during ${requestOf(facts)}` : after(facts);
}

/** The path as it was sent, or its template if an id in it may be confidential, as any of a raw request may be. */
function showablePath({ operation: { verb, path }, basePath, request, secrets }: CallFacts): string {
  const [sent = ""] = request.path.split("?");
  const isSafe = verb !== "request" && !accountLike.test(sent.slice(basePath.length)) && isShowable(sent, secrets);
  return isSafe ? sent : basePath + path.text;
}

/** The effect as a sentence. A read never has one. */
function consequenceOf({ operation: { name, verb }, kind, effect, isSent }: CallFacts): string | undefined {
  if (!isSent && effect === "none") return "Nothing was sent.";
  if (verb === "get" || verb === "list") return undefined;
  return consequences[kind === "repeatable" ? kind : name === "payments.create" ? "payment" : verb][effect];
}

const noMoney = "It moves no money, so it's safe to call again.";
const consequences = {
  payment: {
    none: "The payment was not made.",
    possible: "The payment may have been made. Look for it before you pay again or refund.",
    done: "The payment was made.",
  },
  create: {
    none: "The record was not created.",
    possible: "The record may have been created. Look for it before you create it again.",
    done: "The record was created.",
  },
  repeatable: { none: "Nothing was created.", possible: noMoney, done: noMoney },
  update: {
    none: "The record was not updated.",
    possible: "The record may have been updated. It's safe to call again.",
    done: "The record was updated.",
  },
  request: {
    none: "The request was not carried out.",
    possible: "The request may have been carried out. Check that before you send it again.",
    done: "The request was carried out.",
  },
} as const satisfies Readonly<Record<string, Readonly<Record<Effect, string>>>>;

const phrases: Readonly<Record<number, string>> = {
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  409: "Conflict",
  422: "Unprocessable Content",
  429: "Too Many Requests",
  500: "Internal Server Error",
  502: "Bad Gateway",
  503: "Service Unavailable",
  504: "Gateway Timeout",
};

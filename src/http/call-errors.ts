import {
  AbortedError,
  ApiError,
  ConnectionError,
  type CrossBorderError,
  type Effect,
  type ErrorResponse,
  OutcomeUnknownError,
  type SentRequest,
  type SignedText,
  TimeoutError,
  UnexpectedResponseError,
} from "../errors/errors.js";
import { redactText } from "../errors/redact.js";
import { parseObject } from "../wire/parse-json-object.js";
import type { BrokenBody, WireResponse } from "../wire/transport.js";
import type { WireFailure } from "../wire/wire-failure.js";

/** What every error of a call tells, whatever went wrong. */
export interface CallFacts {
  readonly operation: string;
  readonly origin: string;
  readonly attempts: number;
  readonly effect: Effect;
  readonly request: SentRequest;
  readonly signed: SignedText | undefined;
  /** Values of the request that may stand in no message. */
  readonly secrets: readonly string[];
}

/** The error of an exchange that brought no status. */
export function errorOfFailure(failure: WireFailure, facts: CallFacts): CrossBorderError {
  const { operation, attempts, effect } = facts;
  const details = { operation, attempts, cause: codedCause(failure.reason) };
  const what = failureText(failure, facts);
  if (effect !== "none") return outcomeUnknown(what, facts, failureError(failure, what, { ...details, effect }));
  return failureError(failure, `${what}; nothing was done`, { ...details, effect });
}

/** An outcome that nobody can tell from here; `cause` says how it came to that. */
export function outcomeUnknown(what: string, facts: CallFacts, cause: unknown): OutcomeUnknownError {
  const { operation, attempts, request } = facts;
  const advice = "it may have been done all the same: look for it before doing it again";
  return new OutcomeUnknownError(`${what}; ${advice}`, { operation, attempts, request, cause });
}

/** The error of a response other than 2xx (description: "Errors"). */
export function errorOfResponse(response: WireResponse, retryAfterMs: number | undefined, facts: CallFacts): ApiError {
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
    response: toErrorResponse(response),
  });
}

/** The error of a 2xx that can't be used. */
export function errorOfUnusable(response: WireResponse, problem: string, facts: CallFacts): UnexpectedResponseError {
  const { operation, attempts, effect } = facts;
  return new UnexpectedResponseError(
    `${operation}: the service responded with ${response.status}, but ${problem} (${consequences[effect]})`,
    { operation, attempts, effect, response: toErrorResponse(response) },
  );
}

export const brokenTexts: Readonly<Record<BrokenBody, string>> = {
  "cut-short": "the response broke off",
  "too-large": "the response is larger than maxResponseBytes allows",
  "not-utf8": "the response is not valid UTF-8",
  encoded: "the response is compressed, which was not asked for",
  connection: "the response broke off",
  timeout: "the deadline passed before all of it had come",
  abort: "the caller's signal ended the call before all of it had come",
};

const consequences: Readonly<Record<Effect, string>> = {
  none: "nothing was done",
  possible: "it may have been done all the same: look for it before doing it again",
  done: "it was done",
};

interface FailureDetails {
  readonly operation: string;
  readonly attempts: number;
  readonly effect: Effect;
  readonly cause: unknown;
}

function failureError(failure: WireFailure, message: string, details: FailureDetails): CrossBorderError {
  if (failure.kind === "timeout") return new TimeoutError(message, details);
  if (failure.kind === "abort") return new AbortedError(message, details);
  const code = failure.permanent ? "connection_untrusted" : "connection_failed";
  return new ConnectionError(message, { ...details, code });
}

function failureText(failure: WireFailure, { operation, origin, attempts, effect }: CallFacts): string {
  const repeated = attempts > 1 || effect !== "none";
  const unsent = repeated ? "before it was sent again" : "before anything was sent";
  const when = failure.sent ? "after the request may have left" : unsent;
  if (failure.kind === "timeout") return `${operation}: the deadline passed ${when}`;
  if (failure.kind === "abort") return `${operation}: the caller's signal ended the call ${when}`;
  const what = failure.sent ? "the connection broke" : "there was no connection";
  return `${operation}: ${what} with ${origin} (${failure.reason}), ${when}`;
}

function codedCause(reason: string): Error {
  return Object.assign(new Error(reason), { code: reason });
}

/** `error` and `message`, or `code` and `message` of a single read; neither is taken on trust. */
function readErrorBody(
  text: string,
  secrets: readonly string[],
): { readonly code: string | undefined; readonly message: string | undefined } {
  const body = parseObject(text);
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

function toErrorResponse({ status, headers, text }: WireResponse): ErrorResponse {
  return { status, headers, text };
}

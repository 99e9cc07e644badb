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
} from "../errors.js";
import { parseObject } from "../parse-object.js";
import { redactText } from "../redact.js";
import type { WireFailure } from "../wire-failure.js";
import type { BrokenBody, WireAnswer } from "./transport.js";

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

/** The error of an answer other than 2xx (description: "Errors"). */
export function errorOfAnswer(answer: WireAnswer, retryAfterMs: number | undefined, facts: CallFacts): ApiError {
  const { operation, attempts, effect, signed } = facts;
  const { code, message } = readErrorBody(answer.text, facts.secrets);
  const said = message === undefined ? "" : `: ${message}`;
  return ApiError.of(`${operation}: the service answered ${answer.status}${said} (${consequences[effect]})`, {
    operation,
    attempts,
    effect,
    signed,
    code: code ?? `http_${answer.status}`,
    serviceMessage: message,
    retryAfterMs,
    response: toErrorResponse(answer),
  });
}

/** The error of a 2xx that can't be used. */
export function errorOfUnusable(answer: WireAnswer, problem: string, facts: CallFacts): UnexpectedResponseError {
  const { operation, attempts, effect } = facts;
  return new UnexpectedResponseError(
    `${operation}: the service answered ${answer.status}, but ${problem} (${consequences[effect]})`,
    { operation, attempts, effect, response: toErrorResponse(answer) },
  );
}

export const brokenTexts: Readonly<Record<BrokenBody, string>> = {
  "cut-short": "the answer broke off",
  "too-large": "the answer is larger than maxResponseBytes allows",
  "not-utf8": "the answer is not valid UTF-8",
  encoded: "the answer is compressed, which was not asked for",
  connection: "the answer broke off",
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
  const code = failure.permanent ? "connection_refused_for_good" : "connection_failed";
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

function toErrorResponse({ status, headers, text }: WireAnswer): ErrorResponse {
  return { status, headers, text };
}

import { describeThrown, docsPage } from "../core/describe.js";
import {
  AbortedError,
  ApiError,
  ConnectionError,
  CrossBorderError,
  type ErrorCode,
  type ErrorDetails,
  OutcomeUnknownError,
  type SignedText,
  TimeoutError,
  UnexpectedResponseError,
} from "../core/errors.js";
import { hide } from "../core/redact.js";
import { parseJsonObject } from "../wire/response.js";
import { errorMessageOf, type FailureClass, worseEffect } from "./decision.js";
import type { Failure, Thrown } from "./read.js";
import type { CallReport } from "./report.js";

const unconnected = "could not connect ({reason})";

/** Failures without a response, by reason or by class: the code, what happened, and what to check. */
const unanswered: Readonly<Record<string, readonly [code: ErrorCode, what: string, check?: string]>> = {
  timeout: ["timeout", "the deadline (timeoutMs) passed"],
  abort: ["aborted", "your signal ended the call"],
  PROXY_REFUSED: [
    "proxy_refused",
    "the proxy made no connection",
    "Check the proxy's address, user, and password, and which addresses it lets through.",
  ],
  "unknown-host": [
    "connection_failed",
    unconnected,
    "Check the host in baseUrl. In a test with MSW or Nock, pass the fetch option.",
  ],
  "unsent-for-good": [
    "connection_untrusted",
    unconnected,
    "Check the server's certificate and TLS version. A private CA goes into tls.ca.",
  ],
  "maybe-sent": ["connection_failed", "the connection broke ({reason})"],
};

const foreign = "It isn't the service's own response. Check the path in baseUrl, and the proxies on the way.";

/** What to check after a status. */
const checks: Partial<Readonly<Record<FailureClass, string>>> = {
  redirect: "Redirects aren't followed. Check baseUrl.",
  unauthorized: "Check that the token is meant for this service (audience), and that the clocks agree.",
  "refused-by-another": foreign,
  "throttled-by-another": foreign,
};

/** The one place that turns the failure of a call into an error. */
export function toError(failure: Failure | Thrown, call: CallReport, signed?: SignedText): CrossBorderError {
  if ("error" in failure) return errorOfThrown(failure.error, call);
  const { class: kind, response, problem, retryAfterMs } = failure;
  if (response === undefined || (kind === "ended-reading" && call.effect === "none"))
    return unansweredError(failure, call);
  const { status } = response;
  const said = readErrorBody(response.text, call);
  const details = { ...detailsOf(call), ...said, response };
  if (problem !== undefined) return new UnexpectedResponseError(messageOf(call, `${status}`, problem), details);
  // Digits may be an account, and several words a name.
  const { serviceCode = "" } = said;
  const phrase = /^[a-z][a-z_.-]{0,63}$/i.test(serviceCode) ? ` ${serviceCode}` : "";
  const check = /signature/i.test(phrase) ? `See ${docsPage("invalid-signature.md")}.` : checks[kind];
  // An id in the path, or a filter in a signed query, may be an account. You can read such a path, but it isn't printed.
  if (signed !== undefined && !call.shows(signed.path)) hide(signed, "path", signed.path);
  return ApiError.of(messageOf(call, `${status}${phrase}`, check), {
    ...details,
    code: `http_${status}`,
    retryAfterMs,
    signed,
  });
}

function detailsOf(call: CallReport) {
  const { operation, attempts, effect } = call;
  return { operation: operation.name, attempts, effect, ...call.requestId() };
}

/** No status arrived, or the call ended before all of the body had arrived. */
function unansweredError({ class: kind, reason, response, cause }: Failure, call: CallReport): CrossBorderError {
  const [code, what, check] = unanswered[reason] ?? unanswered[kind] ?? ["connection_failed", unconnected];
  const Class = code === "timeout" ? TimeoutError : code === "aborted" ? AbortedError : ConnectionError;
  const error = new Class(messageOf(call, what.replace("{reason}", reason), check), {
    ...detailsOf(call),
    code,
    status: response?.status,
    cause: code === "proxy_refused" ? cause : Object.assign(new Error(reason), { code: reason }),
  });
  return unlessLost(error, call);
}

/** An error from outside of the exchange, together with what earlier attempts may have done. */
function errorOfThrown(thrown: unknown, call: CallReport): CrossBorderError {
  if (!(thrown instanceof CrossBorderError)) {
    call.isSent = call.attempts > 0;
    if (call.isSent && call.kind !== "read") call.effect = worseEffect(call.effect, "possible");
    const message = messageOf(call, "an unexpected error inside the client");
    const cause = describeThrown(thrown, call.secrets());
    return unlessLost(new CrossBorderError(message, { ...detailsOf(call), code: "unexpected_failure", cause }), call);
  }
  // Errors of tokens and signatures don't know the call.
  Object.assign(thrown, { ...detailsOf(call), ...thrown, ...(call.kind === "read" && { effect: "none" }) });
  // The error of your signer or token source may repeat what it was given.
  const { cause, effect } = thrown;
  if (cause instanceof Error && !(cause instanceof CrossBorderError)) {
    hide(thrown, "cause", describeThrown(cause, call.secrets()));
  }
  if (effect !== "none") return thrown;
  return unlessLost(thrown, call, messageOf(call, "an earlier attempt may have succeeded, and the last one failed"));
}

/** The error, or an unknown outcome because of it. */
function unlessLost(error: CrossBorderError, call: CallReport, message = error.message): CrossBorderError {
  if (call.effect === "none") return error;
  const { request, received, signature } = call;
  const sent = { path: request.path, body: request.text, ...(signature !== undefined && { signature }) };
  const details = { ...detailsOf(call), effect: "possible", status: received?.status, cause: error } as const;
  return new OutcomeUnknownError(message, { ...details, request: sent });
}

/** `error` and `message`, or `code` and `message` of a single read, word for word. */
function readErrorBody(text: string, call: CallReport): Pick<ErrorDetails, "serviceCode" | "serviceMessage"> {
  const { error, code } = parseJsonObject(text);
  const isShown = (value: string) => /^[^\p{Cc}]{1,256}$/u.test(value) && !accountLike.test(value) && call.shows(value);
  const serviceCode = [error, code].find((value): value is string => typeof value === "string" && isShown(value));
  return { serviceCode, serviceMessage: errorMessageOf(text)?.slice(0, 4096) };
}

/** A long number may be an account that the request did not name. */
const accountLike = /\d(?:[ .-]?\d){7}/;

/** What failed, what to check, and what was done, each as a sentence. */
function messageOf(call: CallReport, what: string, check?: string): string {
  const { client, operation, attempts } = call;
  // Its template, since an id in the path may be confidential.
  const url = client.origin + client.basePath + operation.path.text;
  const after = attempts > 1 ? ` after ${attempts} attempts` : "";
  const failure = `${operation.name} failed: ${what} for ${operation.method} ${url}${after}.`;
  return [failure, check, consequenceOf(call)].filter(Boolean).join(" ");
}

/** The effect as a sentence. A read never has one. */
function consequenceOf({ operation: { name, verb }, kind, effect, isSent }: CallReport): string | undefined {
  if (!isSent && effect === "none") return "Nothing was sent.";
  if (kind === "read") return undefined;
  const row = kind === "repeatable" ? kind : name === "payments.create" ? "payment" : verb;
  const [subject, done, advice] = consequences[row] ?? [];
  if (effect === "possible") return `The ${subject} may have been ${done}. ${advice}`;
  return `The ${subject} was ${effect === "none" ? "not " : ""}${done}.`;
}

const consequences: Readonly<Record<string, readonly [subject: string, done: string, advice: string]>> = {
  payment: ["payment", "made", "Look for it before you pay again or refund."],
  create: ["record", "created", "Look for it before you create it again."],
  repeatable: ["record", "created", "It moves no money, so it's safe to call again."],
  update: ["record", "updated", "It's safe to call again."],
  request: ["request", "carried out", "Check that before you send it again."],
};

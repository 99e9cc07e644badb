import { CrossBorderError } from "../core/errors.js";
import type { MismatchEvent, RetryEvent, SuccessEvent } from "./client-events.js";
import type { FlowEvent } from "./flow-event.js";
import type { EventName, Reported } from "./reporter.js";

export type LogLevel = "debug" | "warn" | "error";

/** A line of a log. The fields are named as OpenTelemetry names them, and as `cross_border.…` where it has no name. */
export interface LogLine {
  readonly message: string;
  readonly fields: Readonly<Record<string, string | number | boolean>>;
}

export type LoggedName = Exclude<EventName, "decision" | "journal">;

type Fields = Readonly<Record<string, string | number | boolean | undefined>>;

export function levelOf<Name extends LoggedName>(name: Name, event: Reported[Name]): LogLevel {
  return levels[name](event);
}

export function toLogLine<Name extends LoggedName>(name: Name, event: Reported[Name]): LogLine {
  return lines[name](event);
}

const levels: { readonly [Name in LoggedName]: (event: Reported[Name]) => LogLevel } = {
  response: () => "debug",
  success: () => "debug",
  failure: ({ effect }) => failureLevels[effect],
  retry: () => "warn",
  mismatch: () => "warn",
  token: () => "debug",
  flow: (step) => stepLevel(step),
  error: () => "warn",
};

const lines: { readonly [Name in LoggedName]: (event: Reported[Name]) => LogLine } = {
  response: (event) => line(`${event.operation}: ${event.status}`, callFields(event)),
  success: (event) => line(`${event.operation}: ${event.status}`, callFields(event)),
  failure: (event) =>
    line(`${event.operation}: ${event.code}, ${failureTexts[event.effect]}`, {
      // Where nothing was sent, the status is that of the token endpoint.
      ...callFields(event.attempts === 0 ? { ...event, status: undefined } : event),
      "error.type": event.code,
      "cross_border.effect": event.effect,
    }),
  retry: ({ operation, attempt, reason, delayMs }: RetryEvent) =>
    line(`${operation}: ${reason}, another attempt follows`, {
      "cross_border.operation": operation,
      "error.type": reason,
      "http.request.resend_count": attempt,
      "cross_border.delay_ms": delayMs,
    }),
  mismatch: ({ operation, field, expected, found }: MismatchEvent) =>
    line(`${operation}: ${field} of the response is not as described`, {
      "cross_border.operation": operation,
      "cross_border.field": field,
      "cross_border.expected": expected,
      "cross_border.found": found,
    }),
  token: ({ grant, expiresInMs, shared }) =>
    line("an access token was obtained", {
      "cross_border.grant": grant,
      "cross_border.expires_in_ms": expiresInMs,
      "cross_border.shared": shared,
    }),
  flow: (step) =>
    line(`a flow is ${step.to}`, {
      "cross_border.flow.key": step.key,
      "cross_border.flow.from": step.from,
      "cross_border.flow.to": step.to,
      "http.response.status_code": step.status,
      "cross_border.service_code": step.serviceCode,
      "error.type": step.code,
      "cross_border.effect": step.effect,
      "cross_border.duration_ms": step.durationMs,
    }),
  error: (error) =>
    line("the work on flows had a failure, and goes on", {
      // OpenTelemetry's word for a type that nobody knows.
      "error.type": error instanceof CrossBorderError ? error.code : "_OTHER",
    }),
};

/** A call that did nothing is its caller's affair; of one whose outcome is unknown somebody has to know. */
const failureLevels = { none: "debug", done: "warn", possible: "error" } as const;

const failureTexts = {
  none: "nothing was done",
  done: "it was done, but its response can't be used",
  possible: "it may have been done all the same",
} as const;

/** A refusal ends a payment somebody wanted, and the flow may have no caller any more to whom its outcome says so. */
function stepLevel({ from, to, effect }: FlowEvent): LogLevel {
  const isOpen = effect !== undefined;
  if (to !== from && (to === "held" || (to === "unknown" && isOpen))) return "error";
  return isOpen || to === "rejected" ? "warn" : "debug";
}

type CallEvent = Pick<SuccessEvent, "operation" | "durationMs"> & {
  readonly [Name in "method" | "path" | "status" | "requestId" | "attempts"]?: SuccessEvent[Name] | undefined;
};

function callFields({ operation, method, path, status, attempts = 1, durationMs, requestId }: CallEvent): Fields {
  return {
    "cross_border.operation": operation,
    "http.request.method": method,
    "url.template": path,
    "http.response.status_code": status,
    "http.request.resend_count": attempts > 1 ? attempts - 1 : undefined,
    "cross_border.duration_ms": durationMs,
    "cross_border.request_id": requestId,
  };
}

function line(message: string, given: Fields): LogLine {
  const fields: Record<string, string | number | boolean> = {};
  for (const name of Object.keys(given)) {
    const value = given[name];
    if (value !== undefined) fields[name] = value;
  }
  return { message, fields };
}

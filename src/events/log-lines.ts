import { ConfigError, CrossBorderError } from "../core/errors.js";
import type { FlowEvent, MismatchEvent, RetryEvent, SuccessEvent } from "./events.js";
import type { EventName, Listener, Reported } from "./reporter.js";

/**
 * A logger: pino, bunyan, winston, consola, `console`, or an object of your own with these three methods.
 *
 * A logger that also has a method `log`, as `console`, winston and consola do, is called as `(message, fields)`; any other, as pino and
 * bunyan do, as `(fields, message)`.
 */
export interface Logger {
  debug(one: unknown, other: unknown): unknown;
  warn(one: unknown, other: unknown): unknown;
  error(one: unknown, other: unknown): unknown;
}

const levels = ["debug", "warn", "error"] as const;

type LogLevel = (typeof levels)[number];

export function isLogger(value: unknown): value is Logger {
  return levels.every((level) => hasMethod(value, level));
}

function hasMethod(value: unknown, name: string): boolean {
  return typeof Reflect.get(Object(value), name) === "function";
}

/** Writes a line for each event that is worth one. */
export function logListener(logger: Logger): Listener {
  const isMessageFirst = hasMethod(logger, "log");
  const write =
    <Name extends LoggedName>(name: Name) =>
    (event: Reported[Name]): unknown => {
      const [level, message, given] = lines[name](event);
      const fields = Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));
      // Each time the method that is there now: pino replaces its methods when its level is changed.
      return isMessageFirst ? logger[level](message, fields) : logger[level](fields, message);
    };
  return {
    success: write("success"),
    failure: write("failure"),
    retry: write("retry"),
    mismatch: write("mismatch"),
    token: write("token"),
    flow: write("flow"),
    error: write("error"),
  };
}

/**
 * The logger of a client that was given none: with `CROSS_BORDER_LOG` set to `debug`, `info`, `warn`, or `error`, lines of that level
 * and above go to stderr. If it is unset, empty, or `off`, there is none, and in browsers it can't be set.
 *
 * @throws {ConfigError} for any other value.
 */
export function defaultLogger(): Logger | undefined {
  const level: unknown = Reflect.get(globalThis, "process")?.env?.CROSS_BORDER_LOG;
  if (level === undefined || level === "" || level === "off") return undefined;
  // No event is of the level `info`.
  const lowest = levels.findIndex((name) => name === (level === "info" ? "warn" : level));
  if (lowest < 0) throw new ConfigError("CROSS_BORDER_LOG must be debug, info, warn, error, or off");
  const writeAt = (name: LogLevel) => (fields: unknown, message: unknown) => {
    // biome-ignore lint/suspicious/noConsole: whoever sets the variable asks for these lines
    if (levels.indexOf(name) >= lowest) console.error(`cross-border-payments ${name}: ${message}`, fields);
  };
  return { debug: writeAt("debug"), warn: writeAt("warn"), error: writeAt("error") };
}

type LoggedName = Exclude<EventName, "response" | "decision" | "journal">;

type Fields = Readonly<Record<string, string | number | boolean | undefined>>;

/** The fields are named as OpenTelemetry names them, and as `cross_border.…` if it has no name. */
const lines: {
  readonly [Name in LoggedName]: (event: Reported[Name]) => readonly [level: LogLevel, message: string, fields: Fields];
} = {
  success: (event) => ["debug", `${event.operation}: ${event.status}`, callFields(event)],
  failure: (event) => [
    failureLevels[event.effect],
    `${event.operation}: ${event.code}, ${failureTexts[event.effect]}`,
    {
      // If nothing was sent, the status is that of the token endpoint.
      ...callFields(event.attempts === 0 ? { ...event, status: undefined } : event),
      "error.type": event.code,
      "cross_border.effect": event.effect,
    },
  ],
  retry: ({ operation, attempt, reason, delayMs }: RetryEvent) => [
    "warn",
    `${operation}: ${reason}, another attempt follows`,
    {
      "cross_border.operation": operation,
      "error.type": reason,
      "http.request.resend_count": attempt,
      "cross_border.delay_ms": delayMs,
    },
  ],
  mismatch: ({ operation, field, expected, found }: MismatchEvent) => [
    "warn",
    `${operation}: ${field} of the response is not as described`,
    {
      "cross_border.operation": operation,
      "cross_border.field": field,
      "cross_border.expected": expected,
      "cross_border.found": found,
    },
  ],
  token: ({ grant, expiresInMs, shared }) => [
    "debug",
    "an access token was obtained",
    { "cross_border.grant": grant, "cross_border.expires_in_ms": expiresInMs, "cross_border.shared": shared },
  ],
  flow: (step) => [
    stepLevel(step),
    `a flow is ${step.to}`,
    {
      "cross_border.flow.key": step.key,
      "cross_border.flow.from": step.from,
      "cross_border.flow.to": step.to,
      "http.response.status_code": step.status,
      "cross_border.service_code": step.serviceCode,
      "error.type": step.code,
      "cross_border.effect": step.effect,
      "cross_border.duration_ms": step.durationMs,
    },
  ],
  error: (error) => [
    "warn",
    "the work on flows had a failure, and continues",
    // OpenTelemetry's word for a type that nobody knows.
    { "error.type": error instanceof CrossBorderError ? error.code : "_OTHER" },
  ],
};

/** A call that did nothing is its caller's affair; of one whose outcome is unknown somebody has to know. */
const failureLevels = { none: "debug", done: "warn", possible: "error" } as const;

const failureTexts = {
  none: "nothing was done",
  done: "it was done, but its response can't be used",
  possible: "it may have been done",
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

import { ConfigError, CrossBorderError } from "../core/errors.js";
import { hasMethods } from "../core/parse.js";
import type { FlowEvent } from "./events.js";
import type { EventName, Listener, Reported } from "./reporter.js";

/**
 * A logger, such as pino, bunyan, winston, consola, `console`, or an object of your own with these three methods.
 *
 * A logger that also has a method `log`, such as `console`, winston and consola, is called as `(message, fields)`. Any other, such as
 * pino and bunyan, is called as `(fields, message)`.
 */
export interface Logger {
  debug(one: unknown, other: unknown): unknown;
  warn(one: unknown, other: unknown): unknown;
  error(one: unknown, other: unknown): unknown;
}

const levels = ["debug", "warn", "error"] as const;

type LogLevel = (typeof levels)[number];

export function isLogger(value: unknown): value is Logger {
  return hasMethods(value, ...levels);
}

/** Writes a line for each event that is worth one. */
export function logListener(logger: Logger): Listener {
  const isMessageFirst = hasMethods(logger, "log");
  const write = (name: LoggedName) => (event: never) => {
    const [level, message] = lines[name](event);
    const fields = name === "error" ? errorFields(event) : fieldsOf(event);
    // Looked up each time, since pino replaces its methods when its level is changed.
    return isMessageFirst ? logger[level](message, fields) : logger[level](fields, message);
  };
  return Object.fromEntries(Object.keys(lines).map((name) => [name, write(name as LoggedName)]));
}

/**
 * The logger of a client that was given none. With `CROSS_BORDER_LOG` set to `debug`, `info`, `warn`, or `error`, lines of that level
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
    // biome-ignore lint/suspicious/noConsole: the variable asks for these lines
    if (levels.indexOf(name) >= lowest) console.error(`cross-border-payments ${name}: ${message}`, fields);
  };
  return { debug: writeAt("debug"), warn: writeAt("warn"), error: writeAt("error") };
}

type LoggedName = Exclude<EventName, "response" | "decision" | "journal">;

const lines: {
  readonly [Name in LoggedName]: (event: Reported[Name]) => readonly [level: LogLevel, message: string];
} = {
  success: ({ operation, status }) => ["debug", `${operation}: ${status}`],
  failure({ operation, code, effect }) {
    const [level, text] = failures[effect];
    return [level, `${operation}: ${code}, ${text}`];
  },
  retry: ({ operation, reason }) => ["warn", `${operation}: ${reason}, another attempt follows`],
  mismatch: ({ operation, field }) => ["warn", `${operation}: ${field} of the response is not as described`],
  token: () => ["debug", "an access token was obtained"],
  flow: (step) => [stepLevel(step), `a flow is ${step.to}`],
  error: () => ["warn", "the work on flows had a failure, and continues"],
};

/** The names of properties in a line are OpenTelemetry's, or else begin with `cross_border.`. */
const fieldNames: Readonly<Record<string, string>> = {
  method: "http.request.method",
  path: "url.template",
  status: "http.response.status_code",
  attempt: "http.request.resend_count",
  code: "error.type",
  reason: "error.type",
  key: "cross_border.flow.key",
  from: "cross_border.flow.from",
  to: "cross_border.flow.to",
};

/** An error of the bank's functions may hold anything. OpenTelemetry's word for an unknown type is `_OTHER`. */
function errorFields(error: unknown): Record<string, unknown> {
  return { "error.type": error instanceof CrossBorderError ? error.code : "_OTHER" };
}

function fieldsOf(event: unknown): Record<string, unknown> {
  const { attempts = 1, ...given } = event as Readonly<Record<string, unknown>>;
  const fields: Record<string, unknown> = {};
  for (const [name, value] of Object.entries(given)) {
    const snake = name.replace(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
    if (value !== undefined) fields[fieldNames[name] ?? `cross_border.${snake}`] = value;
  }
  if (Number(attempts) > 1) fields["http.request.resend_count"] = Number(attempts) - 1;
  // If nothing was sent, the status is that of the token endpoint.
  if (attempts === 0) delete fields["http.response.status_code"];
  return fields;
}

/** The caller deals with a call that did nothing. An operator must know of an unknown outcome. */
const failures = {
  none: ["debug", "nothing was done"],
  done: ["warn", "it was done, but its response can't be used"],
  possible: ["error", "it may have been done"],
} as const;

/** A refusal ends a payment, and the flow may have no caller any more that sees its outcome. */
function stepLevel({ from, to, effect }: FlowEvent): LogLevel {
  const isOpen = effect !== undefined;
  if (to !== from && (to === "held" || (to === "unknown" && isOpen))) return "error";
  return isOpen || to === "rejected" ? "warn" : "debug";
}

import { ConfigError } from "../core/errors.js";
import { type LoggedName, type LogLevel, levelOf, toLogLine } from "./log-lines.js";
import type { Listener, Reported } from "./reporter.js";

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

const levels = ["debug", "warn", "error"] as const satisfies readonly LogLevel[];

export function isLogger(value: unknown): value is Logger {
  if ((typeof value !== "object" && typeof value !== "function") || value === null) return false;
  return levels.every((level) => hasMethod(value, level));
}

/** Writes a line for each event that is worth one. */
export function logListener(logger: Logger): Listener {
  const isMessageFirst = hasMethod(logger, "log");
  const knowsLevels = hasMethod(logger, "isLevelEnabled");
  const write =
    <Name extends LoggedName>(name: Name) =>
    (event: Reported[Name]): unknown => {
      const level = levelOf(name, event);
      if (knowsLevels && Reflect.apply(Reflect.get(logger, "isLevelEnabled"), logger, [level]) === false)
        return undefined;
      const { message, fields } = toLogLine(name, event);
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
  const least = levels.findIndex((name) => name === (level === "info" ? "warn" : level));
  if (least < 0) throw new ConfigError("CROSS_BORDER_LOG must be debug, info, warn, error, or off");
  const writeAt = (name: LogLevel) => (fields: unknown, message: unknown) => {
    // biome-ignore lint/suspicious/noConsole: whoever sets the variable asks for these lines
    if (levels.indexOf(name) >= least) console.error(`cross-border-payments ${name}: ${message}`, fields);
  };
  return { debug: writeAt("debug"), warn: writeAt("warn"), error: writeAt("error") };
}

function hasMethod(logger: object, name: string): boolean {
  return typeof Reflect.get(logger, name) === "function";
}

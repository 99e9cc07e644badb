import { CrossBorderError } from "./errors.js";

/**
 * Takes the stack of an error again, so that it begins where `from` was called, and shows the caller's line near its top. Each of our own
 * frames would hide one of the caller's. Engines without `captureStackTrace` keep the stack as it is.
 *
 * @param from one of the functions that are running. Default: this one.
 */
export function traceFrom<Thrown>(thrown: Thrown, from: (...args: never) => unknown = traceFrom): Thrown {
  if (thrown instanceof CrossBorderError) Error.captureStackTrace?.(thrown, from);
  return thrown;
}

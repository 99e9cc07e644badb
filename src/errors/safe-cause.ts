import { hide } from "./hide.js";
import { isShowable, redactText } from "./redact.js";

/**
 * An error that may be shown, made of whatever was thrown: its name, its code, its redacted message and its stack frames. Nothing
 * else is taken over, since foreign errors carry requests, tokens and responses in their other properties. Never throws.
 *
 * @param values that may not appear in it.
 */
export function safeCause(thrown: unknown, values: readonly string[] = []): Error {
  try {
    return isError(thrown)
      ? copyOf(thrown, values)
      : new Error(`a value that is not an Error was thrown (${typeOf(thrown)})`);
  } catch {
    return new Error("a value that can't be read was thrown");
  }
}

/** Errors of another realm, such as those of Node in a test of Jest's, are no instances of this one's `Error`. */
export function isError(thrown: unknown): thrown is Error {
  return thrown instanceof Error || Object.prototype.toString.call(thrown) === "[object Error]";
}

/** Reads each property once, since it may be a getter. */
function copyOf(thrown: Error, values: readonly string[]): Error {
  const { name: givenName, message: givenMessage, stack, code } = thrown as Error & { readonly code?: unknown };
  const name = isWord(givenName, values) ? givenName : "Error";
  const safe = new Error(redactText(typeof givenMessage === "string" ? givenMessage : "", values));
  hide(safe, "name", name);
  if (isWord(code, values) || isSmallNumber(code)) Object.assign(safe, { code });
  const frames = typeof stack === "string" ? stack.indexOf("\n    at ") : -1;
  safe.stack = `${name}: ${safe.message}${frames < 0 ? "" : redactText(String(stack).slice(frames), values)}`;
  return safe;
}

function isWord(value: unknown, values: readonly string[]): value is string {
  return typeof value === "string" && /^[\w$.:-]{1,64}$/.test(value) && isShowable(value, values);
}

/** The codes of gRPC, HTTP and `DOMException`. */
function isSmallNumber(value: unknown): value is number {
  return Number.isInteger(value) && Math.abs(Number(value)) < 1000;
}

function typeOf(value: unknown): string {
  return value === null ? "null" : typeof value;
}

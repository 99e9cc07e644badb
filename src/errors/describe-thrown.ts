import { hide } from "./hide.js";
import { isShowable, redactText } from "./redact.js";

/** What may be shown of something that was thrown. */
export interface DescribedError extends Error {
  readonly code?: string | number;
}

/**
 * Copies what may be shown of whatever the caller's code or a library threw: its class, its code, its redacted message, and its stack
 * frames. Other properties may hold requests, tokens, and responses. Never throws.
 *
 * @param secrets values that may not appear in it.
 */
export function describeThrown(thrown: unknown, secrets: readonly string[] = []): DescribedError {
  try {
    // Errors of Node itself are no instances of `Error` in a test of Jest's.
    if (!(thrown instanceof Error) && Object.prototype.toString.call(thrown) !== "[object Error]")
      return new Error(`a value that is not an Error was thrown (${thrown === null ? "null" : typeof thrown})`);
    const { name, message, stack, code, cause } = thrown as DescribedError;
    // Eight digits may be an account.
    const isWord = (value: unknown) =>
      typeof value === "string" && /^(?!.*\d{8})[\w$.:-]{1,64}$/.test(value) && isShowable(value, secrets);
    const described = new Error(redactText(typeof message === "string" ? message : "", secrets));
    hide(described, "name", isWord(name) ? name : "Error");
    // `fetch failed` has what failed as its cause. Short numbers are the codes of gRPC, HTTP, and `DOMException`.
    const shown = [code, Object(cause).code].find((value) => isWord(value) || /^-?\d{1,3}$/.test(String(value)));
    if (shown !== undefined) Object.assign(described, { code: shown });
    const frames = String(stack).indexOf("\n    at ");
    described.stack = `${described.name}: ${described.message}${frames < 0 ? "" : redactText(String(stack).slice(frames), secrets)}`;
    return described;
  } catch {
    return new Error("a value that can't be read was thrown");
  }
}

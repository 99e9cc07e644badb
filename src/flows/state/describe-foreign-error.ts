import { isError } from "../../errors/safe-cause.js";
import type { FlowFailures } from "./flow-state.js";

/**
 * What a journal may store of an error that is not the library's own: its name and its code. Its text may hold anything, so that only
 * the program that gets the error itself may show it.
 */
export function describeForeignError(thrown: unknown): Pick<FlowFailures, "code" | "errorCode" | "message"> {
  if (!isError(thrown)) return { code: typeof thrown, message: "what was thrown is no error" };
  // `fetch failed` has what failed as its cause.
  const errorCode = identifierOf(thrown, "code") ?? identifierOf(readOf(thrown, "cause"), "code");
  return {
    code: identifierOf(thrown, "name") ?? "Error",
    ...(errorCode === undefined ? undefined : { errorCode }),
    message:
      "a function of yours threw it. Its text may hold what is confidential, and is not stored: the FlowPausedError that the caller or on.error got has it as its cause",
  };
}

/** A sentence, a name or a whole statement is no identifier. */
function identifierOf(value: unknown, field: string): string | undefined {
  const found = readOf(value, field);
  return typeof found === "string" && /^[\w.-]{1,64}$/.test(found) ? found : undefined;
}

/** A field may be a getter that throws. */
function readOf(value: unknown, field: string): unknown {
  try {
    return Reflect.get(Object(value), field);
  } catch {
    return undefined;
  }
}

import { InvalidArgumentError, JournalError } from "../../errors/errors.js";

/** Whether a journal's failure says that nothing was stored, and nothing will be. */
export function isCertainlyRefused(error: unknown): boolean {
  return isUnstorable(error) || (error instanceof JournalError && error.stored === "nothing");
}

/** Whether a failure is of a state that can't be stored at all. */
export function isUnstorable(error: unknown): boolean {
  return error instanceof InvalidArgumentError && error.code === "invalid_argument";
}

/** An owner whose write ended unknown does nothing else with the flow. */
export function unsettledWrite(key: string, cause?: unknown): JournalError {
  return new JournalError(
    `the journal has not said what became of an earlier write to the flow of key ${JSON.stringify(key)}`,
    { stored: "unknown", cause },
  );
}

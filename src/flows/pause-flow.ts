import { AbortedError } from "../errors/errors.js";
import { type Deadline, Ended } from "../timing/deadline.js";

/** Waits. @throws {AbortedError} as soon as the caller's signal ends the run. */
export async function pauseFlow(ms: number, deadline: Deadline): Promise<void> {
  try {
    await deadline.sleep(ms);
  } catch (error) {
    if (!(error instanceof Ended)) throw error;
    throw new AbortedError("the caller's signal ended the wait; the flow stays as it is");
  }
}

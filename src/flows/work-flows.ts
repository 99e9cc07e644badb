import { nextDelayMs } from "../timing/backoff.js";
import { Deadline, Ended } from "../timing/deadline.js";
import { emitFlowError, type FlowEvents } from "./flow-events.js";

/** What `work` needs of its flow. */
export interface FlowWork {
  /** One round: takes over every flow whose owner is gone. */
  readonly recover: (stop: AbortSignal) => AsyncIterable<unknown>;
  readonly everyMs: number;
  readonly events: FlowEvents;
  readonly random: () => number;
}

/**
 * Recovers flows, again and again, until `stop` aborts. What fails goes to `on.error`; while nothing but failures comes of it, the
 * rounds come less often.
 */
export async function workFlows({ recover, everyMs, events, random }: FlowWork, stop: AbortSignal): Promise<void> {
  const deadline = new Deadline({ signal: stop });
  let fruitless = 0;
  try {
    while (deadline.ended === undefined) {
      const { failures, outcomes } = await recoverOnce(recover, stop);
      for (const failure of failures) emitFlowError(events, failure);
      fruitless = failures.length > 0 && outcomes === 0 ? fruitless + 1 : 0;
      await deadline.sleep(roundDelayMs(everyMs, fruitless, random));
    }
  } catch (error) {
    if (!(error instanceof Ended)) throw error;
  } finally {
    deadline.finish();
  }
}

/** Between half of the time and all of it, so that the processes of a fleet don't ask the journal at the same moment. */
function roundDelayMs(everyMs: number, fruitless: number, random: () => number): number {
  const backoff = { baseMs: everyMs / 2, capMs: (everyMs / 2) * longestFactor };
  return Math.min(backoff.capMs, backoff.baseMs * 2 ** fruitless) + nextDelayMs(fruitless, random, backoff);
}

const longestFactor = 8;

interface Round {
  readonly outcomes: number;
  readonly failures: readonly unknown[];
}

async function recoverOnce(recover: FlowWork["recover"], stop: AbortSignal): Promise<Round> {
  let outcomes = 0;
  try {
    for await (const _ of recover(stop)) outcomes += 1;
    return { outcomes, failures: [] };
  } catch (error) {
    return { outcomes, failures: error instanceof AggregateError ? error.errors : [error] };
  }
}

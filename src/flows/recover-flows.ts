import { Deadline } from "../timing/deadline.js";
import { now, type Timestamp } from "../timing/timestamp.js";
import { finishFlow } from "./drive-flow.js";
import type { FlowContext } from "./flow-context.js";
import type { FlowOutcome } from "./flow-outcome.js";
import type { JournalEntry } from "./journal.js";

/** See `PaymentFlow.recover`. */
export async function* recoverFlows(
  context: FlowContext,
  concurrency: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<FlowOutcome, void, undefined> {
  const deadline = new Deadline({ signal });
  const running = new Map<string, Promise<Recovered>>();
  const failures: Error[] = [];
  let after: string | undefined;
  let more = true;
  try {
    while (more || running.size > 0) {
      while (more && running.size < concurrency && deadline.ended === undefined) {
        const askedAt = now();
        const entry = await context.journal.acquireAbandoned(context.leaseRequest, after);
        if (entry === undefined) more = false;
        else {
          after = entry.key;
          running.set(entry.key, recoverFlow(context, entry, askedAt, deadline));
        }
      }
      if (running.size === 0) break;
      const { key, outcome, error } = await Promise.race(running.values());
      running.delete(key);
      if (error !== undefined) failures.push(error);
      if (outcome !== undefined) yield outcome;
    }
  } finally {
    // Whoever stops reading leaves flows behind that are still running.
    void Promise.all(running.values()).then(() => deadline.finish());
  }
  if (failures.length > 0) {
    throw new AggregateError(failures, `${failures.length} flows could not be continued; they stay as they are`);
  }
}

interface Recovered {
  readonly key: string;
  readonly outcome?: FlowOutcome | undefined;
  readonly error?: Error;
}

/** Never rejects. */
async function recoverFlow(
  context: FlowContext,
  entry: JournalEntry,
  askedAt: Timestamp,
  deadline: Deadline,
): Promise<Recovered> {
  const { key } = entry;
  try {
    const state = await context.codec.decode(entry);
    return { key, outcome: await finishFlow(context, { entry, state, askedAt }, deadline) };
  } catch (error) {
    return { key, error: new Error(`flow ${JSON.stringify(key)} could not be continued`, { cause: error }) };
  }
}

import { Deadline } from "../timing/deadline.js";
import { now, type Timestamp } from "../timing/timestamp.js";
import { finishFlow } from "./drive-flow.js";
import type { FlowContext } from "./flow-context.js";
import type { FlowOutcome } from "./flow-outcome.js";
import { FlowPausedError } from "./flow-paused-error.js";
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
        const entry = await acquireNext(context, after, failures);
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
    void Promise.allSettled(running.values()).then(() => deadline.finish());
  }
  if (failures.length > 0) throw new AggregateError(failures, failures.map(({ message }) => message).join("\n"));
}

/** Where the journal fails, the flows that are running still come to their end. */
async function acquireNext(
  { journal, leaseRequest }: FlowContext,
  after: string | undefined,
  failures: Error[],
): Promise<JournalEntry | undefined> {
  try {
    return await journal.acquireAbandoned(leaseRequest, after);
  } catch (error) {
    failures.push(error instanceof Error ? error : new Error("the journal failed", { cause: error }));
    return undefined;
  }
}

interface Recovered {
  readonly key: string;
  readonly outcome?: FlowOutcome | undefined;
  readonly error?: FlowPausedError;
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
    if (error instanceof FlowPausedError) return { key, error };
    try {
      // Its state can't be read: others may be able to.
      await context.journal.release(key, entry.epoch);
    } catch {
      // Then its lease expires by itself.
    }
    return { key, error: new FlowPausedError(key, { cause: error }) };
  }
}

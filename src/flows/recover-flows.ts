import { CrossBorderError, JournalError } from "../errors/errors.js";
import { now } from "../timing/timestamp.js";
import { continueFlow } from "./drive-flow.js";
import { FlowCall } from "./flow-call.js";
import { type FlowContext, leaseRequest } from "./flow-context.js";
import type { FlowOutcome } from "./flow-outcome.js";
import { FlowPausedError } from "./flow-paused-error.js";
import type { OwnedEntry } from "./own-flow.js";

/** See `PaymentFlow.recover`. */
export async function* recoverFlows(
  context: FlowContext,
  concurrency: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<FlowOutcome, void, undefined> {
  const running = new Map<string, Promise<Recovered>>();
  const { call, end } = openCall(context, signal);
  try {
    yield* recoverAll(context, concurrency, call, running);
  } finally {
    // Whoever stops reading leaves flows behind that are still running.
    void Promise.allSettled(running.values()).then(end);
  }
}

/** A call that lasts until `end`. @throws {CrossBorderError} `flow_closed` */
function openCall({ openWork }: FlowContext, signal: AbortSignal | undefined): { call: FlowCall; end: () => void } {
  let end = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  let call: FlowCall | undefined;
  const work = openWork.run(async (stop, abandon) => {
    call = new FlowCall(stop, abandon, undefined);
    await ended;
    call.finish();
  }, signal);
  work.catch(() => {});
  if (call === undefined) throw new CrossBorderError("the flow is closed", { code: "flow_closed" });
  return { call, end };
}

async function* recoverAll(
  context: FlowContext,
  concurrency: number,
  call: FlowCall,
  running: Map<string, Promise<Recovered>>,
): AsyncGenerator<FlowOutcome, void, undefined> {
  const failures: Error[] = [];
  let after: string | undefined;
  let more = true;
  while (more || running.size > 0) {
    while (more && running.size < concurrency && !call.isEnded) {
      const owned = await acquireNext(context, after, failures);
      if (owned === undefined) more = false;
      else {
        after = owned.entry.key;
        running.set(owned.entry.key, recoverFlow(context, owned, call));
      }
    }
    if (running.size === 0) break;
    const { key, outcome, error } = await Promise.race(running.values());
    running.delete(key);
    if (error !== undefined) failures.push(error);
    if (outcome !== undefined) yield outcome;
  }
  if (failures.length > 0) throw new AggregateError(failures, failures.map(({ message }) => message).join("\n"));
}

/** Where the journal fails, the flows that are running still come to their end. */
async function acquireNext(
  context: FlowContext,
  after: string | undefined,
  failures: Error[],
): Promise<OwnedEntry | undefined> {
  const askedAt = now();
  try {
    const entry = await context.journal.acquireAbandoned(context.scope, leaseRequest(context), after);
    return entry === undefined ? undefined : { entry, askedAt };
  } catch (error) {
    const message = `recover: the journal failed${after === undefined ? "" : ` behind key ${JSON.stringify(after)}`}`;
    failures.push(error instanceof JournalError ? error : new JournalError(message, { cause: error }));
    return undefined;
  }
}

interface Recovered {
  readonly key: string;
  readonly outcome?: FlowOutcome | undefined;
  readonly error?: FlowPausedError;
}

/** Never rejects. */
async function recoverFlow(context: FlowContext, owned: OwnedEntry, call: FlowCall): Promise<Recovered> {
  const { key } = owned.entry;
  try {
    return { key, outcome: await continueFlow(context, owned, call) };
  } catch (error) {
    return { key, error: error instanceof FlowPausedError ? error : new FlowPausedError(key, { cause: error }) };
  }
}

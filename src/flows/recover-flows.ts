import { CrossBorderError, JournalError } from "../errors/errors.js";
import type { Alarm } from "../timing/alarm.js";
import { now } from "../timing/timestamp.js";
import { continueFlow } from "./drive-flow.js";
import { FlowCall } from "./flow-call.js";
import { type FlowContext, leaseRequest } from "./flow-context.js";
import type { FlowOutcome } from "./flow-outcome.js";
import { FlowPausedError } from "./flow-paused-error.js";
import type { OwnedEntry } from "./own-flow.js";
import { RecoverySlots } from "./recovery-slots.js";

/** See `PaymentFlow.recover`. */
export async function* recoverFlows(
  context: FlowContext,
  concurrency: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<FlowOutcome, void, undefined> {
  const recovery = { slots: new RecoverySlots(concurrency), running: new Set<Promise<void>>() };
  const { call, end } = openCall(context, recovery.slots, signal);
  try {
    yield* recoverAll(context, call, recovery, concurrency * acquiredPerSlot);
  } finally {
    // Whoever stops reading leaves flows behind that are still running.
    void Promise.allSettled(recovery.running).then(end);
  }
}

/** Flows that wait are busy with nothing, but their leases are renewed. */
const acquiredPerSlot = 16;

interface Recovery {
  readonly slots: RecoverySlots;
  readonly running: Set<Promise<void>>;
}

/** The call of every flow of a recovery. A flow that waits leaves its slot to others. */
class RecoveryCall extends FlowCall {
  readonly #slots: RecoverySlots;

  constructor(stop: AbortSignal, abandon: Alarm, slots: RecoverySlots) {
    super(stop, abandon, undefined);
    this.#slots = slots;
    if (stop.aborted) slots.open();
    else stop.addEventListener("abort", () => slots.open());
  }

  override async pause(ms: number): Promise<void> {
    this.#slots.leave();
    try {
      await super.pause(ms);
    } finally {
      await this.#slots.enter();
    }
  }
}

/** A call that lasts until `end`. @throws {CrossBorderError} `flow_closed` */
function openCall(
  { openWork }: FlowContext,
  slots: RecoverySlots,
  signal: AbortSignal | undefined,
): { call: FlowCall; end: () => void } {
  let end = () => {};
  const ended = new Promise<void>((resolve) => {
    end = resolve;
  });
  let call: FlowCall | undefined;
  const work = openWork.run(async (stop, abandon) => {
    call = new RecoveryCall(stop, abandon, slots);
    await ended;
    call.finish();
  }, signal);
  work.catch(() => {});
  if (call === undefined) throw new CrossBorderError("the flow is closed", { code: "flow_closed" });
  return { call, end };
}

async function* recoverAll(
  context: FlowContext,
  call: FlowCall,
  { slots, running }: Recovery,
  mostAcquired: number,
): AsyncGenerator<FlowOutcome, void, undefined> {
  const failures: Error[] = [];
  const finished: Recovered[] = [];
  let after: string | undefined;
  let more = true;
  for (;;) {
    while (more && running.size < mostAcquired && !call.isEnded && slots.tryEnter()) {
      const owned = await acquireNext(context, after, failures);
      if (owned === undefined) {
        more = false;
        slots.leave();
        break;
      }
      after = owned.entry.key;
      const run = recoverFlow(context, owned, call).then((recovered) => {
        finished.push(recovered);
        running.delete(run);
        slots.leave();
      });
      running.add(run);
    }
    const next = finished.shift();
    if (next?.error !== undefined) failures.push(next.error);
    if (next?.outcome !== undefined) yield next.outcome;
    if (next !== undefined) continue;
    if (running.size === 0) break;
    await slots.left();
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
  readonly outcome?: FlowOutcome | undefined;
  readonly error?: FlowPausedError;
}

/** Version 1 stored no scope: only what is in a flow tells that it is another gateway's, who continues it. */
function isForeign({ entry }: OwnedEntry, error: unknown): boolean {
  return entry.scope === undefined && error instanceof CrossBorderError && error.code === "flow_foreign";
}

/** Never rejects. */
async function recoverFlow(context: FlowContext, owned: OwnedEntry, call: FlowCall): Promise<Recovered> {
  const { key } = owned.entry;
  try {
    return { outcome: await continueFlow(context, owned, call) };
  } catch (error) {
    if (isForeign(owned, error)) return {};
    return { error: error instanceof FlowPausedError ? error : new FlowPausedError(key, { cause: error }) };
  }
}

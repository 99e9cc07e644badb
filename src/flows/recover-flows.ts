import type { FlowContext } from "./flow-context.js";
import type { FlowOutcome } from "./flow-outcome.js";
import { type Recovered, Recovery, RecoveryRound } from "./ownership/recovery.js";

/** See `PaymentFlow.recover`. */
export async function* recoverFlows(
  context: FlowContext,
  concurrency: number,
  signal: AbortSignal | undefined,
): AsyncGenerator<FlowOutcome, void, undefined> {
  const recovery = new Recovery(context, "recover", concurrency, signal);
  const finished: Recovered[] = [];
  const failures: Error[] = [];
  const round = new RecoveryRound(recovery, (recovered) => finished.push(recovered));
  try {
    for (;;) {
      await round.takeOver();
      const next = finished.shift();
      if (next?.error !== undefined) failures.push(next.error);
      if (next?.outcome !== undefined) yield next.outcome;
      if (next !== undefined) continue;
      if (round.isIdle) break;
      await recovery.slots.left();
    }
  } finally {
    // A caller that stops reading leaves flows running.
    void round.ended().then(() => recovery.end());
  }
  if (failures.length > 0) throw new AggregateError(failures, failures.map(({ message }) => message).join("\n"));
}

import { clock } from "../timing/clock.js";
import type { FlowContext } from "./flow-context.js";
import type { FlowState } from "./flow-state.js";

/** Reports a step of a flow. `error` is what it failed with, if it did. */
export function emitStep(
  { reporter }: FlowContext,
  key: string,
  from: FlowState | undefined,
  to: FlowState,
  startMs: number,
  error?: unknown,
): void {
  if (!reporter.wants("flow")) return;
  const isUnknown = to.phase === "unknown" || to.phase === "held";
  reporter.emit("flow", {
    key,
    from: from?.phase,
    to: to.phase,
    // Whatever failed, the flow still owns the payment: its FlowPausedError says the same.
    ...(isUnknown || error !== undefined ? { effect: "possible" as const } : undefined),
    durationMs: clock.monotonicMs() - startMs,
    attempt: (from?.failures?.count ?? 0) + 1,
  });
}

import { counted } from "../errors/counted.js";
import type { FlowPhase } from "../events/flow-event.js";
import { describeGrounds } from "../flows/looking/describe-looks.js";
import type { FlowStep, Look } from "../flows/state/flow-state.js";

/** A time as people read it, and a question mark where there is none. */
export function instant(ms: number | undefined): string {
  return ms === undefined || Number.isNaN(new Date(ms).getTime()) ? "?" : new Date(ms).toISOString();
}

/** What became of the sender's money. A flow that is rejected after it was taken has given it back. */
export function moneyText(phase: FlowPhase, transactionId: string | undefined): string {
  if (transactionId === undefined) return "not known to have been taken";
  return `taken${phase === "rejected" ? " and given back" : ""}, transaction ${transactionId}`;
}

/** A look goes back no further than it has to, and ends where it finds the payment. */
export function lookText({ atMs, seen, complete, problem, found, grounds }: Look): string {
  const all = complete ? "all among which it can be" : `not all: ${problem ?? "unknown"}`;
  const rests = grounds === undefined ? "" : `; it ${describeGrounds(grounds)}`;
  return `${instant(atMs)}: ${counted(seen, "payment")} seen, ${found ? "and this flow's is one of them" : all}${rests}`;
}

export function stepText({ from, to, atMs, durationMs, owner, times, code }: FlowStep): string {
  const phases = from === undefined || from === to ? to : `${from} → ${to}`;
  const failed = code === undefined ? "" : `, failed: ${code}${times === undefined ? "" : `, ${times} times`}`;
  return `${instant(atMs)}: ${phases}, in ${durationMs} ms, by ${owner}${failed}`;
}

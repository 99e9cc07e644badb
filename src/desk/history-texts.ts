import type { FlowPhase } from "../events/events.js";
import type { FlowDecision } from "../flows/outcome.js";
import type { FlowDetails, HistoryStep } from "../flows/status.js";

/** A time as people read it, and a question mark if there is none. */
export function instant(ms: number | undefined): string {
  return ms === undefined || Number.isNaN(new Date(ms).getTime()) ? "?" : new Date(ms).toISOString();
}

/** What became of the sender's money. A flow that is rejected after it was taken has given it back. */
export function moneyText(phase: FlowPhase, transactionId: string | undefined): string {
  if (transactionId === undefined) return "not known to have been taken";
  return `taken${phase === "rejected" ? " and given back" : ""}, transaction ${transactionId}`;
}

export function stepText({ atMs, phase, why, by }: HistoryStep): string {
  const reason = why === undefined ? "" : ` (${why})`;
  return `${instant(atMs)}: ${phase}${reason}${by === undefined ? "" : `, by ${by}`}`;
}

/** The operators' decisions about a flow that has an outcome. */
export function decisionsOf({ outcome }: Pick<FlowDetails, "outcome">): readonly FlowDecision[] {
  return outcome !== undefined && "decisions" in outcome ? outcome.decisions : [];
}

/** What waits for another person. */
export function proposalOf({ outcome }: Pick<FlowDetails, "outcome">): FlowDecision | undefined {
  return outcome?.status === "held" ? outcome.proposal : undefined;
}

/** What was decided or proposed, by whom, and why. A record that was given with it is shown apart. */
export function decisionText({ action, by, why, atMs, withoutProof, approvedBy }: FlowDecision): string {
  const proof = withoutProof ? ", without proof" : "";
  const approval = approvedBy === undefined ? "" : `, approved by ${approvedBy}`;
  return `${instant(atMs)}: ${action}${proof}, by ${by}${approval}: ${why}`;
}

import type { FlowPhase } from "../events/events.js";
import type { FlowDecision } from "../flows/outcome.js";
import type { FlowDetails, HistoryStep } from "../flows/status.js";

/** A time in ISO 8601, or a question mark. */
export function instant(ms: number | undefined): string {
  return ms === undefined || Number.isNaN(new Date(ms).getTime()) ? "?" : new Date(ms).toISOString();
}

/** Where the sender's money is. A rejected flow has given it back. */
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

/** The proposal that another person must approve. */
export function proposalOf({ outcome }: Pick<FlowDetails, "outcome">): FlowDecision | undefined {
  return outcome?.status === "held" ? outcome.proposal : undefined;
}

/** A decision or proposal, without the record that was given with it. */
export function decisionText({ action, by, why, atMs, withoutProof, approvedBy }: FlowDecision): string {
  const proof = withoutProof ? ", without proof" : "";
  const approval = approvedBy === undefined ? "" : `, approved by ${approvedBy}`;
  return `${instant(atMs)}: ${action}${proof}, by ${by}${approval}: ${why}`;
}

import type { FlowDecision } from "../flows/outcome.js";
import type { FlowDetails } from "../flows/status.js";

/** A time in ISO 8601, or a question mark. */
export function instant(ms: number | undefined): string {
  return ms === undefined || Number.isNaN(new Date(ms).getTime()) ? "?" : new Date(ms).toISOString();
}

/** The operators' decisions about a flow that has an outcome. */
export function decisionsOf({ outcome }: Pick<FlowDetails, "outcome">): readonly FlowDecision[] {
  return outcome !== undefined && "decisions" in outcome ? outcome.decisions : [];
}

/** The proposal that another person must approve. */
export function proposalOf({ outcome }: Pick<FlowDetails, "outcome">): FlowDecision | undefined {
  return outcome?.status === "held" ? outcome.proposal : undefined;
}

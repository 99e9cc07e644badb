import {
  type FlowGrounds,
  type FlowStatus,
  groundsOf,
  isWaitingFor,
  type StoredFlows,
  toStatus,
} from "./flow-status.js";
import type { JournalEntry } from "./journal.js";
import { decisionHash, openProposal, seenHash } from "./state/decision-chain.js";
import type { KeptEvidence } from "./state/flow-codec.js";
import { readState } from "./state/flow-scope.js";
import type { OperatorDecision } from "./state/flow-state.js";

/** A flow with everything that an operator decides by; lists that would be empty are absent. */
export interface FlowDetails extends FlowStatus, Partial<FlowGrounds> {
  /** Whether it is held or stuck, and so waits for an operator. */
  readonly isWaiting: boolean;
  /** A hash of what there is to see of it. Give it to `resolve` or `propose`, so that nothing else is decided about than was looked at. */
  readonly seen?: string;
  /** What one person proposed, and waits for another. */
  readonly proposal?: WaitingProposal;
  /** What was kept of a flow that was pruned. */
  readonly evidence?: KeptEvidence;
}

/** A proposal that waits for another person. */
export interface WaitingProposal extends OperatorDecision {
  /** SHA-256 of the proposal, in hex: give it to `approve`. */
  readonly hash: string;
  /** Whether the flow has moved on since it was proposed, so that it can't be approved any more. */
  readonly isOutdated: boolean;
}

/** See `PaymentFlow.details`. @throws {CrossBorderError} `flow_unreadable`; {InvalidArgumentError} `flow_foreign`. */
export async function flowDetails(context: StoredFlows, entry: JournalEntry): Promise<FlowDetails> {
  const status = await toStatus(context, entry);
  if (status.prunedAtMs !== undefined) {
    const evidence = await context.codec.decodeEvidence(entry);
    return { ...status, isWaiting: false, ...(evidence && { evidence }) };
  }
  const state = await readState(context, entry);
  const seen = seenHash(state);
  const open = openProposal(state);
  return {
    ...status,
    isWaiting: isWaitingFor(state, status.failures),
    ...withoutEmpty(groundsOf(state)),
    seen,
    ...(open && { proposal: { ...open, hash: decisionHash(open), isOutdated: open.saw?.hash !== seen } }),
  };
}

function withoutEmpty(grounds: FlowGrounds): Partial<FlowGrounds> {
  const entries = Object.entries(grounds).filter(([, value]) => !Array.isArray(value) || value.length > 0);
  return Object.fromEntries(entries);
}

import type { FlowContext } from "../flows/flow-context.js";
import { readState } from "../flows/flow-scope.js";
import { type FlowState, isStuck } from "../flows/flow-state.js";
import { toStatus } from "../flows/flow-status.js";
import type { Claim, FlowCipher, FlowStatus, JournalEntry, Look, OperatorDecision } from "../flows/index.js";
import type { Payment } from "../resources/payments.js";
import { parseObject } from "./json.js";

/** A flow with everything that an operator decides by. */
export interface FlowDetails extends FlowStatus {
  /** Whether it is held or stuck, and so waits for an operator. */
  readonly isWaiting: boolean;
  /** Absent while it is not known whether money was taken. */
  readonly senderGatewayTransactionId?: string;
  /** Every request that may have been sent, the newest last. */
  readonly claims?: readonly Claim[];
  readonly looks?: readonly Look[];
  /** A payment that looks like this flow's, and has another signature or other content. */
  readonly lookalike?: Payment;
  readonly decisions?: readonly OperatorDecision[];
  /** Of a flow that was pruned: what was kept of it. */
  readonly evidence?: Readonly<Record<string, unknown>>;
}

/** @throws {CrossBorderError} `flow_unreadable`; {InvalidArgumentError} `flow_foreign`. */
export async function flowDetails(
  context: FlowContext,
  entry: JournalEntry,
  cipher: FlowCipher | undefined,
): Promise<FlowDetails> {
  const status = await toStatus(context, entry);
  if (status.prunedAtMs !== undefined) return { ...status, isWaiting: false, ...(await keptEvidence(entry, cipher)) };
  const state = await readState(context, entry);
  return { ...status, isWaiting: state.phase === "held" || isStuck(state), ...groundsOf(state) };
}

function groundsOf(state: FlowState): Partial<FlowDetails> {
  const {
    senderGatewayTransactionId,
    claims = [],
    looks = [],
    decisions = [],
  } = state as Partial<Extract<FlowState, { phase: "unknown" }>>;
  const lookalike = looks.findLast((look) => look.lookalike !== undefined)?.lookalike;
  return {
    ...(senderGatewayTransactionId !== undefined && { senderGatewayTransactionId }),
    ...(claims.length > 0 && { claims }),
    ...(looks.length > 0 && { looks }),
    ...(lookalike !== undefined && { lookalike }),
    ...(decisions.length > 0 && { decisions }),
  };
}

async function keptEvidence(
  { evidence }: JournalEntry,
  cipher: FlowCipher | undefined,
): Promise<Pick<FlowDetails, "evidence">> {
  if (evidence === "") return {};
  const kept = parseObject(cipher === undefined ? evidence : await cipher.decrypt(evidence));
  return kept === undefined ? {} : { evidence: kept };
}

import type { FlowOutcome } from "cross-border-payments/flow";
import type { Outcome } from "../crash/worker-messages.js";

/** What the laws need of an outcome. */
export function toReported(outcome: FlowOutcome): Outcome {
  const { key, status } = outcome;
  if (outcome.status === "paid") {
    const { id: paymentId, senderGatewayTransactionId: transactionId } = outcome.payment;
    return { key, status, paymentId, transactionId };
  }
  if (outcome.status !== "held") return { key, status };
  return { key, status, reason: outcome.reason, transactionId: outcome.senderGatewayTransactionId };
}

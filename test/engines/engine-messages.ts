import type { FlowOutcome } from "cross-border-payments/flow";
import type { Outcome, Report, WorkerSettings } from "../crash/worker-messages.js";

export type EngineName = "dbos" | "pg-boss" | "bullmq";

/** Where in its step a flow can be when its worker is killed. */
export type Point = "take" | "send" | "look";

export interface Kill {
  readonly point: Point;
  /** How long after a worker has got there it is killed. */
  readonly delayMs: number;
}

export interface EngineWorkerSettings extends WorkerSettings {
  readonly engine: EngineName;
  /** The database of the journal, of the ledger, and of the engines that use PostgreSQL. */
  readonly databaseUrl: string;
  readonly redisUrl: string;
  /** The same for the process that takes a killed one's place. */
  readonly executorId: string;
  /** How long taking money takes, at most. */
  readonly slowTakeMs: number;
}

export type EngineReport =
  | Report
  /** The engine has started a step for a key. */
  | { readonly type: "entered"; readonly key: string }
  | { readonly type: "at"; readonly point: Point }
  | { readonly type: "told"; readonly key: string };

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

import { CrossBorderClient } from "cross-border-payments";
import {
  type FlowEvents,
  type FlowFunds,
  type FlowOutcome,
  type Journal,
  PaymentFlow,
} from "cross-border-payments/flow";
import { Agent } from "undici";
import type { CrashPoints } from "./crash-points.js";
import { crashingDispatcher } from "./crashing-dispatcher.js";
import type { JournalPlace, Outcome, Report, WorkerSettings } from "./worker-messages.js";

/** A flow that can be killed at each of the points. */
export function openFlow(
  settings: WorkerSettings,
  journal: Journal,
  points: CrashPoints,
  on: FlowEvents = {},
): PaymentFlow {
  const agent = new Agent({ allowH2: false, pipelining: 1, connections: 64, headersTimeout: 0, bodyTimeout: 0 });
  const client = new CrossBorderClient({
    baseUrl: settings.baseUrl,
    auth: { accessToken: () => settings.accessToken },
    signingKey: settings.signingKey,
    // Slow commits come after that.
    timeoutMs: settings.leaseMs,
    dispatcher: crashingDispatcher(agent, points),
  });
  const askBank = async (path: string, body: object): Promise<unknown> => {
    const response = await agent.request({
      origin: settings.bankUrl,
      path,
      method: "POST",
      body: JSON.stringify(body),
    });
    const text = await response.body.text();
    if (response.statusCode !== 200) throw new Error(`the bank says ${response.statusCode}`);
    return JSON.parse(text);
  };
  return new PaymentFlow({
    ...{ client, journal, on },
    leaseMs: settings.leaseMs,
    readBackDelayMs: settings.readBackDelayMs,
    // Bank, service, and workers have one clock: a search that reads few pages meets few faults.
    ...{ bankSkewMs: 1000, clockSkewMs: 1000 },
    // Among faults as frequent as these it would be open most of the time.
    circuitBreaker: false,
    async takeFunds({ key, intent }) {
      points.pass("take:before", key);
      const receipt = await askBank("/take", { key, intentId: intent.id, amount: intent.senderAmount });
      points.pass("take:after", key);
      return receipt as FlowFunds | null;
    },
    async releaseFunds({ key, senderGatewayTransactionId: transactionId }) {
      points.pass("give-back:before", key);
      await askBank("/release", { key, transactionId });
      points.pass("give-back:after", key);
    },
  });
}

export async function openJournal({ kind, place, schema = "public", timeoutMs }: JournalPlace): Promise<Journal> {
  if (kind === "sqlite") return (await import("cross-border-payments/journal/sqlite")).SqliteJournal.open(place);
  const { PostgresJournal } = await import("cross-border-payments/journal/postgres");
  return PostgresJournal.open(place, { schema, ...(timeoutMs === undefined ? undefined : { timeoutMs }) });
}

export function toReported(outcome: FlowOutcome): Outcome {
  const { key, status } = outcome;
  if (outcome.status === "paid") {
    const { id: paymentId, senderGatewayTransactionId: transactionId } = outcome.payment;
    return { key, status, paymentId, transactionId };
  }
  const transactionId = "senderGatewayTransactionId" in outcome ? outcome.senderGatewayTransactionId : undefined;
  const reason = outcome.status === "held" ? outcome.reason : undefined;
  return {
    key,
    status,
    ...(transactionId === undefined ? undefined : { transactionId }),
    ...(reason === undefined ? undefined : { reason }),
  };
}

export function textOf(error: unknown): string {
  const { message = String(error), cause }: { message?: string; cause?: unknown } = Object(error);
  return cause instanceof Error ? `${message}: ${cause.message}` : message;
}

/** Resolves when the test will read it, even if this process is killed. The test may have ended already. */
export function report(message: Report): Promise<void> {
  return new Promise((resolve) => {
    if (process.send === undefined) resolve();
    else process.send(message, undefined, {}, () => resolve());
  });
}

import type { FlowOutcome } from "cross-border-payments/flow";
import { z } from "zod";
import type { Bank } from "./bank.ts";
import { pending, type Reply } from "./reply.ts";
import { withinPatience } from "./within-patience.ts";

/** How long a customer waits for the outcome before the page says that it will take longer. */
const patienceMs = 5000;

const text = z.string().min(1).max(512);
const transfer = z.strictObject({
  senderAccount: text,
  senderCurrency: text,
  receiverGatewayId: text,
  receiverAccount: text,
  receiverCurrency: text,
  receiverAmount: text,
  memo: z.string().max(512).default(""),
});
const confirmation = z.strictObject({ intentId: text });

/** What an order costs. Nothing moves yet, so that it ends with the request where the customer leaves. */
export async function quoteOrder(bank: Bank, order: string, body: unknown, signal: AbortSignal): Promise<Reply> {
  const wanted = { ...transfer.parse(body), senderGatewayId: bank.gatewayId };
  const { intent, expiresAtMs } = await bank.flow.quote(order, wanted, { signal }).catch((error: unknown) => {
    throw signal.aborted ? new CustomerLeftError() : error;
  });
  return {
    status: 200,
    body: {
      intentId: intent.id,
      toPay: `${intent.senderAmount} ${intent.senderCurrency}`,
      toArrive: `${intent.receiverAmount} ${intent.receiverCurrency}`,
      receiver: intent.receiverName,
      expiresAt: new Date(expiresAtMs).toISOString(),
    },
  };
}

/** Pays at the price that was shown. A customer who leaves ends the waiting alone: what was confirmed goes on. */
export async function confirmOrder({ flow, stopping }: Bank, order: string, body: unknown): Promise<Reply> {
  const outcome = flow.confirm(order, confirmation.parse(body));
  const known = await withinPatience(outcome, patienceMs, stopping);
  if (known !== undefined) return replyOf(known);
  outcome.catch((error: unknown) => console.warn(`order ${order} has no outcome yet:`, error));
  return pending(order);
}

export async function showOrder({ flow }: Bank, order: string): Promise<Reply> {
  const status = await flow.status(order);
  if (status === undefined) return { status: 404, body: { status: "unknown" } };
  if (status.outcome !== undefined) return replyOf(status.outcome);
  return status.phase === "quoted" ? { status: 200, body: { status: "quoted" } } : pending(order);
}

/** Whether this process can pay: its journal, an access token, and a service that responds. */
export async function health({ flow, client }: Bank): Promise<Reply> {
  const [[journal], service] = await Promise.all([
    Promise.allSettled([flow.counts()]),
    client.check({ timeoutMs: 2000 }),
  ]);
  const isWell = journal.status === "fulfilled" && service.ok;
  return { status: isWell ? 200 : 503, body: { journal: journal.status === "fulfilled", service: service.ok } };
}

/** Nobody is there to read the response. 499 is what nginx logs then. */
class CustomerLeftError extends Error {
  readonly status = 499;
}

function replyOf(outcome: FlowOutcome): Reply {
  switch (outcome.status) {
    case "paid":
      return { status: 200, body: { status: "paid", paymentId: outcome.payment.id } };
    case "held":
      // For the customer it takes longer; two operators decide at the desk.
      return pending(outcome.key);
    case "declined":
      return { status: 200, body: { status: "declined" } };
    case "rejected":
      return { status: 200, body: { status: "rejected", why: outcome.refusal.serviceCode ?? outcome.refusal.why } };
  }
}

/** A job that follows payments after they were made, and compares them with the bank's own ledger at the end. */
import { CrossBorderClient } from "cross-border-payments";
import { type OwnEntry, reconcilePayments, watchPayments } from "cross-border-payments/reconcile";
import { startPracticeService } from "./support/practice-service.js";

await using practice = await startPracticeService();
await using client = new CrossBorderClient(practice.options);

/** Stand for tables in your database. */
const ledger: OwnEntry[] = [];
let storedCursor: string | undefined;

const from = new Date();
// Booked, but never paid: no flow knows of it any more.
ledger.push({ senderGatewayTransactionId: "TX-2", bookedAt: new Date(), receiverAmount: "100" });
await pay("TX-1");
await watchUntil("TX-1", "pending");
const [payment] = practice.server.sandbox.payments;
// Nobody watches while the receiving gateway reverts the payment.
practice.server.sandbox.setReceiverStatus(payment?.id ?? "", "reverted");
await watchUntil("TX-1", "reverted");

for await (const found of reconcilePayments(client, ledger, { from, to: new Date() })) {
  if (found.type === "different") console.log("different:", found.differences);
  if (found.type === "missing-there") console.log("never paid:", found.entry.senderGatewayTransactionId);
}

async function watchUntil(transactionId: string, status: string): Promise<void> {
  for await (const { type, payment, cursor } of watchPayments(client, { after: storedCursor, everyMs: 100 })) {
    console.log(type, payment.senderGatewayTransactionId, payment.receiverGatewayStatus);
    storedCursor = cursor;
    if (payment.senderGatewayTransactionId === transactionId && payment.receiverGatewayStatus === status) return;
  }
}

async function pay(senderGatewayTransactionId: string): Promise<void> {
  ledger.push({
    senderGatewayTransactionId,
    bookedAt: new Date(),
    receiverAmount: "100",
    receiverGatewayStatus: "processed",
  });
  const request = {
    senderGatewayId: "alpha-bank",
    senderCurrency: "EUR",
    senderAccount: "DE-0001",
    receiverGatewayId: "beta-mobile",
    receiverAccount: "KE-7002",
    receiverCurrency: "KES",
    receiverAmount: "100.00",
    memo: "",
  };
  await client.pay(request, () => ({ senderGatewayTransactionId }));
}

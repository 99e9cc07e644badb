/** Checks the signature of every stored payment offline, against the gateway's public key as you know it. */
import { CrossBorderClient, verifyPaymentRecord } from "cross-border-payments";
import { startPracticeService } from "./support/practice-service.js";

await using practice = await startPracticeService();
await using client = new CrossBorderClient(practice.options);

await client.pay(
  {
    senderGatewayId: "alpha-bank",
    senderCurrency: "EUR",
    senderAccount: "DE-0001",
    receiverGatewayId: "beta-mobile",
    receiverAccount: "KE-7002",
    receiverCurrency: "KES",
    receiverAmount: "15000.00",
    memo: "school fees",
  },
  () => ({ senderGatewayTransactionId: "ALPHA-TX-1" }),
);

for await (const payment of client.payments.list({ size: 100 })) {
  // The key comes from your own records: the one that is stored with the payment only proves that the record is consistent.
  const genuine = await verifyPaymentRecord(payment, { publicKey: practice.keys.publicKey });
  const altered = await verifyPaymentRecord(
    { ...payment, receiverAmount: "1.00" },
    { publicKey: practice.keys.publicKey },
  );
  console.log(`payment ${payment.senderGatewayTransactionId}: genuine ${genuine}, with another amount ${altered}`);
}

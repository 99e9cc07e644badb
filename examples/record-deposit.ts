/** Records a liquidity provider's deposit, which is a signed call, and checks the stored signature. */
import { CrossBorderClient, OutcomeUnknownError, verifyDepositRecord } from "cross-border-payments";
import { startPracticeService } from "./support/practice-service.js";

await using practice = await startPracticeService();
await using client = new CrossBorderClient(practice.options);

const deposits = client.liquidityProviders.deposits(practice.liquidityProviderId);
try {
  const deposit = await deposits.create({
    paymentGatewayId: "beta-mobile",
    paymentGatewayTransactionId: "BETA-DEP-1",
    amount: "5000000.00",
    currency: "KES",
  });
  const valid = await verifyDepositRecord(deposit, { publicKey: practice.keys.publicKey });
  console.log(`deposit of ${deposit.amount} ${deposit.currency} recorded; signature valid: ${valid}`);
} catch (error) {
  if (!(error instanceof OutcomeUnknownError)) throw error;
  // No response came back. The signature identifies the request: a deposit that was made carries it.
  const { signature } = error.request;
  const found = await deposits.list({ filter: { requestSignatureBase64: signature ?? "" } });
  console.log(
    found.items.length > 0 ? "the deposit was recorded" : "not found yet: look again before recording it anew",
  );
}

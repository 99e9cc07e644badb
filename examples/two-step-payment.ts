/** The two steps of a payment, and what to do for each way in which it can end. */
import {
  CrossBorderClient,
  CrossBorderError,
  exchangeRate,
  type PaymentIntent,
  type PaymentIntentRequest,
} from "cross-border-payments";
import { startPracticeService } from "./support/practice-service.js";

await using practice = await startPracticeService();
await using client = new CrossBorderClient(practice.options);

await send({
  senderGatewayId: "alpha-bank",
  senderCurrency: "EUR",
  senderAccount: "DE-0001",
  receiverGatewayId: "beta-mobile",
  receiverAccount: "KE-7002",
  receiverCurrency: "KES",
  receiverAmount: "15000.00",
  memo: "school fees",
});

async function send(request: PaymentIntentRequest): Promise<void> {
  try {
    const outcome = await client.pay(request, takeFromSender);
    if (outcome.status === "declined") console.log("the sender declined");
    else console.log(`paid: ${outcome.payment.senderAmount} ${outcome.payment.senderCurrency}`);
  } catch (error) {
    if (!(error instanceof CrossBorderError)) throw error;
    if (error.funds === undefined) console.log(`nothing was taken and nothing was paid: ${error.message}`);
    else if (error.effect === "none") giveBack(error.funds.senderGatewayTransactionId);
    else holdForReconciliation(error);
  }
}

/** Your gateway's part: shows the intent to the sender, and takes the money. */
async function takeFromSender(intent: PaymentIntent) {
  const rate = exchangeRate(intent, { scale: 4 });
  console.log(`${intent.senderName} pays ${intent.senderAmount} to ${intent.receiverName}, at ${rate}`);
  const confirmed = true;
  return confirmed ? { senderGatewayTransactionId: "ALPHA-TX-1" } : null;
}

/** `effect: "none"`: the service certainly made no payment. */
function giveBack(senderGatewayTransactionId: string): void {
  console.log(`giving back what ${senderGatewayTransactionId} took`);
}

/** `effect: "possible"` or `"done"`: look for it first; until then neither send it again nor give the money back. */
function holdForReconciliation(error: CrossBorderError): void {
  console.log(`held: ${error.message}`);
}

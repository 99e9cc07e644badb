import type { ApiClient } from "../api/api-client.js";
import type { RequestOptions } from "../api/request-options.js";
import { AbortedError, CrossBorderError, InvalidArgumentError } from "../errors/errors.js";
import { type PaymentIntent, type PaymentIntentRequest, PaymentIntents } from "../resources/payment-intents.js";
import { type Payment, Payments, paymentEndpoints } from "../resources/payments.js";
import { paymentFromIntent } from "./payment-from-intent.js";

/** What `takeFunds` gives back once the money is taken from the sender's account. */
export interface FundsTaken {
  /** The sending gateway's own id of that transaction. */
  readonly senderGatewayTransactionId: string;
}

/**
 * Shows the intent to the sender and takes the money from the sender's account; `null` when the sender declines.
 * Called at most once in a call of `pay`. What it throws is thrown on as it is, and no payment is made.
 */
export type TakeFunds = (
  intent: PaymentIntent,
  context: { readonly signal: AbortSignal | undefined },
) => Promise<FundsTaken | null> | FundsTaken | null;

export type PayOutcome =
  | { readonly status: "paid"; readonly intent: PaymentIntent; readonly payment: Payment }
  | { readonly status: "declined"; readonly intent: PaymentIntent };

/** The two steps of a payment in order. See `CrossBorderClient.pay`. */
export async function pay(
  caller: ApiClient,
  request: PaymentIntentRequest,
  takeFunds: TakeFunds,
  options: RequestOptions | undefined,
): Promise<PayOutcome> {
  if (typeof takeFunds !== "function")
    throw new InvalidArgumentError("pay: takeFunds must be a function of the intent");
  // Whatever would keep the second step from being made is found before the sender's money is touched.
  caller.assertCallable(paymentEndpoints.create);
  const intent = await new PaymentIntents(caller).create(request, options);
  paymentFromIntent(intent, "to be taken");
  const signal = options?.signal;
  if (signal?.aborted) throw abortedBeforeTaking();
  const funds = await takeFunds(intent, { signal });
  if (funds === null) return { status: "declined", intent };
  const payment = await createPayment(caller, intent, funds, options);
  return { status: "paid", intent, payment };
}

function abortedBeforeTaking(): AbortedError {
  return new AbortedError("pay: the caller's signal ended the call before the money was taken", { operation: "pay" });
}

async function createPayment(
  caller: ApiClient,
  intent: PaymentIntent,
  funds: FundsTaken,
  options: RequestOptions | undefined,
): Promise<Payment> {
  const id: unknown = funds?.senderGatewayTransactionId;
  if (typeof id !== "string" || id === "") {
    throw new InvalidArgumentError(
      "pay: takeFunds must give { senderGatewayTransactionId } or null. No payment was made; if it took the sender's money, give it back",
    );
  }
  try {
    // From here on the money is taken: the caller's signal ends the call no more, the deadline alone does.
    const { signal: _, ...rest } = options ?? {};
    return await new Payments(caller).create(paymentFromIntent(intent, id), rest);
  } catch (error) {
    if (error instanceof CrossBorderError) error.funds = { intentId: intent.id, senderGatewayTransactionId: id };
    throw error;
  }
}

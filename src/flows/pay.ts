import type { ApiClient } from "../api/api-client.js";
import { parseRequestOptions, type RequestOptions } from "../api/request-options.js";
import { AbortedError, CrossBorderError, type FundsTaken, InvalidArgumentError, traceFrom } from "../core/errors.js";
import type { Part } from "../events/reporter.js";
import {
  type PaymentIntent,
  type PaymentIntentRequest,
  PaymentIntents,
  paymentIntents,
} from "../resources/payment-intents.js";
import { isSettledBadly, type Payment, payments } from "../resources/payments.js";
import { assertPayable, ownRequest, paymentInput, readFundsTaken } from "./funds.js";

/**
 * Shows the intent to the sender and takes the money from the sender's account; returns `null` when the sender declines.
 *
 * The intent is a copy: changes to it have no effect. Called at most once in a call of `pay`. What it throws is thrown to the caller
 * of `pay` as it is, and no payment is made.
 */
export type TakeFunds = (
  intent: PaymentIntent,
  context: { readonly signal: AbortSignal | undefined },
) => Promise<FundsTaken | null> | FundsTaken | null;

/** `paid` means recorded: the service has made the payment's record. */
export type PayOutcome =
  | {
      readonly status: "paid";
      readonly intent: PaymentIntent;
      readonly payment: Payment;
      /** Set if a status of the payment says `error` or `reverted`. What that means for the money is for the bank to decide. */
      readonly isSettledBadly?: true;
    }
  | { readonly status: "declined"; readonly intent: PaymentIntent };

/** The two steps of a payment in order, as one part of the work. See `CrossBorderClient.pay`. */
export async function pay(
  client: ApiClient,
  request: PaymentIntentRequest,
  takeFunds: TakeFunds,
  options: RequestOptions | undefined,
): Promise<PayOutcome> {
  try {
    // Changes that the caller makes to these objects during the call have no effect.
    const asked = ownRequest(request);
    const kept = parseRequestOptions(paymentIntents.create, options);
    return await client.reporter.follow(payPart, async ({ note }) => {
      const outcome = await payInSteps(client, asked, takeFunds, kept);
      note({ "cross_border.outcome": outcome.status });
      return outcome;
    });
  } catch (error) {
    throw traceFrom(error);
  }
}

const payPart = (): Part => ({ name: "pay", kind: "internal", attributes: { "cross_border.operation": "pay" } });

async function payInSteps(
  client: ApiClient,
  request: PaymentIntentRequest,
  takeFunds: TakeFunds,
  options: RequestOptions | undefined,
): Promise<PayOutcome> {
  if (typeof takeFunds !== "function") {
    throw new InvalidArgumentError("pay: takeFunds must be a function of the intent");
  }
  // Whatever would keep the second step from being made is found before the sender's money is touched.
  client.assertCallable(payments.create);
  const intent = await new PaymentIntents(client).create(request, options);
  await assertPayable(client, request, intent, options);
  const signal = options?.signal;
  if (signal?.aborted) {
    throw new AbortedError("pay: the caller's signal ended the call before the money was taken", { operation: "pay" });
  }
  const returned: unknown = await takeFunds(structuredClone(intent), { signal });
  const funds = readFundsTaken(returned, "if the sender's money was taken, give it back");
  if (funds === null) return { status: "declined", intent };
  const payment = await createPayment(client, intent, funds, options);
  return { status: "paid", intent, payment, ...(isSettledBadly(payment) && { isSettledBadly: true }) };
}

async function createPayment(
  client: ApiClient,
  intent: PaymentIntent,
  { senderGatewayTransactionId }: FundsTaken,
  options: RequestOptions | undefined,
): Promise<Payment> {
  try {
    // Now that the money is taken, only the deadline ends the call, and the caller's signal no longer does.
    const { signal: _, ...rest } = options ?? {};
    return await client.call(payments.create, [], paymentInput(intent, senderGatewayTransactionId), rest);
  } catch (error) {
    if (error instanceof CrossBorderError) error.funds = { intentId: intent.id, senderGatewayTransactionId };
    throw error;
  }
}

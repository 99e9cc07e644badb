import type { CallInput } from "../api/api-client.js";
import { InvalidArgumentError } from "../core/errors.js";
import type { PaymentIntent } from "../resources/payment-intents.js";
import type { PaymentRequest } from "../resources/payments.js";

/**
 * Makes the body of `payments.create` from an intent and the sending gateway's transaction id (Interface description 0.0.1,
 * "Payment creation"). No I/O. Everything in the intent is sent back as it came, unknown fields included; `payments.create` checks
 * what a payment needs.
 *
 * @throws {InvalidArgumentError} if the intent isn't an object, or the transaction id is empty.
 */
export function paymentFromIntent(intent: PaymentIntent, senderGatewayTransactionId: string): PaymentRequest {
  if (typeof intent !== "object" || intent === null) {
    throw new InvalidArgumentError("the intent must be the record that paymentIntents.create returned");
  }
  if (typeof senderGatewayTransactionId !== "string" || senderGatewayTransactionId === "") {
    throw new InvalidArgumentError(
      "senderGatewayTransactionId must be the sending gateway's id of the transaction that took the money: a string that is not empty",
    );
  }
  return { ...intent, senderGatewayTransactionId };
}

/** The same for a call: all unknown fields of an intent are the service's own. */
export function paymentInput(intent: PaymentIntent, senderGatewayTransactionId: string): CallInput<PaymentRequest> {
  return { body: paymentFromIntent(intent, senderGatewayTransactionId), isFromService: true };
}

import { InvalidArgumentError } from "../errors/errors.js";
import { decimalNumeral } from "../money.js";
import { type PaymentIntent, paymentIntents } from "../resources/payment-intents.js";
import type { PaymentRequest } from "../resources/payments.js";

/**
 * Makes the body of `payments.create` from an intent and the sending gateway's transaction id (Interface description 0.0.1,
 * "Payment creation"). No I/O.
 *
 * @throws {InvalidArgumentError} when the intent lacks a field that a payment needs, or the transaction id is empty.
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
  assertIntent(intent);
  const { id, senderGatewayId, senderAmount, senderCurrency, senderAccount, senderName } = intent;
  const { receiverGatewayId, receiverAmount, receiverCurrency, receiverAccount, receiverName } = intent;
  const { receivingGatewayFee, memo, extras } = intent;
  return {
    id,
    senderGatewayId,
    senderAmount,
    senderCurrency,
    senderAccount,
    senderName,
    receiverGatewayId,
    receiverAmount,
    receiverCurrency,
    receiverAccount,
    receiverName,
    receivingGatewayFee,
    memo,
    senderGatewayTransactionId,
    ...(extras === undefined ? undefined : { extras }),
  };
}

function assertIntent(intent: PaymentIntent): void {
  if (holdsInexactNumber(intent.extras)) {
    throw new InvalidArgumentError(
      "the intent's extras hold a number that JavaScript can't hold exactly: a payment would not repeat them as they are",
    );
  }
  for (const [field, kind] of Object.entries(paymentIntents.create.record)) {
    const value: unknown = Reflect.get(intent, field);
    if (kind === "any") continue;
    if (typeof value !== "string") {
      throw new InvalidArgumentError(`the intent's ${field} is not a string: a payment can't be made of it`);
    }
    if (kind === "decimal" && !decimalNumeral.test(value)) {
      throw new InvalidArgumentError(`the intent's ${field} is not a decimal numeral: a payment can't be made of it`);
    }
  }
}

/** Whether JSON data, of any depth, has an integer that was rounded when it was read. */
function holdsInexactNumber(data: unknown): boolean {
  const pending = [data];
  while (pending.length > 0) {
    const value = pending.pop();
    if (typeof value === "number" && Math.abs(value) > Number.MAX_SAFE_INTEGER) return true;
    for (const item of typeof value === "object" ? Object.values(value ?? {}) : []) pending.push(item);
  }
  return false;
}

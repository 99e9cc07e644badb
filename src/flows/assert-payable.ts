import type { ApiClient } from "../api/api-client.js";
import type { RequestOptions } from "../api/request-options.js";
import { CrossBorderError } from "../core/errors.js";
import { isPlainObject } from "../core/parse.js";
import { type PaymentIntent, type PaymentIntentRequest, paymentIntents } from "../resources/payment-intents.js";
import { payments } from "../resources/payments.js";
import { isSameField } from "./core/match.js";
import { paymentInput } from "./payment-from-intent.js";

/** What an intent has to repeat of its request. A memo moves no money: a service may shorten it. */
const repeated = [
  "senderGatewayId",
  "senderCurrency",
  "senderAccount",
  "receiverGatewayId",
  "receiverCurrency",
  "receiverAccount",
  "receiverAmount",
] as const satisfies readonly (keyof PaymentIntentRequest)[];

/**
 * Refuses an intent that must not be paid, or can't be, before any money is taken for it: the payment's bytes are built, and the
 * signer is known to sign.
 *
 * @throws {InvalidArgumentError} when no payment can be made of it.
 * @throws {CrossBorderError} `intent_mismatch` when it answers another request. It names the fields that differ, not their values.
 */
export async function assertPayable(
  client: ApiClient,
  request: PaymentIntentRequest,
  intent: PaymentIntent,
  options: RequestOptions | undefined,
): Promise<void> {
  const input = paymentInput(intent, "to be taken");
  assertAnswers(intent, request);
  await client.check(payments.create, [], input, options);
}

function assertAnswers(intent: PaymentIntent, request: PaymentIntentRequest): void {
  const { name: operation } = paymentIntents.create;
  const differing = repeated.filter((field) => !isSameField(field, intent[field], request[field]));
  if (differing.length === 0) return;
  throw new CrossBorderError(
    `${operation}: the service responded with the intent of another request, which differs in ${differing.join(", ")}; no money was taken and nothing was paid`,
    { code: "intent_mismatch", operation },
  );
}

/** A copy, so that it doesn't matter what becomes of the caller's object. What isn't an object is refused later. */
export function ownRequest(request: PaymentIntentRequest): PaymentIntentRequest {
  return isPlainObject(request) ? { ...request } : request;
}

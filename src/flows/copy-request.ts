import { type PaymentIntentRequest, paymentIntents } from "../resources/payment-intents.js";

/**
 * A copy of a request, so that what becomes of the caller's object during a flow does not matter. Each field is read once, and
 * nothing is checked: what is no object stays as it is, and fields that a request does not have are kept, to be refused.
 */
export function copyRequest(request: PaymentIntentRequest): PaymentIntentRequest {
  if (typeof request !== "object" || request === null || Array.isArray(request)) return request;
  const copy = { ...request };
  for (const field of fields) {
    if (Object.hasOwn(copy, field)) continue;
    const value: unknown = Reflect.get(request, field);
    if (value !== undefined) Reflect.set(copy, field, value);
  }
  return Object.freeze(copy);
}

const fields = fieldsOfRequest();

function fieldsOfRequest(): readonly string[] {
  return Object.keys(paymentIntents.create.body?.fields ?? {});
}

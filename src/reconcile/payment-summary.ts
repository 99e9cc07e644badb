import type { Payment } from "../resources/payments.js";
import { comparedAmounts, comparedTexts } from "./own-entry.js";

const summaryFields = [
  "id",
  "createdAt",
  "updatedAt",
  "pagingToken",
  "senderGatewayId",
  "senderGatewayTransactionId",
  ...comparedAmounts,
  ...comparedTexts,
] as const satisfies readonly (keyof Payment)[];

/** A payment without its names, keys, signatures, memo and creating request: of a million payments, those would fill a disk. */
export type PaymentSummary = Pick<Payment, (typeof summaryFields)[number]>;

export function summaryOf(payment: PaymentSummary): PaymentSummary {
  const entries = summaryFields.map((field) => [field, payment[field]]);
  // The fields are those of the type.
  return Object.fromEntries(entries) as PaymentSummary;
}

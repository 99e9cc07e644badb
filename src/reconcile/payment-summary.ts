import type { Payment } from "../resources/payments.js";
import { type ComparedField, comparedFields } from "./own-entry.js";

/** A payment without its names, keys, signatures, memo and creating request: of a million payments, those would fill a disk. */
export type PaymentSummary = Pick<
  Payment,
  "id" | "createdAt" | "updatedAt" | "pagingToken" | "senderGatewayId" | "senderGatewayTransactionId" | ComparedField
>;

const summaryFields: readonly (keyof PaymentSummary)[] = [
  "id",
  "createdAt",
  "updatedAt",
  "pagingToken",
  "senderGatewayId",
  "senderGatewayTransactionId",
  ...comparedFields,
];

export function summaryOf(payment: PaymentSummary): PaymentSummary {
  const entries = summaryFields.map((field) => [field, payment[field]]);
  // The fields are those of the type.
  return Object.fromEntries(entries) as PaymentSummary;
}

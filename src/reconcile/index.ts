/**
 * Lists the payments of a period, watches their statuses, and compares them with your own entries.
 *
 * @module
 */

export type { Difference, Discrepancy, PaymentSummary } from "./compare.js";
export { listPayments } from "./list-payments.js";
export type { ListPaymentsOptions, ReconcileOptions, WatchOptions } from "./options.js";
export type { BookedEntry, ComparedField, OwnEntry } from "./own-entry.js";
export type { PaymentsClient } from "./read-payments.js";
export { reconcilePayments } from "./reconcile-payments.js";
export { type PaymentEvent, watchPayments } from "./watch-payments.js";

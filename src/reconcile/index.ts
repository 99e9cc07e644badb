/**
 * What happens to payments after they were made: listing those of a period, watching their statuses, and comparing them with your own
 * entries.
 *
 * @module
 */

export type { Difference, Discrepancy } from "./compare-group.js";
export { type ListPaymentsOptions, listPayments } from "./list-payments.js";
export type { BookedEntry, ComparedField, OwnEntry } from "./own-entry.js";
export type { PaymentSummary } from "./payment-summary.js";
export type { PaymentsClient } from "./payments-client.js";
export type { ReconcileOptions } from "./reconcile-options.js";
export { reconcilePayments } from "./reconcile-payments.js";
export type { WatchOptions } from "./watch-options.js";
export { type PaymentEvent, watchPayments } from "./watch-payments.js";

/**
 * What happens to payments after they were made: watching their statuses, and comparing them with your own entries.
 *
 * @module
 */
export type { PaymentsClient } from "./payments-client.js";
export type { WatchOptions } from "./watch-options.js";
export { type PaymentEvent, watchPayments } from "./watch-payments.js";

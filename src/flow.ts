/**
 * Payments that survive crashes: `PaymentFlow` and what it works with.
 *
 * @module
 */
export { JournalError } from "./errors.js";
export type { FlowCipher } from "./flows/flow-codec.js";
export type { DeclinedFlow, FlowOutcome, HeldFlow, PaidFlow, RejectedFlow } from "./flows/flow-outcome.js";
export type { Claim, Decision, Look, Refusal } from "./flows/flow-state.js";
export type { ReleaseFundsByKey, TakeFundsByKey } from "./flows/flow-steps.js";
export type { Journal, JournalEntry, JournalState, LeaseRequest } from "./flows/journal.js";
export { MemoryJournal, type MemoryJournalOptions } from "./flows/memory-journal.js";
export {
  PaymentFlow,
  type PaymentFlowOptions,
  type RecoverOptions,
  type Resolution,
  type RunOptions,
} from "./flows/payment-flow.js";

/**
 * Payments that survive crashes: `PaymentFlow` and what it works with.
 *
 * @module
 */
export { JournalError } from "../errors/errors.js";
export type { FlowCipher } from "./flow-codec.js";
export type { DeclinedFlow, FlowOutcome, HeldFlow, PaidFlow, RejectedFlow } from "./flow-outcome.js";
export type { Claim, Decision, Look, Refusal } from "./flow-state.js";
export type { ReleaseFundsByKey, TakeFundsByKey } from "./flow-steps.js";
export type { Journal, JournalEntry, JournalState, LeaseRequest } from "./journal.js";
export { MemoryJournal, type MemoryJournalOptions } from "./memory-journal.js";
export {
  PaymentFlow,
  type PaymentFlowOptions,
  type RecoverOptions,
  type Resolution,
  type RunOptions,
} from "./payment-flow.js";

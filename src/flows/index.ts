/**
 * Payments that survive crashes: `PaymentFlow` and what it works with.
 *
 * @module
 */
export { type FundsTaken, JournalError } from "../errors/errors.js";
export type { FlowClient } from "./flow-client.js";
export type { FlowCipher } from "./flow-codec.js";
export type { PaymentFlowOptions, RecoverOptions, RunOptions } from "./flow-options.js";
export type { DeclinedFlow, FlowOutcome, HeldFlow, PaidFlow, RejectedFlow } from "./flow-outcome.js";
export { FlowPausedError } from "./flow-paused-error.js";
export type {
  Claim,
  ClaimResponse,
  FlowPhase,
  FlowRefusal,
  Look,
  OperatorDecision,
  ResolveAction,
} from "./flow-state.js";
export type { ReleaseFundsByKey, TakeFundsByKey } from "./funds-functions.js";
export type { Journal, JournalEntry, JournalState, LeaseRequest } from "./journal.js";
export { MemoryJournal, type MemoryJournalOptions } from "./memory-journal.js";
export { PaymentFlow } from "./payment-flow.js";
export type { Resolution } from "./resolve-flow.js";

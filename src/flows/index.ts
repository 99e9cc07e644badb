/**
 * Payments that survive crashes: `PaymentFlow` and what it works with.
 *
 * @module
 */
export type { TokenHold } from "../api/api-client.js";
export { type FundsTaken, JournalError } from "../core/errors.js";
export type { DecisionEvent, FlowEvent, FlowEvents, FlowPhase } from "../events/events.js";
export type { FlowCipher } from "./codec.js";
export type { Action, Decision, Fact, Funds, Phase } from "./core/state.js";
export type { CloseReport } from "./flow-call.js";
export type { FlowFunds, ReleaseFundsByKey, TakeFundsByKey } from "./funds.js";
export type {
  FlowScope,
  Journal,
  JournalEntry,
  JournalList,
  JournalQuery,
  JournalState,
  LeaseId,
  LeaseRequest,
  PhaseCount,
  PruneOptions,
  PruneReport,
  ScopeFilter,
  StateId,
} from "./journal.js";
export { finalPhases } from "./journal.js";
export { MemoryJournal, type MemoryJournalOptions } from "./memory-journal.js";
export type { FlowApproval, FlowResolution } from "./operate.js";
export type {
  CircuitBreakerOptions,
  CloseOptions,
  DecisionOptions,
  FlowClient,
  FlowQuery,
  PatientOptions,
  PaymentFlowOptions,
  RecoverOptions,
  RunOptions,
  ServiceFacts,
  WorkOptions,
} from "./options.js";
export type {
  Claim,
  DeclinedFlow,
  FlowDecision,
  FlowOutcome,
  FlowRefusal,
  HeldFlow,
  HeldReason,
  PaidFlow,
  QuotedFlow,
  RejectedFlow,
  ResolveAction,
  ServiceFact,
  Settled,
} from "./outcome.js";
export { FlowPausedError } from "./outcome.js";
export { PaymentFlow } from "./payment-flow.js";
export type {
  FlowCounts,
  FlowDetails,
  FlowGauges,
  FlowListItem,
  FlowStatus,
  HistoryStep,
  StoredGauges,
  WaitingPhase,
  WaitingSince,
  WorkGauges,
} from "./status.js";

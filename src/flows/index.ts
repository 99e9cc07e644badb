/**
 * Payments that survive crashes: `PaymentFlow` and what it works with.
 *
 * @module
 */
export type { TokenHold } from "../auth/token-hold.js";
export { type FundsTaken, JournalError } from "../errors/errors.js";
export type { FlowEvent, FlowPhase } from "../events/flow-event.js";
export type { CheckedJournal } from "./checked-journal.js";
export type { Approval, Refusal, StoredDecision } from "./decide-in-pairs.js";
export type { FlowClient } from "./flow-client.js";
export type { ServiceFacts } from "./flow-context.js";
export type { FlowDetails, WaitingProposal } from "./flow-details.js";
export type { FlowEvents } from "./flow-events.js";
export type {
  CloseOptions,
  DecisionOptions,
  FlowQuery,
  PaymentFlowOptions,
  RecoverOptions,
  RunOptions,
  WorkOptions,
} from "./flow-options.js";
export type { DeclinedFlow, FlowOutcome, HeldFlow, PaidFlow, RejectedFlow } from "./flow-outcome.js";
export { FlowPausedError } from "./flow-paused-error.js";
export type { FlowCounts, FlowGrounds, FlowStatus, StuckFlow, WaitingSince } from "./flow-status.js";
export type { FlowsElsewhere } from "./flows-elsewhere.js";
export type { FlowFunds, ReleaseFundsByKey, TakeFundsByKey } from "./funds-functions.js";
export type { FlowGauges, StoredGauges, WaitingPhase } from "./gauges/flow-gauges.js";
export type { WorkGauges } from "./gauges/work-gauges.js";
export type {
  BacklogCount,
  FlowScope,
  Journal,
  JournalEntry,
  JournalQuery,
  JournalState,
  LeaseId,
  LeaseRequest,
  ObservedLease,
  PruneOptions,
  PruneReport,
  ScopeCounts,
  ScopeFilter,
  StateId,
} from "./journal.js";
export { MemoryJournal, type MemoryJournalOptions } from "./memory-journal.js";
export type { MoveOptions, MoveReport } from "./move-flows.js";
export type { CloseReport } from "./ownership/open-work.js";
export { PaymentFlow } from "./payment-flow.js";
export type { QuotedFlow } from "./quote-flow.js";
export type { Resolution } from "./resolve-flow.js";
export { type DecidedFlow, type DecisionsReport, verifyDecisions } from "./state/decision-chain.js";
export type { FlowCipher, KeptEvidence } from "./state/flow-codec.js";
export type {
  Claim,
  ClaimResponse,
  FlowFailures,
  FlowHistory,
  FlowRefusal,
  FlowStep,
  Look,
  LookGrounds,
  OperatorDecision,
  ResolveAction,
  SeenFlow,
  ServiceFact,
  Waits,
} from "./state/flow-state.js";
export type { CircuitBreakerOptions } from "./steps/circuit-breaker.js";

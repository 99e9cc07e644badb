import type { ApiClient } from "../api/api-client.js";
import type { Reporter } from "../events/reporter.js";
import type { SharedReadings } from "../payments/shared-readings.js";
import { uniqueId } from "../platform/unique-id.js";
import type { FlowCall } from "./flow-call.js";
import type { FlowFunds, ReleaseFundsByKey, TakeFundsByKey } from "./funds-functions.js";
import type { Working } from "./gauges/work-gauges.js";
import type { Journal, LeaseRequest, ScopeFilter } from "./journal.js";
import type { KnownPayments } from "./looking/known-payments.js";
import type { NewestPayment } from "./looking/newest-payment.js";
import type { Lease } from "./ownership/lease.js";
import type { LeaseObserver } from "./ownership/lease-observer.js";
import type { OpenWork } from "./ownership/open-work.js";
import type { FlowCodec } from "./state/flow-codec.js";
import type { FlowState } from "./state/flow-state.js";
import type { CircuitBreaker } from "./steps/circuit-breaker.js";

/** What the service's operators promise. By default absence proves nothing, and nothing is sent twice. */
export interface ServiceFacts {
  /** At most one payment is made of one intent. */
  readonly singleUseIntents?: boolean | undefined;
  /** A payment is listed so many milliseconds after it was sent at the latest, proxies included, or never. */
  readonly listedWithinMs?: number | undefined;
  /** By so much the clocks of the service's machines differ at most, in milliseconds. Default: 60,000. */
  readonly clockSkewMs?: number | undefined;
}

export interface FlowContext {
  readonly client: ApiClient;
  readonly journal: Journal;
  readonly codec: FlowCodec;
  readonly owner: string;
  readonly leaseMs: number;
  /** The flows that may be run: those of one gateway where `gatewayId` is given, otherwise all of the service. */
  readonly scope: ScopeFilter;
  readonly takeFunds: TakeFundsByKey;
  readonly releaseFunds: ReleaseFundsByKey;
  readonly readBackDelayMs: number;
  readonly readBacks: number;
  readonly service: ServiceFacts;
  readonly bankSkewMs: number;
  /** How many people a decision about a flow takes. */
  readonly people: 1 | 2;
  readonly newestPayment: NewestPayment;
  readonly knownPayments: KnownPayments;
  readonly readings: SharedReadings;
  readonly circuitBreaker: CircuitBreaker | undefined;
  /** The client's reporter, with the hooks of the flow. */
  readonly reporter: Reporter;
  readonly openWork: OpenWork;
  readonly leaseObserver: LeaseObserver;
  /** Every `work` and `recover` of this process. */
  readonly working: Set<Working>;
}

/** A flow that this process has the lease of. */
export interface OwnedFlow {
  readonly lease: Lease;
  readonly call: FlowCall;
  /**
   * Whether the payment is to be looked for before it is claimed: an earlier process may have claimed it, and the journal may have lost
   * that. Only who has just begun the flow, or has just looked, knows that nobody has.
   */
  mustLook: boolean;
  /** What `takeFunds` said to this owner, until the claim that it was asked for. */
  funds?: FlowFunds | undefined;
  /** When the newest claim was refused, by the monotonic clock. A proxy may have sent it once more just before. */
  refusedAtMs?: number;
  /** Whether this owner sent the payment and got no definite response. Where it is found to be made, the way to the service is open. */
  hasNoResponse?: true;
}

export interface StepResult {
  /** It is stored before anything else happens. */
  readonly state: FlowState;
  /** Set where only a part of the step's wait is over, and not the step. */
  readonly isPartial?: true;
  /** It is thrown to the caller once the state is stored. */
  readonly error?: unknown;
}

/** Each request has a nonce of its own. */
export function leaseRequest({ owner, leaseMs }: FlowContext): LeaseRequest {
  return { owner, leaseMs, nonce: uniqueId() };
}

import type { ApiClient } from "../api/api-client.js";
import type { CrossBorderError } from "../errors/errors.js";
import type { Deadline } from "../timing/deadline.js";
import type { FlowCodec } from "./flow-codec.js";
import type { FlowState } from "./flow-state.js";
import type { ReleaseFundsByKey, TakeFundsByKey } from "./funds-functions.js";
import type { Journal, LeaseRequest } from "./journal.js";
import type { Lease } from "./lease.js";

/** What all flows of one `PaymentFlow` have in common. */
export interface FlowContext {
  readonly client: ApiClient;
  readonly journal: Journal;
  readonly codec: FlowCodec;
  readonly leaseRequest: LeaseRequest;
  readonly takeFunds: TakeFundsByKey;
  readonly releaseFunds: ReleaseFundsByKey;
  readonly readBackDelayMs: number;
  readonly readBacks: number;
}

/** A flow that this process has the lease of. */
export interface OwnedFlow {
  readonly lease: Lease;
  /** The caller's signal. It ends the waits of this run, but not a payment that was claimed. */
  readonly deadline: Deadline;
}

/** What a step of a flow led to. */
export interface StepResult {
  /** Stored before anything else happens. */
  readonly state: FlowState;
  /** Thrown to whoever runs the flow, once the state is stored. */
  readonly error?: CrossBorderError;
}

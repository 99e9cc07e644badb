import type { PaymentIntent, PaymentIntentRequest } from "../resources/payment-intents.js";
import type { Payment } from "../resources/payments.js";

/** A payment's signed request as the journal holds it. It is stored before the request is sent. */
export interface Claim {
  /** Path on the wire, base path included. */
  readonly path: string;
  /** The raw body. */
  readonly body: string;
  /** The signature header: it comes back as the payment's `creationRequestSignatureBase64`. */
  readonly signature: string;
  /** The lease under which it may be sent. The owner of another lease never sends it. */
  readonly epoch: number;
  /** Milliseconds since 1970. */
  readonly claimedAtMs: number;
  /** Milliseconds since 1970. After this time not even the owner that made the claim sends it. */
  readonly sendByMs: number;
  /** Set once the service had refused it, and complete looks had not found the payment. */
  readonly isRefused?: true;
}

/** One read-back: the newest payments were read, back to the time before the claim. */
export interface Look {
  /** Milliseconds since 1970. */
  readonly atMs: number;
  /** How many requests may have been sent by then. */
  readonly claims: number;
  /** How many payments were read. */
  readonly seen: number;
  /** Whether every payment that was listed since before the claim was certainly read. */
  readonly complete: boolean;
  /** Why that is not certain, if so. */
  readonly problem?: string;
  /** A payment with this flow's transaction id or body, but with another signature or other content. Somebody has to look at it. */
  readonly lookalike?: Payment;
}

/** What came in response to a payment's request, where that did not say whether the payment was made. */
export interface ClaimResponse {
  readonly status: number;
  /** The service's own `error` or `code`, word for word. */
  readonly serviceCode?: string;
  readonly requestId?: string;
}

/** A definite refusal: the service made no payment, or an operator decided that none is to be made. */
export interface FlowRefusal {
  readonly by: "service" | "operator";
  /** Status of the service's response. */
  readonly status?: number;
  /** The service's own `error` or `code`, if it gave one. */
  readonly code: string;
  readonly message: string;
}

/** What an operator can decide about a held flow. */
export type ResolveAction = "found" | "release" | "resend";

/** What an operator decided about a held flow. */
export interface OperatorDecision {
  readonly action: ResolveAction;
  readonly by: string;
  readonly why: string;
  /** Set where it was decided although the payment could not be looked for, or a lookalike was seen. */
  readonly evenUnseen?: true;
  /** Milliseconds since 1970. */
  readonly atMs: number;
}

interface Begun {
  readonly request: PaymentIntentRequest;
}

interface WithIntent extends Begun {
  readonly intent: PaymentIntent;
}

interface Reconcilable extends WithIntent {
  /** Paging token of the newest payment before the money was asked for; `null` when there was no payment. */
  readonly since: string | null;
}

interface WithFunds extends Reconcilable {
  readonly senderGatewayTransactionId: string;
  /** Every claim so far that may have been sent, the newest last. */
  readonly claims: readonly Claim[];
  readonly looks: readonly Look[];
  readonly decisions: readonly OperatorDecision[];
}

interface WithClaim extends WithFunds {
  readonly claim: Claim;
}

interface WithReason extends WithClaim {
  /** Why the outcome is unknown. */
  readonly reason: string;
  /** The response to the newest claim, if one came. */
  readonly response?: ClaimResponse;
  /**
   * Set where that response refused the payment. It may be the response to a request that a proxy had sent twice, or a proxy's own:
   * the money is only released once the payment was looked for.
   */
  readonly refusal?: FlowRefusal;
}

/** How far a flow has got. */
export type FlowPhase =
  | "created"
  | "intent"
  | "funds-requested"
  | "declined"
  | "funds-taken"
  | "claimed"
  | "unknown"
  | "held"
  | "paid"
  | "refused"
  | "rejected";

/** A flow's state. Each state is stored before the step that follows from it is taken. */
export type FlowState =
  | ({ readonly phase: "created" } & Begun)
  | ({ readonly phase: "intent" } & WithIntent)
  | ({ readonly phase: "funds-requested" } & Reconcilable)
  | ({ readonly phase: "declined" } & Reconcilable)
  | ({ readonly phase: "funds-taken" } & WithFunds)
  | ({ readonly phase: "claimed" } & WithClaim)
  | ({ readonly phase: "unknown" } & WithReason)
  | ({ readonly phase: "held" } & WithReason)
  | ({ readonly phase: "paid"; readonly payment: Payment } & WithFunds)
  | ({ readonly phase: "refused"; readonly refusal: FlowRefusal } & WithFunds)
  | ({ readonly phase: "rejected"; readonly refusal: FlowRefusal } & Begun & Partial<WithFunds>);

export type StateOf<P extends FlowPhase> = Extract<FlowState, { readonly phase: P }>;

/** Phases in which nothing is left to do, unless somebody decides otherwise. */
export const settledPhases = ["declined", "paid", "rejected", "held"] as const satisfies readonly FlowPhase[];
export type SettledPhase = (typeof settledPhases)[number];
export type UnsettledPhase = Exclude<FlowPhase, SettledPhase>;
export type SettledState = StateOf<SettledPhase>;

export function isSettled(state: FlowState): state is SettledState {
  return (settledPhases as readonly FlowPhase[]).includes(state.phase);
}

import type { PaymentIntent, PaymentIntentRequest } from "../resources/payment-intents.js";
import type { Payment } from "../resources/payments.js";

/** The signed request of a payment as it stands on disk before its first byte leaves. */
export interface Claim {
  /** Path on the wire, base path included. */
  readonly path: string;
  /** The raw body. */
  readonly body: string;
  /** The signature header: it comes back as the payment's `creationRequestSignatureBase64`. */
  readonly signature: string;
  /** The lease under which it may be sent. Whoever holds another one never sends it. */
  readonly epoch: number;
  /** Milliseconds since 1970. */
  readonly claimedAtMs: number;
  /** After this moment not even its own owner sends it. */
  readonly sendByMs: number;
}

/** One read-back: a look at the newest payments, back to before the claim. */
export interface Look {
  readonly atMs: number;
  /** How many requests may have been sent by then. */
  readonly claims: number;
  /** How many payments were looked at. */
  readonly seen: number;
  /** Why it could not be finished, where it could not. */
  readonly problem?: string;
}

/** A definite no: the service made no payment, or an operator decided so. */
export interface Refusal {
  readonly by: "service" | "operator";
  /** Of the service's response. */
  readonly status?: number;
  readonly code: string;
  readonly message: string;
}

/** What an operator decided about a held flow. */
export interface Decision {
  readonly action: "resend" | "release" | "found";
  readonly by: string;
  readonly why: string;
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
  readonly decisions: readonly Decision[];
}

interface WithClaim extends WithFunds {
  readonly claim: Claim;
}

/** A flow's state. Each is written before the step that follows from it is taken. */
export type FlowState =
  | ({ readonly phase: "created" } & Begun)
  | ({ readonly phase: "intent" } & WithIntent)
  | ({ readonly phase: "funds-requested" } & Reconcilable)
  | ({ readonly phase: "declined" } & Reconcilable)
  | ({ readonly phase: "funds-taken" } & WithFunds)
  | ({ readonly phase: "claimed" } & WithClaim)
  | ({ readonly phase: "unknown"; readonly reason: string } & WithClaim)
  | ({ readonly phase: "held"; readonly reason: string } & WithClaim)
  | ({ readonly phase: "paid"; readonly payment: Payment } & WithFunds)
  | ({ readonly phase: "refused"; readonly refusal: Refusal } & WithFunds)
  | ({ readonly phase: "rejected"; readonly refusal: Refusal } & Begun & Partial<WithFunds>);

export type Phase = FlowState["phase"];
export type StateOf<P extends Phase> = Extract<FlowState, { readonly phase: P }>;

/** Phases in which nothing is left to be done without somebody's decision. */
export const settledPhases = ["declined", "paid", "rejected", "held"] as const satisfies readonly Phase[];
export type SettledPhase = (typeof settledPhases)[number];
export type UnsettledPhase = Exclude<Phase, SettledPhase>;
export type SettledState = StateOf<SettledPhase>;

export function isSettled(state: FlowState): state is SettledState {
  return (settledPhases as readonly Phase[]).includes(state.phase);
}

/** Names of the fields in which two requests differ. */
export function differingFields(one: PaymentIntentRequest, other: PaymentIntentRequest): string[] {
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...names].filter((name) => Reflect.get(one, name) !== Reflect.get(other, name)).sort();
}

import type { Effect } from "../../errors/errors.js";
import type { FlowPhase } from "../../events/flow-event.js";
import type { PaymentIntent, PaymentIntentRequest } from "../../resources/payment-intents.js";
import type { Payment } from "../../resources/payments.js";

/** A payment's signed request as the journal holds it. It is stored before the request is sent. */
export interface Claim {
  /** Path on the wire, base path included. */
  readonly path: string;
  /** The raw body. */
  readonly body: string;
  /** The signature header: it comes back as the payment's `creationRequestSignatureBase64`. */
  readonly signature: string;
  /** SHA-256 of the public key's DER form (SubjectPublicKeyInfo), in hex. */
  readonly keyId?: string;
  /** The lease under which it may be sent. The owner of another lease never sends it. */
  readonly epoch: number;
  /** Milliseconds since 1970. */
  readonly claimedAtMs: number;
  /** Milliseconds since 1970. After this time not even the owner that made the claim sends it. */
  readonly sendByMs: number;
  /** Set once the service had refused it, and complete looks had not found the payment. */
  readonly isRefused?: true;
  /** How often the same bytes were refused in this way, if more than once. `epoch` and times are those of the last time. */
  readonly refusals?: number;
  /** Set once a look that was late enough had not found the payment: see `service.listedWithinMs`. */
  readonly isAbsent?: true;
}

/**
 * The newest payment before the money was asked for: every complete look has to meet it. `{ none: true }` where no payment was listed;
 * `null` where nobody looked. Version 0.2.0 stored the token alone, and `null` where there was no payment, too.
 */
export type Mark = MarkedPayment | { readonly none: true } | string | null;

/** A payment by id, by token, or by both. */
export interface MarkedPayment {
  readonly id?: string;
  readonly token?: string;
}

/** What a look rests on: what it saw besides the payment that it looked for. */
export interface LookGrounds {
  /**
   * Whether the newest payment from before the money was asked for was among those that were read: `met` or `missed`. `no payment` where
   * there was none, `unknown` where nobody had looked.
   */
  readonly mark: "met" | "missed" | "no payment" | "unknown";
  /**
   * Where it ended: at the payment that was `found`; with `enough`, so far back that the payment can't be older; at the `end` of the list,
   * which was proved; at a `gap`, where a page did not follow the one before it; or `unproved`, where nothing in the list shows that all
   * of it was read.
   */
  readonly end: "found" | "enough" | "end" | "gap" | "unproved";
  /** The newest payment (`id`) that this process knew to be listed by then, and that was. Absent where it knew of none. */
  readonly freshBy?: string;
  /** How many seconds the oldest response had been in a cache. Absent where none said that it came from one. */
  readonly ageSeconds?: number;
  /** How far past the mark it read, by the service's times, in milliseconds. Absent where there was no mark. */
  readonly pastMarkMs?: number;
}

/** One look at the list of payments. */
export interface Look {
  /** Milliseconds since 1970. */
  readonly atMs: number;
  /** How many requests may have been sent by then. */
  readonly claims: number;
  /** How many payments were read. */
  readonly seen: number;
  /** Whether every payment that was listed since before the money was asked for was certainly read, or the flow's own was found. */
  readonly complete: boolean;
  /** Why that is not certain, if so. */
  readonly problem?: string;
  /** What it rests on. Absent in looks of version 0.2.0. */
  readonly grounds?: LookGrounds;
  /** Set where the flow's payment was found. Then no further payments were read. */
  readonly found?: true;
  /** A payment with this flow's transaction id or body, but with another signature or other content. Somebody has to look at it. */
  readonly lookalike?: Payment;
}

/** What came in response to a payment's request, where that did not say whether the payment was made. */
export interface ClaimResponse {
  readonly status: number;
  /** The service's own `error` or `code`, word for word. */
  readonly serviceCode?: string;
  readonly requestId?: string;
  /** `done` where the response said that the payment was made, although its record could not be read. */
  readonly effect?: Effect;
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

/** What an operator can decide about a flow that is held or stuck. */
export type ResolveAction = "found" | "release" | "resend";

/** What an operator decided about a flow, or proposed, approved or refused where two people decide. */
export interface OperatorDecision {
  /** Absent where one person decided alone. Only that, and what is `approved`, was carried out. */
  readonly step?: "proposed" | "approved" | "refused";
  readonly action: ResolveAction;
  readonly by: string;
  /** Of an approval that gave no grounds of its own: those of its proposal. */
  readonly why: string;
  /** Set where it was decided although the payment could not be looked for, or a lookalike was seen. */
  readonly withoutProof?: true;
  /** Milliseconds since 1970; no earlier than that of the decision before it. */
  readonly atMs: number;
  /** Of a proposal: what its proposer saw. */
  readonly saw?: SeenFlow;
  /** The service's record that was given with a proposal of `found`; once that has ended, and where names were left out, its SHA-256 in hex. */
  readonly payment?: Payment | string;
  /** SHA-256 of the decision before it, in hex; of the first one that of the key. Absent in those of version 0.2.0. */
  readonly previous?: string;
}

/** What somebody saw of a flow about which they decided. */
export interface SeenFlow {
  /** Which state it was: each one that is stored has the next number. */
  readonly revision: number;
  /** How many looks for its payment there were. */
  readonly looks: number;
  /** SHA-256 of all that there was to see, in hex. */
  readonly hash: string;
}

/** How often in a row a flow stopped without getting any further. What a caller's signal ended is not counted. */
export interface FlowFailures {
  readonly count: number;
  /** When the first one was, in milliseconds since 1970. */
  readonly sinceMs: number;
  /** When the last one was, in milliseconds since 1970. */
  readonly atMs: number;
  /** What the last one failed with: the library's own code, or the name of another error. */
  readonly code: string;
  /** The `code` of that other error or of its cause, where it is an identifier such as `ECONNREFUSED` or `23505`. */
  readonly errorCode?: string;
  readonly message: string;
}

/** How long the service wants to be left alone, as a response's `Retry-After` said. */
export interface AskedWait {
  /** Milliseconds since 1970, by the journal's clock. */
  readonly sinceMs: number;
  readonly forMs: number;
}

/** A step that a flow has taken. */
export interface FlowStep {
  /** Absent of the first one. */
  readonly from?: FlowPhase;
  /** The same as `from` when the step failed, or a look for the payment decided nothing yet. */
  readonly to: FlowPhase;
  /** When it ended, in milliseconds since 1970, by its owner's clock. Of one that was repeated: the last time. */
  readonly atMs: number;
  /** How long it took, in milliseconds, without what storing it took. Of one that was repeated: the last time. */
  readonly durationMs: number;
  /** The process that took it: the option `owner`. */
  readonly owner: string;
  /** How often the same owner took it in a row with the same failure, if more than once. */
  readonly times?: number;
  /** What it failed with: the library's own code, or the name of another error. */
  readonly code?: string;
}

/** The newest steps of a flow, the oldest first. */
export interface FlowHistory {
  readonly steps: readonly FlowStep[];
  /** How many older ones are no longer kept. */
  readonly dropped: number;
}

/** A promise of the service's operators that a flow relied on: see the option `service`. */
export type ServiceFact = "singleUseIntents" | "listedWithinMs";

interface Begun {
  readonly request: PaymentIntentRequest;
  /** Fingerprint of the key that signed for the process that began the flow. */
  readonly keyId?: string;
  /** Absent while the flow gets further. */
  readonly failures?: FlowFailures;
  readonly reliedOn?: readonly ServiceFact[];
  /** Absent where the last response asked for no wait, or it is over. */
  readonly askedWait?: AskedWait;
  /** Epoch of the owner that got the flow further last; absent where that is the first one. */
  readonly progressEpoch?: number;
  /** Absent in what release 0.2.0 stored. */
  readonly history?: FlowHistory;
  /** The longest lease of the owners that took a step: for so long a claim may be sent that the journal lost. Absent in what release 0.2.0 stored. */
  readonly leaseMs?: number;
}

interface WithIntent extends Begun {
  readonly intent: PaymentIntent;
}

/** How long owners have waited, by their monotonic clocks, since the newest claim. */
export interface Waits {
  /** Includes the time since the last look. */
  readonly ms: number;
  /** How many looks were taken when all owners together had waited for long enough, and none of them alone. */
  readonly looks: number;
}

interface Payable extends WithIntent {
  /** The newest payment before the money was asked for. */
  readonly since: Mark;
  /** Set where the money was taken for the first time by the call that noted `since`: then no payment of the key is older. */
  readonly isTakenSince?: true;
  /** Absent until it is stored that the money was taken. */
  readonly senderGatewayTransactionId?: string;
  /** When the bank took the money, by its own clock, in milliseconds since 1970. Absent where it does not say. */
  readonly takenAtMs?: number;
  /** Every claim so far that may have been sent, the newest last. */
  readonly claims: readonly Claim[];
  readonly looks: readonly Look[];
  readonly decisions: readonly OperatorDecision[];
  /** What its owners have waited for the next look, added up: each may live for less. Absent where nobody has. */
  readonly waits?: Waits;
}

interface WithFunds extends Payable {
  readonly senderGatewayTransactionId: string;
}

interface WithClaim extends WithFunds {
  /** The newest claim that may still turn out to be paid. It is the same as one of `claims`, and not stored twice. */
  readonly claim: Claim;
}

interface WithReason extends WithFunds {
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

export const allPhases = [
  "quoted",
  "funds-requested",
  "declined",
  "claimed",
  "unknown",
  "held",
  "paid",
  "refused",
  "rejected",
] as const satisfies readonly FlowPhase[];

/** A flow's state. Each state is stored before the step that follows from it is taken. */
export type FlowState =
  | ({ readonly phase: "quoted" } & WithIntent)
  | ({ readonly phase: "funds-requested" } & Payable)
  | ({ readonly phase: "declined"; readonly reason?: string } & WithIntent)
  | ({ readonly phase: "claimed" } & WithClaim)
  | ({ readonly phase: "unknown" } & WithClaim & WithReason)
  | ({ readonly phase: "held" } & WithReason & Partial<WithClaim>)
  | ({ readonly phase: "paid"; readonly payment: Payment } & WithFunds)
  | ({ readonly phase: "refused"; readonly refusal: FlowRefusal } & WithFunds)
  | ({ readonly phase: "rejected"; readonly refusal: FlowRefusal } & Begun & Partial<WithFunds>);

export type StateOf<P extends FlowPhase> = Extract<FlowState, { readonly phase: P }>;

/** Phases in which a flow has an outcome, unless somebody decides otherwise. */
export const outcomePhases = ["declined", "paid", "rejected", "held"] as const satisfies readonly FlowPhase[];
export type OutcomePhase = (typeof outcomePhases)[number];
export type UnsettledPhase = Exclude<FlowPhase, OutcomePhase | "quoted">;
export type OutcomeState = StateOf<OutcomePhase>;

export function hasOutcome(state: FlowState): state is OutcomeState {
  return (outcomePhases as readonly FlowPhase[]).includes(state.phase);
}

/** Whether nothing is left to do for it unless somebody asks: a quote waits for its sender. */
export function isSettled(state: FlowState): state is OutcomeState | StateOf<"quoted"> {
  return state.phase === "quoted" || hasOutcome(state);
}

/** The newest claim that may still turn out to be paid. */
export function openClaim(claims: readonly Claim[] | undefined): Claim | undefined {
  return claims?.findLast(({ isRefused, isAbsent }) => isRefused !== true && isAbsent !== true);
}

/** After so many failures in a row somebody has to look at a flow. */
const stuckAfter = 3;

/** After so many owners without any progress somebody has to look at a flow, whatever ended them. */
const mostFruitlessOwners = 10;

/** How many owners have had a flow since one of them got it further, where they are so many that somebody has to look at it. */
export function fruitlessOwners(state: FlowState, epoch: number): number | undefined {
  // One that the service wants to be left alone is taken over again and again, and waits.
  if (isSettled(state) || state.askedWait !== undefined) return undefined;
  const owners = epoch - (state.progressEpoch ?? 1);
  return owners >= mostFruitlessOwners ? owners : undefined;
}

/** Whether a flow keeps failing at the same step. */
export function isStuck(state: FlowState): boolean {
  return !isSettled(state) && (state.failures?.count ?? 0) >= stuckAfter;
}

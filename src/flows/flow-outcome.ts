import type { PaymentIntent } from "../resources/payment-intents.js";
import { isSettledBadly, type Payment } from "../resources/payments.js";
import { undecidedLookalike } from "./looking/describe-looks.js";
import type {
  Claim,
  ClaimResponse,
  FlowRefusal,
  FlowState,
  Look,
  OperatorDecision,
  OutcomeState,
  ServiceFact,
  StateOf,
} from "./state/flow-state.js";

/** How a flow ended. The same key has the same outcome, however often and wherever it is run. */
export type FlowOutcome = PaidFlow | DeclinedFlow | RejectedFlow | HeldFlow;

/** The payment was recorded: `payment` is the service's record of it. It may have failed afterwards. */
export interface PaidFlow {
  readonly status: "paid";
  readonly key: string;
  readonly intent: PaymentIntent;
  readonly payment: Payment;
  /** Set if a status of the payment says `error` or `reverted`. What that means for the money is for the bank to decide. */
  readonly isSettledBadly?: true;
  /** The looks at the list of payments, and what each of them rests on. Absent where there was none. */
  readonly looks?: readonly Look[];
  /** What operators decided, if anything. */
  readonly decisions: readonly OperatorDecision[];
  /** What the service's operators promise, where the flow went on because of it: see the option `service`. */
  readonly reliedOn?: readonly ServiceFact[];
}

/** `takeFunds` returned `null`, or the quote was cancelled: no money was taken, and nothing was paid. */
export interface DeclinedFlow {
  readonly status: "declined";
  readonly key: string;
  readonly intent: PaymentIntent;
  /** Why the quote was cancelled, if `cancel` was told. */
  readonly reason?: string;
}

/** Certainly nothing was paid. If money had been taken, `releaseFunds` has given it back. */
export interface RejectedFlow {
  readonly status: "rejected";
  readonly key: string;
  readonly refusal: FlowRefusal;
  /** Absent when the intent itself was refused. */
  readonly intent?: PaymentIntent;
  /** Absent when no money had been taken. */
  readonly senderGatewayTransactionId?: string;
  /** The looks at the list of payments that did not find the payment, and what each of them rests on. Absent where there was none. */
  readonly looks?: readonly Look[];
  readonly decisions: readonly OperatorDecision[];
  /** What the service's operators promise, where the flow went on because of it: see the option `service`. */
  readonly reliedOn?: readonly ServiceFact[];
}

/**
 * Nobody can tell whether the payment was made: a request may have been sent, no response said what became of it, and the payment
 * was not found afterwards. The money stays taken until somebody calls `flow.resolve`.
 */
export interface HeldFlow {
  readonly status: "held";
  readonly key: string;
  readonly intent: PaymentIntent;
  readonly senderGatewayTransactionId: string;
  /** Why it is held, in a sentence. */
  readonly reason: string;
  /** The response to the newest request, if one came. */
  readonly response?: ClaimResponse;
  /** The request as it was sent: path, bytes, signature. Absent where only an entry of the journal that was lost can tell. */
  readonly claim?: Claim;
  /** Every request that may have been sent, the newest last. All carry the same bytes. */
  readonly claims: readonly Claim[];
  /** The looks at the list of payments, what each of them saw, and what it rests on. */
  readonly looks: readonly Look[];
  /** A payment with this flow's transaction id or body, but with another signature or other content: whose is it? */
  readonly lookalike?: Payment;
  readonly decisions: readonly OperatorDecision[];
  /** What the service's operators promise, where the flow went on because of it: see the option `service`. */
  readonly reliedOn?: readonly ServiceFact[];
}

export function toOutcome(key: string, state: OutcomeState): FlowOutcome {
  switch (state.phase) {
    case "paid":
      return toPaid(key, state);
    case "declined":
      return toDeclined(key, state);
    case "held":
      return toHeld(key, state);
    case "rejected":
      return toRejected(key, state);
  }
}

function toPaid(key: string, state: StateOf<"paid">): PaidFlow {
  const { intent, payment, decisions } = state;
  const failure = isSettledBadly(payment) ? ({ isSettledBadly: true } as const) : undefined;
  return { status: "paid", key, intent, payment, ...failure, ...looksOf(state), decisions, ...reliance(state) };
}

export function toDeclined(key: string, { intent, reason }: StateOf<"declined">): DeclinedFlow {
  return { status: "declined", key, intent, ...(reason === undefined ? undefined : { reason }) };
}

export function toHeld(key: string, state: StateOf<"held">): HeldFlow {
  const { intent, senderGatewayTransactionId, reason, response, claim, claims, looks, decisions } = state;
  const lookalike = undecidedLookalike(looks, claims);
  return {
    status: "held",
    key,
    intent,
    senderGatewayTransactionId,
    reason,
    ...(response === undefined ? undefined : { response }),
    ...(claim === undefined ? undefined : { claim }),
    claims,
    looks,
    ...(lookalike === undefined ? undefined : { lookalike }),
    decisions,
    ...reliance(state),
  };
}

function toRejected(key: string, state: StateOf<"rejected">): RejectedFlow {
  const { refusal, intent, senderGatewayTransactionId, decisions = [] } = state;
  return {
    status: "rejected",
    key,
    refusal,
    decisions,
    ...(intent === undefined ? undefined : { intent }),
    ...(senderGatewayTransactionId === undefined ? undefined : { senderGatewayTransactionId }),
    ...looksOf(state),
    ...reliance(state),
  };
}

export function looksOf(state: FlowState): { readonly looks?: readonly Look[] } {
  const { looks = [] } = state as Partial<StateOf<"claimed">>;
  return looks.length === 0 ? {} : { looks };
}

function reliance({ reliedOn }: OutcomeState): Pick<PaidFlow, "reliedOn"> {
  return reliedOn === undefined ? {} : { reliedOn };
}

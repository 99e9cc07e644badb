import type { PaymentIntent } from "../resources/payment-intents.js";
import type { Payment } from "../resources/payments.js";
import type { Claim, Decision, Look, Refusal, SettledState } from "./flow-state.js";

/** What became of a flow. The same key gives the same outcome, however often it is run, and from wherever. */
export type FlowOutcome = PaidFlow | DeclinedFlow | RejectedFlow | HeldFlow;

/** The payment was made: `payment` is the service's record of it. */
export interface PaidFlow {
  readonly status: "paid";
  readonly key: string;
  readonly intent: PaymentIntent;
  readonly payment: Payment;
  /** What operators decided on the way, if anything. */
  readonly decisions: readonly Decision[];
}

/** `takeFunds` gave `null`: no money was taken, and nothing was paid. */
export interface DeclinedFlow {
  readonly status: "declined";
  readonly key: string;
  readonly intent: PaymentIntent;
}

/** Nothing was paid, for certain. What had been taken was given back by `releaseFunds`. */
export interface RejectedFlow {
  readonly status: "rejected";
  readonly key: string;
  readonly refusal: Refusal;
  /** Absent when it was the intent that was refused. */
  readonly intent?: PaymentIntent;
  /** Absent when no money had been taken. */
  readonly senderGatewayTransactionId?: string;
  readonly decisions: readonly Decision[];
}

/**
 * Nobody can tell whether the payment was made: the request may have left, no response came, and the payment was not found
 * afterwards. The money stays taken until `flow.resolve` is called for it.
 */
export interface HeldFlow {
  readonly status: "held";
  readonly key: string;
  readonly intent: PaymentIntent;
  readonly senderGatewayTransactionId: string;
  /** Why it is held, in a sentence. */
  readonly reason: string;
  /** The request as it was sent: path, bytes, signature. */
  readonly claim: Claim;
  /** Every request that may have been sent, the newest last. They carry the same bytes unless the first ones certainly never left. */
  readonly claims: readonly Claim[];
  /** What the read-backs saw. */
  readonly looks: readonly Look[];
  readonly decisions: readonly Decision[];
}

export function toOutcome(key: string, state: SettledState): FlowOutcome {
  switch (state.phase) {
    case "paid":
      return { status: "paid", key, intent: state.intent, payment: state.payment, decisions: state.decisions };
    case "declined":
      return { status: "declined", key, intent: state.intent };
    case "held": {
      const { intent, senderGatewayTransactionId, reason, claim, claims, looks, decisions } = state;
      return { status: "held", key, intent, senderGatewayTransactionId, reason, claim, claims, looks, decisions };
    }
    case "rejected": {
      const { refusal, intent, senderGatewayTransactionId, decisions = [] } = state;
      return {
        status: "rejected",
        key,
        refusal,
        decisions,
        ...(intent === undefined ? undefined : { intent }),
        ...(senderGatewayTransactionId === undefined ? undefined : { senderGatewayTransactionId }),
      };
    }
  }
}

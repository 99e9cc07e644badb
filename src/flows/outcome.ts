import { describeThrown } from "../core/describe.js";
import { CrossBorderError, type SentRequest } from "../core/errors.js";
import { hide } from "../core/redact.js";
import type { FlowPhase } from "../events/events.js";
import type { PaymentIntent } from "../resources/payment-intents.js";
import type { Payment } from "../resources/payments.js";
import { heldReason } from "./core/reasons.js";
import type { Action, Decision, Fact, HeldReason, Outcome, Paid, Refusal } from "./core/state.js";
import { known } from "./core/steps.js";

export type { HeldReason } from "./core/state.js";

/** What an operator can decide about a held flow. */
export type ResolveAction = Action;
/** What an operator decided or proposed about a held flow. */
export type FlowDecision = Decision;
/** A promise of the service's operators that a flow relied on: see the option `facts`. */
export type ServiceFact = Fact;

export type FlowOutcome = PaidFlow | DeclinedFlow | RejectedFlow | HeldFlow;

/** A price that can be confirmed. No money has been taken. */
export interface QuotedFlow {
  readonly status: "quoted";
  readonly key: string;
  /** What the payment costs, and who gets it. */
  readonly intent: PaymentIntent;
  /** Until when it can be confirmed, in milliseconds since 1970, by the journal's clock. */
  readonly expiresAtMs: number;
}

/** The service has recorded the payment. `isSettledBadly` tells whether it failed afterwards. */
export interface PaidFlow extends Settled {
  readonly status: "paid";
  readonly intent: PaymentIntent;
  readonly payment: Payment;
  /** Set if a status of the payment says `error` or `reverted`. What that means for the money is for the bank to decide. */
  readonly isSettledBadly?: true;
}

/** `takeFunds` returned `null`, or the quote was cancelled: no money was taken, and nothing was paid. */
export interface DeclinedFlow {
  readonly status: "declined";
  readonly key: string;
  readonly intent: PaymentIntent;
  /** Why the quote was cancelled, if `cancel` was told. */
  readonly reason?: string;
}

/** The payment was not made. If money had been taken, `releaseFunds` has given it back. */
export interface RejectedFlow extends Settled {
  readonly status: "rejected";
  readonly refusal: FlowRefusal;
  /** Absent if the service refused the intent. */
  readonly intent?: PaymentIntent;
  /** Absent if no money had been taken. */
  readonly senderGatewayTransactionId?: string;
}

/** The client can't tell whether the payment was made. The money stays taken until `work` finds the payment, or an operator decides. */
export interface HeldFlow extends Settled {
  readonly status: "held";
  /** Of the stored state. A decision names it, so that nothing else is decided on than was seen. */
  readonly revision: number;
  readonly intent: PaymentIntent;
  readonly senderGatewayTransactionId: string;
  readonly why: HeldReason;
  /** Why, and what the searches came to, in sentences. They can hold the service's own words. */
  readonly reason: string;
  /** The request as it was sent, or is sent again. */
  readonly claim: Claim;
  /** A listed payment with this flow's gateway and transaction id, but another body. Compare it before you decide. */
  readonly match?: Payment;
  /** What one person proposed, and another must approve. */
  readonly proposal?: FlowDecision;
}

export interface Settled {
  readonly key: string;
  /** What operators decided, if anything. */
  readonly decisions: readonly FlowDecision[];
  /** What the service's operators promise, if the flow sent a payment again because of it. */
  readonly reliedOn?: readonly ServiceFact[];
}

/** A signed request. */
export interface Claim {
  /** Path on the wire, base path included. */
  readonly path: string;
  /** The raw body. */
  readonly body: string;
  /** The signature header. It comes back as the payment's `creationRequestSignatureBase64`. */
  readonly signature: string;
}

/** A definite no, of the service or of an operator. */
export interface FlowRefusal {
  readonly by: "service" | "operator";
  /** Status of the service's response. */
  readonly status?: number;
  /** The service's own `error` or `code`. */
  readonly serviceCode?: string;
  /** The service's own `message`. It can hold names and account numbers. */
  readonly serviceMessage?: string;
  /** Why an operator had the money given back. */
  readonly why?: string;
}

/** @param revision of the stored state. */
export function toOutcome(key: string, flow: Outcome, revision: number): FlowOutcome {
  switch (flow.phase) {
    case "paid": {
      const { phase: status, intent, payment, isSettledBadly } = flow;
      return { status, ...settledOf(key, flow), intent, payment, ...known({ isSettledBadly }) };
    }
    case "declined": {
      const { phase: status, intent, reason } = flow;
      return { status, key, intent, ...known({ reason }) };
    }
    case "rejected": {
      const { phase: status, intent, signed } = flow;
      const senderGatewayTransactionId = signed?.senderGatewayTransactionId;
      const refusal = toRefusal(flow.refusal);
      return { status, ...settledOf(key, flow), refusal, ...known({ intent, senderGatewayTransactionId }) };
    }
    case "held": {
      const { phase: status, intent, signed, why, match, proposal } = flow;
      const { senderGatewayTransactionId, ...claim } = signed;
      const stored = { revision, intent, senderGatewayTransactionId, why, reason: heldReason(flow), claim };
      return { status, ...settledOf(key, flow), ...stored, ...known({ match, proposal }) };
    }
  }
}

function settledOf(key: string, { decisions = [], reliedOn }: Pick<Paid, "decisions" | "reliedOn">): Settled {
  return { key, decisions, ...known({ reliedOn }) };
}

export function toRefusal({ by, status, code, message }: Refusal): FlowRefusal {
  if (by === "operator") return { by, why: message };
  const serviceCode = code === `http_${status}` ? undefined : code;
  return { by, ...known({ status, serviceCode, serviceMessage: message || undefined }) };
}

/**
 * A flow stopped before it had an outcome. It is stored and still owns the payment: `work`, `recover`, or a later `run`, here or in
 * another process, continues it. Therefore `effect` is `possible`, whatever failed: don't pay another way, and don't refund.
 *
 * `cause` is what failed. The message has its class and code, but not its text.
 */
export class FlowPausedError extends CrossBorderError {
  /** The key of the flow. */
  readonly key: string;
  /** How far the flow has got, as far as that is known. */
  declare readonly phase?: FlowPhase;
  /** When the flow continues, in milliseconds since 1970, if it waits for the service. */
  declare readonly retryAtMs?: number;
  /** The signed payment that may have been sent, if there is one. */
  declare readonly request?: SentRequest;

  constructor(
    key: string,
    details: {
      readonly phase?: FlowPhase | undefined;
      readonly cause?: unknown;
      readonly retryAtMs?: number | undefined;
      readonly request?: SentRequest | undefined;
    } = {},
  ) {
    const { phase, cause, retryAtMs, request } = details;
    super(describe(key, phase, cause), { code: "flow_paused", effect: "possible", cause });
    this.key = key;
    Object.assign(this, known({ phase, retryAtMs }));
    // It holds account numbers.
    if (request !== undefined) hide(this, "request", request);
  }
}

hide(FlowPausedError.prototype, "name", "FlowPausedError");

function describe(key: string, phase: FlowPhase | undefined, cause: unknown): string {
  const where = phase === undefined ? "" : ` in phase "${phase}"`;
  const why = cause === undefined ? "" : `: ${nameOf(cause)}`;
  const advice =
    phase === "held" ? "Call resolve." : "Call it again with the same key, or keep a process running that calls work.";
  return `Payment ${JSON.stringify(key)} is not finished${where}${why}. ${advice} Until it has an outcome, don't pay this order another way, and don't refund it.`;
}

/** What a cause says of its own call, such as that nothing was sent, isn't true of the flow: its text stays in `cause`. */
function nameOf(cause: unknown): string {
  const { name, code } = cause instanceof CrossBorderError ? cause : describeThrown(cause);
  const { operation } = cause instanceof CrossBorderError ? cause : {};
  return [operation, name, code].filter((part) => part !== undefined).join(" ");
}

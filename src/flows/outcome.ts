import { failedStatuses } from "../api/fields.js";
import { clock } from "../core/clock.js";
import { describeThrown } from "../core/describe.js";
import { CrossBorderError, type ErrorCode, InvalidArgumentError, type SentRequest } from "../core/errors.js";
import { hide } from "../core/redact.js";
import type { FlowEvent, FlowPhase } from "../events/events.js";
import type { Reporter } from "../events/reporter.js";
import type { PaymentIntent } from "../resources/payment-intents.js";
import { isSettledBadly, type Payment, payments } from "../resources/payments.js";
import { heldReason, openReason, refusals } from "./core/reasons.js";
import type {
  Action,
  Decision,
  Fact,
  Failure,
  Flow,
  Held,
  HeldReason,
  Outcome,
  Paid,
  Refusal,
  Resolution,
  Result,
  Words,
} from "./core/state.js";
import { known, wordsIn } from "./core/steps.js";

export type { HeldReason } from "./core/state.js";

/** What an operator can decide about a held flow. */
export type ResolveAction = Action;
/** What an operator decided or proposed about a held flow. */
export type FlowDecision = Decision;
/** A promise of the service's operators that a flow relied on (option `facts`). */
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
  /** Set if a status of the payment says `error` or `reverted`. The bank decides what to do about the money. */
  readonly isSettledBadly?: true;
}

/** `takeFunds` returned `null`, or the quote was cancelled. No money was taken, and nothing was paid. */
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
  /** Why, and the results of the searches, in sentences. They can quote the service. */
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
  /** The signature header. The payment repeats it as `creationRequestSignatureBase64`. */
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
      const { phase: status, intent, payment } = flow;
      const badly = isSettledBadly(payment) ? { isSettledBadly: true as const } : undefined;
      return { status, ...settledOf(key, flow), intent, payment, ...badly };
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
 * A flow stopped before it had an outcome. It is stored and still owns the payment. `work`, `recover`, or a later `run` continues
 * it, in this or another process. So `effect` is always `possible`. Don't pay another way, and don't refund.
 *
 * `cause` is the failure. The message has its class and code, but not its text.
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

/** A cause may say that nothing was sent, which is true of its own call but not of the flow, so its text stays in `cause`. */
function nameOf(cause: unknown): string {
  const { name, code } = cause instanceof CrossBorderError ? cause : describeThrown(cause);
  const { operation } = cause instanceof CrossBorderError ? cause : {};
  return [operation, name, code].filter((part) => part !== undefined).join(" ");
}

/** What became of a call. */
export interface Driven {
  readonly result: Result;
  /** The newest state that the call has seen or stored. */
  readonly flow: Flow | undefined;
  readonly revision: number;
  /** Of a quote. */
  readonly expiresAtMs: number;
}

/** What a `PaymentFlow` is asked to do for a key. */
export type FlowOperation =
  | "run"
  | "quote"
  | "confirm"
  | "cancel"
  | "resolve"
  | "propose"
  | "approve"
  | "refuse"
  | "recover"
  | "work"
  | "recheck";

/** Does all work of one method for one key as one part. Its calls and signatures belong to that part. */
export function follow<R extends { readonly status: string } | undefined>(
  reporter: Reporter,
  operation: FlowOperation,
  key: string,
  work: () => Promise<R>,
): Promise<R> {
  const attributes = { "cross_border.operation": `flow.${operation}`, "cross_border.flow.key": key };
  const part = () => ({ name: "flow", kind: "internal" as const, attributes });
  return reporter.follow(part, async ({ note }) => {
    const result = await work();
    if (result !== undefined) note({ "cross_border.flow.to": result.status });
    return result;
  });
}

/**
 * The result of a call for its caller, or `undefined` if there was nothing to do.
 *
 * @throws {FlowPausedError} if the flow stopped without an outcome, or the error that kept the call from beginning.
 */
export function toResult(
  operation: FlowOperation,
  key: string,
  { result, flow, revision, expiresAtMs }: Driven,
): FlowOutcome | QuotedFlow | undefined {
  if ("outcome" in result) return toOutcome(key, result.outcome, revision);
  if ("quoted" in result) return { status: "quoted", key, intent: result.quoted.intent, expiresAtMs };
  if ("paused" in result) throw toPaused(key, result.paused, flow);
  if ("nothing" in result) return undefined;
  // An error that is the client's own stays as it is.
  const { code, effect, cause } = result.thrown;
  const message = `${operation} failed for key ${JSON.stringify(key)}: ${textOf(code, undefined)}`;
  throw cause ?? new InvalidArgumentError(message, { code: knownCode(code), effect });
}

function toPaused(key: string, { code, cause, retryAtMs }: Failure, flow: Flow | undefined): FlowPausedError {
  const signed = flow !== undefined && "signed" in flow ? flow.signed : undefined;
  return new FlowPausedError(key, {
    phase: flow?.phase,
    cause: cause ?? new CrossBorderError(textOf(code, flow), { code: knownCode(code), effect: "possible" }),
    retryAtMs,
    request: signed && { path: signed.path, body: signed.body, signature: signed.signature },
  });
}

function knownCode(code: string): ErrorCode {
  return Object.hasOwn(refusals, code) ? (code as keyof typeof refusals) : "unexpected_failure";
}

/** What a flow waits for says more than the code. */
function textOf(code: string, flow: Flow | undefined): string {
  const reason = flow?.phase === "funds-requested" ? openReason(flow) : undefined;
  return reason ?? (refusals as Readonly<Record<string, string>>)[code] ?? code;
}

/** Reports what becomes of a flow in one call. */
export class FlowSteps {
  readonly #reporter: Reporter;
  readonly #key: string;
  #sinceMs = clock.monotonicMs();

  constructor(reporter: Reporter, key: string) {
    this.#reporter = reporter;
    this.#key = key;
  }

  stored(from: Flow | undefined, to: Flow): void {
    const isOpen = to.phase === "held" || to.phase === "unknown";
    const words = wordsIn(to);
    this.#emit({ from: from?.phase, to: to.phase, ...(isOpen && { effect: "possible" }), ...(words && shown(words)) });
    if (to.phase !== "paid" || from?.phase === "claimed") return;
    // Rule 5. A payment that is recorded as failed. The client itself reports responses to a claim.
    const { name: operation, record } = payments.create;
    for (const field of failedStatuses(record, to.payment)) {
      const found = String(Reflect.get(to.payment, field));
      this.#reporter.emit("mismatch", { operation, field, expected: "pending or processed", found });
    }
  }

  failed(flow: Flow | undefined, { cause }: Failure): void {
    // Without a flow nothing was begun.
    if (flow === undefined) return;
    const code = cause instanceof CrossBorderError ? cause.code : undefined;
    this.#emit({ from: flow.phase, to: flow.phase, effect: "possible", ...known({ code }) });
  }

  decided(held: Held, to: Flow, resolution: Resolution): void {
    const { step } = resolution;
    const carriedOut = "decisions" in to ? to.decisions?.at(-1) : undefined;
    const decision = step === "propose" ? resolution.decision : step === "refuse" ? held.proposal : carriedOut;
    if (decision === undefined) return;
    const { action, why, withoutProof, approvedBy, by: proposer } = decision;
    const by = step === "refuse" ? resolution.by : (approvedBy ?? proposer);
    const told = { key: this.#key, step: stepNames[step], action, by, why, atMs: clock.wallMs() };
    const proposedBy = by === proposer ? undefined : proposer;
    this.#reporter.emit("decision", { ...told, ...known({ proposedBy, withoutProof }) });
  }

  #emit(event: Omit<FlowEvent, "key" | "durationMs">): void {
    const nowMs = clock.monotonicMs();
    const durationMs = nowMs - this.#sinceMs;
    this.#sinceMs = nowMs;
    this.#reporter.emit("flow", { key: this.#key, ...event, durationMs });
  }
}

const stepNames = { decide: "decided", propose: "proposed", approve: "approved", refuse: "refused" } as const;

/** What the service said. */
function shown({ status, code }: Words): Pick<FlowEvent, "status" | "serviceCode"> {
  if (status === undefined) return {};
  return { status, ...(isCode(code) && code !== `http_${status}` && { serviceCode: code }) };
}

/** A text that doesn't look like a code may be a sentence with a name or an account in it. */
function isCode(text: string): boolean {
  return /^(?!.*\d{5})[a-z][\w.-]{0,63}$/i.test(text);
}

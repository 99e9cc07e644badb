import { failedStatuses } from "../api/fields.js";
import { clock } from "../core/clock.js";
import { CrossBorderError, type ErrorCode, InvalidArgumentError } from "../core/errors.js";
import type { FlowEvent } from "../events/events.js";
import type { Reporter } from "../events/reporter.js";
import { payments } from "../resources/payments.js";
import { openReason, refusals } from "./core/reasons.js";
import type { Failure, Flow, Held, Paid, Resolution, Result, Words } from "./core/state.js";
import { type FlowOutcome, FlowPausedError, type QuotedFlow, toOutcome } from "./outcome.js";

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

/** Does all that one method does for one key, as one part of the work: whatever it calls and signs is a part of that. */
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
 * What a call gives to its caller; `undefined` if there was nothing to do.
 *
 * @throws {FlowPausedError} if the flow stopped without an outcome; whatever kept the call from beginning anything.
 */
export function toResult(
  operation: FlowOperation,
  key: string,
  { result, flow, revision, expiresAtMs }: Driven,
): FlowOutcome | QuotedFlow | undefined {
  if ("outcome" in result) return toOutcome(key, result.outcome, revision);
  if ("quoted" in result) return { status: "quoted", key, intent: result.quoted.intent, expiresAtMs };
  if ("paused" in result) throw toPaused(key, result.paused, flow);
  if ("thrown" in result) throw toThrown(operation, key, result.thrown);
  return undefined;
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

/** An error that is the client's own stays as it is. */
function toThrown(operation: FlowOperation, key: string, { code, effect, cause }: Failure): unknown {
  if (cause !== undefined) return cause;
  const message = `${operation} failed for key ${JSON.stringify(key)}: ${textOf(code, undefined)}`;
  return new InvalidArgumentError(message, { code: knownCode(code), effect });
}

type RefusalCode = keyof typeof refusals;

function isRefusalCode(code: string): code is RefusalCode {
  return Object.hasOwn(refusals, code);
}

function knownCode(code: string): ErrorCode {
  return isRefusalCode(code) ? code : "unexpected_failure";
}

/** What a flow waits for says more than the code. */
function textOf(code: string, flow: Flow | undefined): string {
  const reason = flow?.phase === "funds-requested" ? openReason(flow) : undefined;
  return reason ?? (isRefusalCode(code) ? refusals[code] : code);
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
    this.#emit({ from: from?.phase, to: to.phase, ...(isOpen && { effect: "possible" }), ...wordsIn(to) });
    if (to.phase === "paid" && from?.phase !== "claimed") this.#reportBadly(to);
  }

  failed(flow: Flow | undefined, { cause }: Failure): void {
    // Without a flow nothing was begun.
    if (flow === undefined) return;
    const code = cause instanceof CrossBorderError ? cause.code : undefined;
    this.#emit({ from: flow.phase, to: flow.phase, effect: "possible", ...(code && { code }) });
  }

  decided(held: Held, to: Flow, resolution: Resolution): void {
    const { step } = resolution;
    const carriedOut = "decisions" in to ? to.decisions?.at(-1) : undefined;
    const decision = step === "propose" ? resolution.decision : step === "refuse" ? held.proposal : carriedOut;
    if (decision === undefined) return;
    const { action, why, withoutProof, approvedBy, by: proposedBy } = decision;
    const by = step === "refuse" ? resolution.by : (approvedBy ?? proposedBy);
    this.#reporter.emit("decision", {
      key: this.#key,
      step: stepNames[step],
      action,
      by,
      why,
      ...(by !== proposedBy && { proposedBy }),
      ...(withoutProof && { withoutProof }),
      atMs: clock.wallMs(),
    });
  }

  #emit(event: Omit<FlowEvent, "key" | "durationMs">): void {
    const nowMs = clock.monotonicMs();
    const durationMs = nowMs - this.#sinceMs;
    this.#sinceMs = nowMs;
    if (this.#reporter.wants("flow")) this.#reporter.emit("flow", { key: this.#key, ...event, durationMs });
  }

  /** Rule 5: a payment that is recorded, and failed. The client itself reports what responds to a claim. */
  #reportBadly({ payment }: Paid): void {
    const { name: operation, record } = payments.create;
    for (const field of failedStatuses(record, payment)) {
      const found = String(Reflect.get(payment, field));
      this.#reporter.emit("mismatch", { operation, field, expected: "pending or processed", found });
    }
  }
}

const stepNames = { decide: "decided", propose: "proposed", approve: "approved", refuse: "refused" } as const;

/** What the service said, if that did not settle the flow. */
function wordsIn(flow: Flow): Pick<FlowEvent, "status" | "serviceCode"> {
  const words = "refusal" in flow ? flow.refusal : "said" in flow ? flow.said : undefined;
  return words === undefined ? {} : shown(words);
}

function shown({ status, code }: Words): Pick<FlowEvent, "status" | "serviceCode"> {
  if (status === undefined) return {};
  return { status, ...(isCode(code) && code !== `http_${status}` && { serviceCode: code }) };
}

/** A text that doesn't look like a code may be a sentence with a name or an account in it. */
function isCode(text: string): boolean {
  return /^(?!.*\d{5})[a-z][\w.-]{0,63}$/i.test(text);
}

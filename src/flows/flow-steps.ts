import { failedStatuses } from "../api/fields.js";
import { clock } from "../core/clock.js";
import { CrossBorderError } from "../core/errors.js";
import type { FlowEvent } from "../events/events.js";
import type { Reporter } from "../events/reporter.js";
import { payments } from "../resources/payments.js";
import type { Failure, Flow, Held, Paid, Resolution, Words } from "./core/state.js";

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

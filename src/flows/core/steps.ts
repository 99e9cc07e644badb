import type { Payment } from "../../resources/payments.js";
import type {
  Begun,
  Call,
  Command,
  Declined,
  Event,
  Failure,
  Flow,
  Held,
  HeldReason,
  Listed,
  Outcome,
  Owner,
  Paid,
  Phase,
  Quoted,
  Refused,
  Rejected,
  Result,
  SearchResult,
  Sent,
  Step,
  Words,
} from "./state.js";

// Steps.

export function read(call: Call): Step {
  return { state: { at: "reading", call }, command: { do: "read" } };
}

export function does(owner: Owner, command: Command): Step {
  return { state: owner, command };
}

/** The state is stored before anything else happens. `then` is the result of the call. */
export function store(owner: Owner, to: Flow, then?: Result): Step {
  return { state: { at: "writing", owner, to, then }, command: { do: "write", flow: to } };
}

/** Returns the lease, so that other processes can have the flow at once. */
export function leave({ call }: Owner, result: Result): Step {
  return { state: { at: "leaving", call, result }, command: { do: "release" } };
}

export function done(call: Call, result: Result): Step {
  return { state: { at: "done", call, result } };
}

/** Most calls that are refused meet a flow that may have paid. */
export function thrown(code: string, effect: Failure["effect"] = "possible"): Result {
  return { thrown: { code, effect } };
}

export function paused(failure: Failure): Result {
  return { paused: { ...failure, effect: "possible" } };
}

/** A driver that breaks its contract changes nothing that is stored. */
const unexpected: Failure = { code: "flow_unexpected_event", effect: "possible" };

export function failureOf(event: Event): Failure {
  return event.is === "failed" ? event.failure : unexpected;
}

export function search(flow: Sent): Command {
  return { do: "search", flow, backToMs: flow.begunAtMs };
}

/** Only what isn't `undefined`. */
export function known<Fields extends object>(fields: Fields): { [Name in keyof Fields]?: NonNullable<Fields[Name]> } {
  return Object.fromEntries(Object.entries(fields).filter(([, value]) => value !== undefined)) as Fields;
}

// Flows.

export function isOutcome(flow: Flow): flow is Outcome {
  return flow.phase === "paid" || flow.phase === "declined" || flow.phase === "rejected" || flow.phase === "held";
}

/** Whether something is left to do for its owner. */
export function isOpen(flow: Flow): boolean {
  return !isOutcome(flow) && flow.phase !== "quoted";
}

/** What an error can say about the money of a key. */
export function effectOf({ phase }: Flow): Failure["effect"] {
  return phase === "quoted" || phase === "declined" || phase === "rejected" ? "none" : "possible";
}

export function isListed(result: SearchResult): result is Listed {
  return result.is === "found" || result.is === "match";
}

/** What all phases keep. */
export function beginningOf<F extends Begun>(flow: F): Pick<F, keyof Begun> {
  const { request, intent, begunAtMs, tries, signed, reliedOn, decisions } = flow;
  return { request, intent, begunAtMs, tries, signed, reliedOn, decisions };
}

export function paid(flow: Begun, payment: Payment): Paid {
  return { ...beginningOf(flow), phase: "paid", payment };
}

type HeldDetails = Pick<Held, "said" | "searches" | "match">;

export function held(flow: Sent, why: HeldReason, details: HeldDetails = {}): Held {
  return { ...beginningOf(flow), signed: flow.signed, phase: "held", why, ...details };
}

/** A possible match is neither absent nor found, so a person must check it. */
export function settledBy({ is, payment }: Listed, flow: Sent): Paid | Held {
  return is === "found" ? paid(flow, payment) : held(flow, "possible-match", { match: payment });
}

export function declined({ request, intent }: Quoted | Begun, reason?: string): Declined {
  return { phase: "declined", request, intent, reason };
}

export function rejected({ request, intent, refusal, signed, reliedOn, decisions }: Refused): Rejected {
  return { phase: "rejected", request, intent, refusal, signed, reliedOn, decisions };
}

/** One stored phase of a flow. */
export interface HistoryStep {
  readonly atMs: number;
  readonly phase: Phase;
  /** Why, as a held reason, the code of a refusal, or the service's own message. */
  readonly why?: string;
  /** The process that stored it, or the person who decided. */
  readonly by?: string;
}

const maxSteps = 64;

/** The history with a step for `flow`, which is stored with it. The oldest steps go first, but the first one stays. */
export function withStep(history: readonly HistoryStep[], flow: Flow, atMs: number, by?: string): HistoryStep[] {
  const all = [...history, { atMs, phase: flow.phase, ...known({ why: whyOf(flow), by }) }];
  return all.length > maxSteps ? [...all.slice(0, 1), ...all.slice(2)] : all;
}

function whyOf(flow: Flow): string | undefined {
  if (flow.phase === "held") return flow.why;
  return flow.phase === "declined" ? flow.reason : wordsIn(flow)?.code;
}

/** What the service, or an operator, said. */
export function wordsIn(flow: Flow): Words | undefined {
  return "refusal" in flow ? flow.refusal : "said" in flow ? flow.said : undefined;
}

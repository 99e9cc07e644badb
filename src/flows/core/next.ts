import type { PaymentIntent, PaymentIntentRequest } from "../../resources/payment-intents.js";
import type { Payment } from "../../resources/payments.js";
import { afterWrite, asOwner, decide, enter } from "./owner.js";
import type {
  Call,
  Command,
  Config,
  Entry,
  Event,
  Failure,
  Flow,
  FundsRequested,
  Owner,
  State,
  Step,
} from "./state.js";
import {
  declined,
  done,
  effectOf,
  failureOf,
  isOutcome,
  leave,
  paid,
  paused,
  read,
  search,
  store,
  thrown,
} from "./steps.js";

// The protocol of the durable flow. The driver performs the commands, and gives the answers back as events. It keeps what belongs to
// A lease with its epoch, nonce, revision, and end.

export function start(call: Call): Step {
  return read(call);
}

/** Continues a flow that `work` acquired. */
export function resume({ flow }: Entry): Step {
  return enter({ at: "owning", call: { kind: "recover" }, flow, began: false });
}

export function next(state: State, event: Event, config: Config): Step {
  switch (state.at) {
    case "reading":
      return afterRead(state.call, event);
    case "asking":
      return afterIntent(state.call, state.isRenewal, event);
    case "creating":
      return afterFirstWrite(state.call, state.to, event);
    case "failing":
      return afterFailure(state.call, state.failure, event);
    case "acquiring":
      return afterAcquire(state.call, state.found, event);
    case "rechecking":
      return afterRecheck(state.call, event);
    case "waiting":
      return event.is === "done" ? read(state.call) : done(state.call, paused(failureOf(event)));
    case "owning":
      return asOwner(state, event, config);
    case "writing":
      return afterWrite(state, event);
    case "leaving":
      return done(state.call, state.result);
    case "done":
      return { state };
  }
}

function afterRead(call: Call, event: Event): Step {
  switch (event.is) {
    case "entry":
      if (event.entry !== undefined) return withEntry(call, event.entry, event.nowMs);
      if (call.kind === "run" || call.kind === "quote") return askForIntent(call, call.request, false);
      return done(call, thrown("flow_unknown", "none"));
    case "pruned":
      return done(call, thrown("flow_pruned"));
    default:
      return done(call, paused(failureOf(event)));
  }
}

function withEntry(call: Call, { flow, isExpired }: Entry, nowMs: number): Step {
  const misfit = misfitOf(call, flow);
  if (misfit !== undefined) return done(call, thrown(misfit, effectOf(flow)));
  switch (call.kind) {
    case "quote":
      if (flow.phase !== "quoted") return done(call, thrown("flow_confirmed", effectOf(flow)));
      return isExpired ? askForIntent(call, flow.request, true) : done(call, { quoted: flow });
    case "cancel":
      if (flow.phase === "declined") return done(call, { outcome: flow });
      if (flow.phase !== "quoted") return done(call, thrown("flow_confirmed", effectOf(flow)));
      return replaceQuote(call, declined(flow, call.reason), false);
    case "run":
    case "confirm":
      if (isOutcome(flow)) return done(call, { outcome: flow });
      if (flow.phase !== "quoted") return acquire(call);
      if (!isExpired) return replaceQuote(call, requestFunds(flow.request, flow.intent, nowMs), true);
      return call.kind === "run" ? askForIntent(call, flow.request, true) : done(call, thrown("quote_expired", "none"));
    case "resolve":
      return flow.phase === "held" ? acquire(call) : done(call, thrown("flow_not_held", effectOf(flow)));
    case "recheck":
      if (flow.phase !== "held") return done(call, { nothing: true });
      return { state: { at: "rechecking", call }, command: search(flow) };
    case "recover":
      return done(call, { nothing: true });
  }
}

/** Why the key is another payment's, if it is. */
function misfitOf(call: Call, flow: Flow): string | undefined {
  if (call.kind === "confirm") return flow.intent?.id === call.intentId ? undefined : "quote_changed";
  if (call.kind !== "run" && call.kind !== "quote") return undefined;
  return isSameRequest(flow.request, call.request) ? undefined : "flow_key_reused";
}

function isSameRequest(one: PaymentIntentRequest, other: PaymentIntentRequest): boolean {
  const names = new Set([...Object.keys(one), ...Object.keys(other)]);
  return [...names].every((name) => Reflect.get(one, name) === Reflect.get(other, name));
}

function askForIntent(call: Call, request: PaymentIntentRequest, isRenewal: boolean): Step {
  return { state: { at: "asking", call, isRenewal }, command: { do: "createIntent", request } };
}

/** Rule 1. */
function afterIntent(call: Call, isRenewal: boolean, event: Event): Step {
  if (call.kind !== "run" && call.kind !== "quote") return done(call, paused(failureOf(event)));
  const { kind, request } = call;
  const write = (flow: Flow): Step =>
    isRenewal ? replaceQuote(call, flow, false) : create(call, flow, { do: "begin", flow });
  switch (event.is) {
    case "intent": {
      const { intent, nowMs } = event;
      return write(kind === "quote" ? { phase: "quoted", request, intent } : requestFunds(request, intent, nowMs));
    }
    case "intentRefused":
      if (kind === "run") return write({ phase: "rejected", request, refusal: event.refusal });
      return fail(call, event.failure);
    default:
      return fail(call, failureOf(event));
  }
}

function requestFunds(request: PaymentIntentRequest, intent: PaymentIntent, begunAtMs: number): FundsRequested {
  const tries = { open: 0, unauthorized: 0, throttled: 0, unread: 0, repeated: 0 };
  return { phase: "funds-requested", request, intent, begunAtMs, tries };
}

function replaceQuote(call: Call, flow: Flow, inTime: boolean): Step {
  return create(call, flow, { do: "replaceQuote", flow, inTime });
}

function create(call: Call, to: Flow, command: Command): Step {
  return { state: { at: "creating", call, to }, command };
}

function afterFirstWrite(call: Call, to: Flow, event: Event): Step {
  switch (event.is) {
    case "owned":
      if (to.phase === "quoted") return done(call, { quoted: to });
      if (isOutcome(to)) return done(call, { outcome: to });
      return enter({ at: "owning", call, flow: to, began: true });
    case "refused":
      return read(call);
    default:
      return afterRead(call, event); // The key was there already.
  }
}

/** An error before the first write is the client's own, unless another call has begun the flow in the meantime. */
function fail(call: Call, failure: Failure): Step {
  return { state: { at: "failing", call, failure }, command: { do: "read" } };
}

function afterFailure(call: Call, failure: Failure, event: Event): Step {
  const isUntouched = event.is === "entry" && (event.entry === undefined || effectOf(event.entry.flow) === "none");
  return done(call, isUntouched ? { thrown: { ...failure, effect: "none" } } : paused(failure));
}

function acquire(call: Call, found?: Payment): Step {
  return { state: { at: "acquiring", call, found }, command: { do: "acquire" } };
}

function afterAcquire(call: Call, found: Payment | undefined, event: Event): Step {
  switch (event.is) {
    case "owned":
      return withLease({ at: "owning", call, flow: event.entry.flow, began: false }, found, event.entry.revision);
    case "busy":
      if (call.kind === "resolve") return done(call, thrown("flow_busy"));
      if (call.kind === "recheck") return done(call, { nothing: true });
      return { state: { at: "waiting", call }, command: { do: "wait", until: "others" } };
    default:
      return done(call, paused(failureOf(event)));
  }
}

function withLease(owner: Owner, found: Payment | undefined, revision: number): Step {
  const { call, flow } = owner;
  if (call.kind === "resolve") {
    return flow.phase === "held" ? decide({ ...owner, flow }, call, revision) : leave(owner, thrown("flow_not_held"));
  }
  if (found === undefined) return enter(owner);
  return flow.phase === "held" ? store(owner, paid(flow, found)) : leave(owner, { nothing: true });
}

/** Rule 9. A held flow is searched for without a lease. It gets one only after its payment was found. */
function afterRecheck(call: Call, event: Event): Step {
  const isFound = event.is === "searched" && event.result.is === "found";
  return isFound ? acquire(call, event.result.payment) : done(call, { nothing: true });
}

import { ApiError, CrossBorderError, type Effect, TimeoutError, UnexpectedResponseError } from "../../errors/errors.js";
import { payments } from "../../resources/payments.js";
import { clock } from "../../timing/clock.js";
import { now, surelyLeftMs } from "../../timing/timestamp.js";
import type { FlowContext, OwnedFlow, StepResult } from "../flow-context.js";
import { isAnothers } from "../looking/match-payment.js";
import { toFlowRefusal } from "../state/flow-refusal.js";
import { type ClaimResponse, openClaim, type StateOf } from "../state/flow-state.js";
import { askedWaitOf } from "./asked-wait.js";

/** The only place that sends a payment. Only the owner that made the claim sends it, and only as long as its lease allows. */
export async function sendClaim(
  context: FlowContext,
  owned: OwnedFlow,
  state: StateOf<"claimed">,
): Promise<StepResult> {
  const { lease, call } = owned;
  const sendBy = lease.sendBy(state.claim);
  if (sendBy === undefined) {
    const reason = "the owner that claimed the payment was gone before its outcome was written";
    return { state: { ...state, phase: "unknown", reason } };
  }
  const timeoutMs = surelyLeftMs(sendBy, now());
  if (timeoutMs <= 0) return notSent(state, leaseEnded());
  const end = new AbortController();
  const alarms = [lease.lost, call.abandon].map((alarm) => alarm.listen(() => end.abort()));
  try {
    // The transport compares `sendBy` with both clocks once more, just before it writes the first byte.
    const options = { ...call.paymentOptions, timeoutMs, signal: end.signal };
    const payment = await context.client.send(payments.create, state.claim, sendBy, options);
    context.knownPayments.note(payment);
    if (isAnothers(payment, state.claim)) return withAnothers(context, owned, state);
    context.circuitBreaker?.note(false);
    return { state: { ...state, phase: "paid", payment } };
  } catch (error) {
    return afterFailure(context, owned, state, error);
  } finally {
    for (const stopListening of alarms) stopListening();
  }
}

/** A service that knows payments by their transaction id, and a bank that gave it twice: what became of this one is for the list to say. */
function withAnothers({ circuitBreaker }: FlowContext, owned: OwnedFlow, state: StateOf<"claimed">): StepResult {
  circuitBreaker?.note(true);
  owned.hasNoResponse = true;
  const reason = "the service responded with another payment that has the same transaction id";
  return { state: { ...state, phase: "unknown", reason } };
}

function leaseEnded(): TimeoutError {
  const { name: operation } = payments.create;
  return new TimeoutError(`${operation}: the lease of the flow ended before anything was sent`, { operation });
}

function afterFailure(
  { circuitBreaker }: FlowContext,
  owned: OwnedFlow,
  state: StateOf<"claimed">,
  error: unknown,
): StepResult {
  if (!(error instanceof CrossBorderError)) throw error;
  const refusal = toFlowRefusal(error);
  if (error.effect === "none" && refusal === undefined) return notSent(state, error);
  const isUnknown = error.effect === "possible";
  circuitBreaker?.note(isUnknown);
  if (isUnknown) owned.hasNoResponse = true;
  if (refusal !== undefined) owned.refusedAtMs = clock.monotonicMs();
  const response = responseOf(error);
  const reason = response === undefined ? "no response came" : describeResponse(response, error.effect);
  return {
    state: {
      ...state,
      phase: "unknown",
      reason,
      ...(response === undefined ? undefined : { response }),
      ...(refusal === undefined ? undefined : { refusal }),
      ...askedWaitOf(owned, error),
    },
  };
}

/** What tells an operator more of a response; `undefined` where none came. */
function responseOf(error: CrossBorderError): ClaimResponse | undefined {
  if (!(error instanceof ApiError || error instanceof UnexpectedResponseError)) return undefined;
  const { status, requestId, effect } = error;
  const serviceCode = error instanceof ApiError ? error.serviceCode : undefined;
  return {
    status,
    ...(serviceCode === undefined ? undefined : { serviceCode }),
    ...(requestId === undefined ? undefined : { requestId }),
    effect,
  };
}

function describeResponse({ status }: ClaimResponse, effect: Effect): string {
  return `the service responded with ${status}${meanings[effect]}`;
}

const meanings: Readonly<Record<Effect, string>> = {
  none: ", which says that the payment was not made",
  possible: ", which does not say whether the payment was made",
  done: ": the payment was made, but its record could not be read",
};

/** This claim was certainly not sent: it is dropped, and the caller gets the error. */
function notSent({ claim: _, ...state }: StateOf<"claimed">, error: CrossBorderError): StepResult {
  const claims = state.claims.slice(0, -1);
  const claim = openClaim(claims);
  if (claim === undefined) return { state: { ...state, phase: "funds-requested", claims }, error };
  // What became of an earlier claim is still as unknown as it was.
  const reason = `the payment could not be sent again (${error.code}), and what became of the earlier request is unknown`;
  if (state.reliedOn?.includes("singleUseIntents")) {
    return { state: { ...state, phase: "unknown", reason, claims, claim }, error };
  }
  return { state: { ...state, phase: "held", reason, claims, claim }, error };
}

import type { ApiClient } from "../api/api-client.js";
import { ApiError, CrossBorderError, InvalidArgumentError } from "../errors/errors.js";
import { type PaymentIntent, PaymentIntents } from "../resources/payment-intents.js";
import { paymentEndpoints } from "../resources/payments.js";
import type { Claim, FlowState, Look, Refusal, StateOf, UnsettledPhase } from "./flow-state.js";
import type { Lease } from "./lease.js";
import { paymentFromIntent } from "./payment-from-intent.js";
import { lookForPayment, newestPagingToken } from "./read-back.js";

/**
 * Shows the intent to the sender and takes the money; gives the sender gateway's transaction id, or `null` when the sender
 * declines. Must be idempotent by `key`: after a crash it is called again, has to take nothing twice, and has to give the same id.
 */
export type TakeFundsByKey = (context: {
  readonly key: string;
  readonly intent: PaymentIntent;
}) => Promise<string | null> | string | null;

/**
 * Gives the money back. Called only after a definite refusal, by the service or by an operator, never on an unknown outcome. Must be
 * idempotent by `key`: after a crash it is called again.
 */
export type ReleaseFundsByKey = (context: {
  readonly key: string;
  readonly intent: PaymentIntent;
  readonly senderGatewayTransactionId: string;
  readonly refusal: Refusal;
}) => Promise<void> | void;

/** What the steps need of the flow. */
export interface StepContext {
  readonly caller: ApiClient;
  readonly takeFunds: TakeFundsByKey;
  readonly releaseFunds: ReleaseFundsByKey;
  readonly readBackDelayMs: number;
  readonly readBacks: number;
}

/** A flow in the hands of its owner. */
export interface Owned {
  readonly lease: Lease;
  /** Ends the waits of this run. It does not stop a payment that was claimed. */
  readonly signal: AbortSignal | undefined;
  sleep(ms: number): Promise<void>;
}

type Step<P extends UnsettledPhase> = (context: StepContext, owned: Owned, state: StateOf<P>) => Promise<FlowState>;

/** What follows each state. A step that throws leaves the state as it stands in the journal, to be taken up again. */
export const steps: { readonly [P in UnsettledPhase]: Step<P> } = {
  created: createIntent,
  intent: noteNewestPayment,
  "funds-requested": takeFunds,
  "funds-taken": claimPayment,
  claimed: sendPayment,
  unknown: readBack,
  refused: releaseFunds,
};

async function createIntent({ caller }: StepContext, { signal }: Owned, state: StateOf<"created">): Promise<FlowState> {
  try {
    const intent = await new PaymentIntents(caller).create(state.request, { signal });
    return { ...state, phase: "intent", intent };
  } catch (error) {
    if (!isRefusal(error)) throw error;
    return { ...state, phase: "rejected", refusal: toRefusal(error) };
  }
}

/** Everything that can fail without harm is done before the money is asked for. */
async function noteNewestPayment({ caller }: StepContext, _: Owned, state: StateOf<"intent">): Promise<FlowState> {
  paymentFromIntent(state.intent, "to be taken");
  caller.assertCallable(paymentEndpoints.create);
  return { ...state, phase: "funds-requested", since: await newestPagingToken(caller) };
}

async function takeFunds(
  context: StepContext,
  { lease }: Owned,
  state: StateOf<"funds-requested">,
): Promise<FlowState> {
  const { intent } = state;
  const id: unknown = await context.takeFunds({ key: lease.key, intent });
  if (id === null) return { ...state, phase: "declined" };
  if (typeof id !== "string" || id === "") {
    throw new InvalidArgumentError("takeFunds must give the sender gateway's transaction id, or null");
  }
  return { ...state, phase: "funds-taken", senderGatewayTransactionId: id, claims: [], looks: [], decisions: [] };
}

async function claimPayment(
  { caller }: StepContext,
  { lease }: Owned,
  state: StateOf<"funds-taken">,
): Promise<FlowState> {
  const body = paymentFromIntent(state.intent, state.senderGatewayTransactionId);
  const request = await caller.sign(paymentEndpoints.create, { path: [], body }, undefined);
  return { ...state, phase: "claimed", ...(await newClaim(lease, request, state.claims)) };
}

/** A claim begins with a whole lease, so that there is time to send it. */
export async function newClaim(
  lease: Lease,
  { path, body, signature }: Pick<Claim, "path" | "body" | "signature">,
  claims: readonly Claim[],
): Promise<{ readonly claim: Claim; readonly claims: readonly Claim[] }> {
  await lease.renew();
  const claimedAtMs = Date.now();
  const claim = { path, body, signature, epoch: lease.epoch, claimedAtMs, sendByMs: lease.sendByMs() };
  return { claim, claims: [...claims, claim] };
}

/** The one place from which a payment is sent: by the owner that claimed it, and by nobody after that. */
async function sendPayment({ caller }: StepContext, { lease }: Owned, state: StateOf<"claimed">): Promise<FlowState> {
  const { claim } = state;
  if (claim.epoch !== lease.epoch) {
    return {
      ...state,
      phase: "unknown",
      reason: "the owner that claimed the payment was gone before its outcome was written",
    };
  }
  const gate = (): void => lease.assertMaySend(claim.sendByMs);
  const timeoutMs = Math.max(1, claim.sendByMs - Date.now());
  try {
    return { ...state, phase: "paid", payment: await caller.send(paymentEndpoints.create, claim, gate, { timeoutMs }) };
  } catch (error) {
    return afterFailure(state, error);
  }
}

function afterFailure(state: StateOf<"claimed">, error: unknown): FlowState {
  if (!(error instanceof CrossBorderError)) throw error;
  if (error.effect === "none") {
    // Nothing left, for certain: the claim is as if it had not been, and its failure is told to whoever runs the flow.
    const claims = state.claims.slice(0, -1);
    if (isRefusal(error) && claims.length === 0) return { ...state, phase: "refused", refusal: toRefusal(error) };
    throw new Unclaimed({ ...withoutClaim(state, claims) }, error);
  }
  const reason =
    error.effect === "done" ? "the payment was made, but its response could not be read" : "no response came";
  return { ...state, phase: "unknown", reason };
}

function withoutClaim(state: StateOf<"claimed">, claims: readonly Claim[]): FlowState {
  const { claim: _, ...rest } = state;
  const last = claims.at(-1);
  // An earlier claim of a resent payment is still as unknown as it was.
  if (last !== undefined)
    return { ...rest, phase: "held", reason: "the payment could not be sent again", claims, claim: last };
  return { ...rest, phase: "funds-taken", claims };
}

/** A claim that was certainly not sent: the state to write, and the error to throw after that. */
export class Unclaimed extends Error {
  readonly state: FlowState;
  readonly error: CrossBorderError;

  constructor(state: FlowState, error: CrossBorderError) {
    super(error.message);
    this.state = state;
    this.error = error;
  }
}

/** Looks at least twice, some time apart: a payment that is not there yet may still be on its way. */
async function readBack(context: StepContext, owned: Owned, state: StateOf<"unknown">): Promise<FlowState> {
  const looksFor = (looks: readonly Look[]) => looks.filter(({ claims }) => claims === state.claims.length).length;
  if (looksFor(state.looks) > 0) await owned.sleep(context.readBackDelayMs);
  const { look, found } = await lookForPayment(context.caller, state);
  const looks = [...state.looks, look];
  if (found !== undefined) return { ...state, phase: "paid", looks, payment: found };
  if (looksFor(looks) < context.readBacks) return { ...state, looks };
  return {
    ...state,
    phase: "held",
    looks,
    reason: `${state.reason}, and ${looksFor(looks)} read-backs did not find the payment`,
  };
}

async function releaseFunds(context: StepContext, { lease }: Owned, state: StateOf<"refused">): Promise<FlowState> {
  const { intent, senderGatewayTransactionId, refusal } = state;
  await context.releaseFunds({ key: lease.key, intent, senderGatewayTransactionId, refusal });
  return { ...state, phase: "rejected" };
}

/** The service said no to this very request. A token that is not valid, or too many requests, say nothing of it. */
function isRefusal(error: unknown): error is ApiError {
  return (
    error instanceof ApiError &&
    error.effect === "none" &&
    error.status >= 400 &&
    error.status < 500 &&
    error.status !== 401 &&
    error.status !== 429
  );
}

function toRefusal(error: ApiError): Refusal {
  return { by: "service", status: error.status, code: error.code, message: error.message };
}

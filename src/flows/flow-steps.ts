import { CrossBorderError } from "../errors/errors.js";
import { PaymentIntents } from "../resources/payment-intents.js";
import { payments } from "../resources/payments.js";
import { assertPayable } from "./assert-payable.js";
import { describeLooks } from "./describe-looks.js";
import type { FlowContext, OwnedFlow, StepResult } from "./flow-context.js";
import { isPassing, toFlowRefusal } from "./flow-refusal.js";
import type { FlowRefusal, FlowState, Look, StateOf, UnsettledPhase } from "./flow-state.js";
import { frozenCopy } from "./frozen-copy.js";
import { assertFundsTaken } from "./funds-functions.js";
import { pauseFlow } from "./pause-flow.js";
import { paymentFromIntent } from "./payment-from-intent.js";
import { lookForPayment, newestPagingToken } from "./read-back.js";
import { makeClaim, sendClaim } from "./send-claim.js";

type Step<P extends UnsettledPhase> = (
  context: FlowContext,
  owned: OwnedFlow,
  state: StateOf<P>,
) => Promise<StepResult>;

/** What follows each state. If a step throws, the state stays as it is in the journal, and the step is taken again later. */
const steps: { readonly [P in UnsettledPhase]: Step<P> } = {
  created: createIntent,
  intent: noteNewestPayment,
  "funds-requested": takeFunds,
  "funds-taken": claimPayment,
  claimed: sendClaim,
  unknown: readBack,
  refused: releaseFunds,
};

export function takeStep(context: FlowContext, owned: OwnedFlow, state: StateOf<UnsettledPhase>): Promise<StepResult> {
  // The phase picks the step, and with it the state's type; the compiler can't follow that through the table.
  const step = steps[state.phase] as (context: FlowContext, owned: OwnedFlow, state: FlowState) => Promise<StepResult>;
  return step(context, owned, state);
}

async function createIntent(
  { client }: FlowContext,
  { deadline }: OwnedFlow,
  state: StateOf<"created">,
): Promise<StepResult> {
  try {
    const { signal } = deadline;
    const intent = await new PaymentIntents(client).create(state.request, { signal });
    await assertPayable(client, state.request, intent, { signal });
    return { state: { ...state, phase: "intent", intent } };
  } catch (error) {
    const refusal = toFlowRefusal(error);
    if (refusal === undefined || isPassing(refusal)) throw error;
    return { state: { ...state, phase: "rejected", refusal } };
  }
}

/** Whatever can fail without harm is done before the money is asked for. */
async function noteNewestPayment(
  { client }: FlowContext,
  { deadline: { signal } }: OwnedFlow,
  state: StateOf<"intent">,
): Promise<StepResult> {
  await assertPayable(client, state.request, state.intent, { signal });
  return { state: { ...state, phase: "funds-requested", since: await newestPagingToken(client, { signal }) } };
}

async function takeFunds(
  context: FlowContext,
  { lease }: OwnedFlow,
  state: StateOf<"funds-requested">,
): Promise<StepResult> {
  const funds: unknown = await context.takeFunds({ key: lease.key, intent: frozenCopy(state.intent) });
  assertFundsTaken(
    funds,
    "the flow stays as it is, and takeFunds is called again with the same key when it is run again",
  );
  if (funds === null) return { state: { ...state, phase: "declined" } };
  const { senderGatewayTransactionId } = funds;
  return {
    state: { ...state, phase: "funds-taken", senderGatewayTransactionId, claims: [], looks: [], decisions: [] },
  };
}

async function claimPayment(
  { client }: FlowContext,
  { lease }: OwnedFlow,
  state: StateOf<"funds-taken">,
): Promise<StepResult> {
  const body = paymentFromIntent(state.intent, state.senderGatewayTransactionId);
  const request = await client.sign(payments.create, [], { body });
  return { state: { ...state, phase: "claimed", ...(await makeClaim(lease, request, state.claims)) } };
}

/** Looks at least twice, some time apart: a payment that is not listed yet may still be on its way. */
async function readBack(
  { client, readBackDelayMs, readBacks }: FlowContext,
  { deadline }: OwnedFlow,
  state: StateOf<"unknown">,
): Promise<StepResult> {
  // A look from before the newest request was sent says nothing about it.
  const looksForIt = (looks: readonly Look[]) => looks.filter(({ claims }) => claims === state.claims.length);
  if (looksForIt(state.looks).length > 0) await pauseFlow(readBackDelayMs, deadline);
  const { look, found } = await lookForPayment(client, state, { signal: deadline.signal });
  const looks = [...state.looks, look];
  if (found !== undefined) return { state: { ...state, phase: "paid", looks, payment: found } };
  if (looksForIt(looks).length < readBacks) return { state: { ...state, looks } };
  const isAbsent = look.complete && looksForIt(looks).every(({ lookalike }) => lookalike === undefined);
  const isFirst = state.claims.slice(0, -1).every(({ isRefused }) => isRefused);
  if (state.refusal !== undefined && isAbsent && isFirst) return refuse({ ...state, looks }, state.refusal);
  const reason = `${state.reason}, and ${describeLooks(looksForIt(looks))}`;
  return { state: { ...state, phase: "held", looks, reason } };
}

/** The service said that it did nothing, and the payment is not there. */
function refuse({ claim, reason: _, response: __, ...state }: StateOf<"unknown">, refusal: FlowRefusal): StepResult {
  if (!isPassing(refusal)) return { state: { ...state, phase: "refused", refusal } };
  const { refusal: ___, ...rest } = state;
  const claims = [...state.claims.slice(0, -1), { ...claim, isRefused: true as const }];
  const { name: operation } = payments.create;
  const message = `${operation}: the service responded with ${refusal.status}, and the payment was looked for and not found`;
  const error = new CrossBorderError(message, { code: `http_${refusal.status ?? 0}`, operation });
  return { state: { ...rest, phase: "funds-taken", claims }, error };
}

async function releaseFunds(
  context: FlowContext,
  { lease }: OwnedFlow,
  state: StateOf<"refused">,
): Promise<StepResult> {
  const { intent, senderGatewayTransactionId, refusal } = state;
  const release = { key: lease.key, intent, senderGatewayTransactionId, refusal };
  await context.releaseFunds(frozenCopy(release));
  return { state: { ...state, phase: "rejected" } };
}

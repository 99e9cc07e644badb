import { repeatsRequest } from "../api/fields.js";
import { type InvalidArgumentError, SigningError } from "../errors/errors.js";
import { type Payment, payments } from "../resources/payments.js";
import { clock } from "../timing/clock.js";
import { parseJsonObject } from "../wire/parse-json-object.js";
import type { CheckedResolution } from "./check-resolution.js";
import type { FlowCall } from "./flow-call.js";
import type { FlowContext, OwnedFlow } from "./flow-context.js";
import { type FlowOutcome, toOutcome } from "./flow-outcome.js";
import { lookForPayment, type Sought } from "./looking/look-for-payment.js";
import { paymentMatcher, type Recognisable } from "./looking/match-payment.js";
import { longestLeaseMs, wholeWaitLeftMs } from "./looking/wait-as-owner.js";
import {
  type Funded,
  isFunded,
  notHeld,
  type OperatedFlow,
  operate,
  type Resolvable,
  unresolved,
} from "./operate-flow.js";
import type { Lease } from "./ownership/lease.js";
import { paymentInput } from "./payment-from-intent.js";
import { openProposal, seenHash, withDecision } from "./state/decision-chain.js";
import { withStep } from "./state/flow-history.js";
import { assertOwnKey, otherKeyId } from "./state/flow-scope.js";
import type { FlowState, Look, OperatorDecision, ResolveAction } from "./state/flow-state.js";
import { driveFlow, storeState } from "./steps/drive-flow.js";
import { emitStep } from "./steps/emit-step.js";

/** See `PaymentFlow.resolve`. */
export function resolveFlow(
  context: FlowContext,
  key: string,
  resolution: CheckedResolution,
  call: FlowCall,
): Promise<FlowOutcome> {
  return decideAnd(context, key, call, alone(context, resolution), andGoOn);
}

/**
 * Stores what `resolve` would decide, after the same looks, and leaves what follows to the process that works on these flows: neither
 * `takeFunds` nor `releaseFunds` is called, and nothing is sent that moves money.
 *
 * @throws as `PaymentFlow.resolve`.
 */
export function decideFlow(
  context: FlowContext,
  key: string,
  resolution: CheckedResolution,
  call: FlowCall,
): Promise<FlowState> {
  return decideAnd(context, key, call, alone(context, resolution), andLeave);
}

/** What follows a decision that is stored. */
export type AfterDecision<Result> = (context: FlowContext, owned: OwnedFlow, decided: FlowState) => Promise<Result>;

/** Does what was decided. */
export const andGoOn: AfterDecision<FlowOutcome> = async (context, owned, decided) =>
  toOutcome(owned.lease.key, await driveFlow(context, owned, decided));

/** Leaves that to another process. */
export const andLeave: AfterDecision<FlowState> = async (_, __, decided) => decided;

/** @throws {InvalidArgumentError} `flow_approval_needed` where it takes two people. */
export function assertDecidesAlone({ people }: Pick<FlowContext, "people">): void {
  if (people === 1) return;
  throw unresolved(
    "flow_approval_needed",
    "resolve: a decision takes two people here (decisions: { people: 2 }): propose it, and let another person approve it",
  );
}

function alone(context: FlowContext, resolution: CheckedResolution): Decide {
  assertDecidesAlone(context);
  return async ({ lease: { key }, state }) => {
    const hash = seenHash(state);
    assertSeen(key, resolution.seen, hash);
    const proposal = openProposal(state);
    if (proposal?.saw?.hash === hash) throw alreadyProposed(key, proposal);
    return resolution;
  };
}

/** What is decided about a flow, once it is known what it is. */
type Decide = (flow: OperatedFlow) => Promise<CheckedResolution>;

export async function decideAnd<Result>(
  context: FlowContext,
  key: string,
  call: FlowCall,
  resolutionOf: Decide,
  after: AfterDecision<Result>,
): Promise<Result> {
  return operate(context, key, call, async (flow) => {
    const { lease, state } = flow;
    const resolution = await resolutionOf(flow);
    // What moves money needs to know whose flow it is.
    if (resolution.decision.action !== "found") await assertOwnKey(context, key, state);
    const startMs = clock.monotonicMs();
    const reached = await decide(context, call, lease, state, resolution);
    // The operator has just looked, or decided without a look.
    const mustLook = reached === state;
    const decided = mustLook ? reached : withStep(context, { from: state, startMs }, reached);
    if (!mustLook) await storeState(context, lease, decided);
    if (decided.phase !== state.phase) emitStep(context, key, state, decided, startMs);
    flow.decided = decided;
    return after(context, { lease, call, mustLook }, decided);
  });
}

/** What follows from a decision. A stuck flow for which no money was taken, as far as is known, can only go on. */
async function decide(
  context: FlowContext,
  call: FlowCall,
  lease: Lease,
  state: Resolvable,
  { decision, payment, withoutProof }: CheckedResolution,
): Promise<FlowState> {
  if (!isFunded(state)) {
    if (decision.action === "resend") return state;
    throw notHeld(lease.key, `it is ${state.phase}, and no money is known to have been taken: "resend" lets it go on`);
  }
  const { action, why } = decision;
  if (state.phase === "refused") assertMayEndRelease(lease.key, action, payment);
  const claims = await claimsToLookFor(context, call, state, payment !== undefined || withoutProof);
  const sought: Sought = { ...state, claims };
  if (action !== "found") await untilSent(context, call, lease, state, withoutProof);
  const look = action === "found" ? undefined : await assertAbsent(context, call, sought, withoutProof);
  // What the money is given back by is part of the record.
  const looks =
    look === undefined || action !== "release"
      ? state.looks
      : [...state.looks, { ...look, claims: state.claims.length }];
  const decisions = withDecision(lease.key, state.decisions, decision);
  const decided = { ...withoutResponse(state), looks, decisions };
  switch (action) {
    case "release":
      return { ...decided, phase: "refused", refusal: { by: "operator", code: "released", message: why } };
    case "resend":
      return { ...decided, phase: "funds-requested" };
    case "found":
      if (payment !== undefined) assertOwnPayment(payment, sought);
      return { ...decided, phase: "paid", payment: payment ?? (await findPayment(context, call, sought)) };
  }
}

/** Where the money is being given back, a release that failed may still come true: nothing may be paid beside it. */
export function assertMayEndRelease(key: string, action: ResolveAction, payment: Payment | undefined): void {
  if (action === "release" || payment !== undefined) return;
  const allowed = '"release" tries that again; "found" with the service\'s record as `payment` ends it';
  throw notHeld(key, `its money is being given back, and may have been already: ${allowed}`);
}

/** Of a flow whose claim was lost, or never made: what would be sent. Without a signature its payment is known by what is in it. */
export async function claimsToLookFor(
  context: FlowContext,
  call: FlowCall,
  state: Funded,
  isDecided: boolean,
): Promise<Recognisable["claims"]> {
  if (state.claims.length > 0) return state.claims;
  const input = paymentInput(state.intent, state.senderGatewayTransactionId);
  const unsigned = [{ body: JSON.stringify(input.body), signature: "" }];
  if (isDecided || (await otherKeyId(context, state)) !== undefined) return unsigned;
  try {
    return [await context.client.sign(payments.create, [], input, call.requestOptions)];
  } catch (error) {
    if (error instanceof SigningError) return unsigned;
    throw error;
  }
}

/**
 * Waits until its request can't be on its way any more to the socket of a process that was stopped: a clock that was set back since prolongs that
 * by a lease at most. Whoever can't tell that the journal has lost no claim waits, unless no proof is wanted, until what that one sent is listed.
 */
async function untilSent(
  context: FlowContext,
  call: FlowCall,
  lease: Lease,
  state: Funded,
  withoutProof: boolean,
): Promise<void> {
  const knownMs = Math.min((state.claims.at(-1)?.sendByMs ?? 0) - clock.wallMs(), longestLeaseMs(context, state));
  const isSure = lease.knowsAllClaims || withoutProof;
  const leftMs = isSure ? knownMs : Math.max(knownMs, wholeWaitLeftMs(context, lease, state));
  if (leftMs > 0) await call.pause(leftMs);
}

/**
 * Neither gives the money back nor pays again for a payment that is there.
 *
 * @throws {InvalidArgumentError} `flow_payment_found` when it is; `flow_payment_unseen` when nobody can tell.
 */
async function assertAbsent(
  context: FlowContext,
  call: FlowCall,
  sought: Sought,
  withoutProof: boolean,
): Promise<Look | undefined> {
  const looking = lookForPayment(context, call, sought, "decides");
  const { look, found } = await (withoutProof ? looking.catch(() => nothingSeen) : looking);
  if (found !== undefined) {
    throw unresolved(
      "flow_payment_found",
      'resolve: the payment is there, so the flow can only be resolved as "found"',
    );
  }
  if (withoutProof || (look?.complete && look.lookalike === undefined)) return look;
  throw unresolved(
    "flow_payment_unseen",
    `resolve: ${describeLook(look)}. To decide all the same, pass \`withoutProof: true\``,
  );
}

const nothingSeen = { look: undefined, found: undefined };

/** What came in response to an earlier request, and what was waited for it, says nothing about the next one. */
function withoutResponse(state: Funded): Omit<Funded, "phase"> {
  const {
    response: _,
    refusal: __,
    reason: ___,
    claim: ____,
    waits: _____,
    ...rest
  } = state as Funded & { response?: unknown; refusal?: unknown; reason?: unknown; claim?: unknown };
  return rest;
}

async function findPayment(context: FlowContext, call: FlowCall, sought: Sought): Promise<Payment> {
  const { look, found } = await lookForPayment(context, call, sought, "decides");
  if (found !== undefined) return found;
  const couldLook = look.complete || look.lookalike !== undefined;
  throw unresolved(
    couldLook ? "flow_payment_not_found" : "flow_payment_unseen",
    `resolve: the payment was not found: ${describeLook(look)}. If you have its record, pass it as \`payment\``,
  );
}

function describeLook({ lookalike, problem }: Partial<Look> = {}): string {
  if (lookalike !== undefined) {
    return "a payment with the same transaction id is listed, and its signature or its content is another";
  }
  return problem === undefined
    ? "it is not among the listed ones"
    : `it may be there although it was not seen: ${problem}`;
}

/** Whose a lookalike is, is for the operator to say. */
export function assertOwnPayment(payment: Payment, sought: Recognisable): void {
  const kind = paymentMatcher(sought)(Object(payment));
  const isRequest = sought.claims.some(({ body }) =>
    repeatsRequest(payments.create.record, parseJsonObject(body), { ...payment }),
  );
  if (!isRequest && (kind === "own" || kind === "lookalike")) return;
  throw unresolved(
    "flow_payment_not_found",
    "resolve: the given payment is no record with this flow's signature, body or senderGatewayTransactionId",
  );
}

/** @throws {InvalidArgumentError} `flow_moved_on` where somebody looked at something else. */
export function assertSeen(key: string, seen: string | undefined, hash: string): void {
  if (seen === undefined || seen === hash) return;
  throw unresolved(
    "flow_moved_on",
    `there is more to see of the flow of key ${JSON.stringify(key)} than was looked at: look at it again, and decide then`,
  );
}

/** The error where a proposal waits for another person. */
export function alreadyProposed(key: string, { action, by }: OperatorDecision): InvalidArgumentError {
  return unresolved(
    "flow_proposed",
    `for the flow of key ${JSON.stringify(key)} "${action}" was proposed by ${by}: approve it, or refuse it first`,
  );
}

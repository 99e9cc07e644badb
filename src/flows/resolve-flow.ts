import { type ErrorCode, InvalidArgumentError, SigningError } from "../errors/errors.js";
import type { FlowPhase } from "../events/flow-event.js";
import { isBoolean, isText, type OptionTable, parseOptions } from "../options/option-table.js";
import { type Payment, payments } from "../resources/payments.js";
import { clock } from "../timing/clock.js";
import type { FlowCall } from "./flow-call.js";
import type { FlowContext, OwnedFlow } from "./flow-context.js";
import { type FlowOutcome, toOutcome } from "./flow-outcome.js";
import { FlowPausedError } from "./flow-paused-error.js";
import { lookForPayment, type Sought } from "./looking/look-for-payment.js";
import { paymentMatcher, type Recognisable } from "./looking/match-payment.js";
import { Lease, LeaseLost } from "./ownership/lease.js";
import { acquireEntry, type OwnedEntry } from "./ownership/own-flow.js";
import { paymentFromIntent } from "./payment-from-intent.js";
import { openProposal, seenHash, withDecision } from "./state/decision-chain.js";
import { withStep } from "./state/flow-history.js";
import { assertOwnKey, otherKeyId, readState } from "./state/flow-scope.js";
import {
  type FlowState,
  fruitlessOwners,
  isSettled,
  isStuck,
  type Look,
  type OperatorDecision,
  type ResolveAction,
  type StateOf,
} from "./state/flow-state.js";
import { isTruth, ownedByFlow } from "./state/flow-truth.js";
import { frozenCopy } from "./state/frozen-copy.js";
import { driveFlow, storeState } from "./steps/drive-flow.js";
import { emitStep } from "./steps/emit-step.js";

/** An operator's decision about a flow that is held or stuck, for the record. `payment` is accepted for `found` only. */
export type Resolution<Action extends ResolveAction = ResolveAction> = {
  /** Who decides. */
  readonly by: string;
  /** On what grounds. */
  readonly why: string;
  /** `seen` of the flow's details as they were looked at: the decision is refused where there is more to see by now. */
  readonly seen?: string | undefined;
} & ([Action] extends ["found"]
  ? {
      /** The service's record of the payment. Without it, the payment is looked for once more. */
      readonly payment?: Payment | undefined;
    }
  : {
      readonly payment?: undefined;
      /**
       * Decides even if the look for the payment, which comes first, can't see every payment, or sees one that only looks like it.
       * Default: false.
       */
      readonly withoutProof?: boolean | undefined;
    });

export interface CheckedResolution {
  readonly decision: Omit<OperatorDecision, "previous">;
  readonly seen?: string | undefined;
  readonly payment: Payment | undefined;
  readonly withoutProof: boolean;
}

/** @throws {InvalidArgumentError} that names what is missing. */
export function checkResolution(
  action: ResolveAction,
  resolution: Resolution | Resolution<"found">,
  operation: "resolve" | "propose" = "resolve",
): CheckedResolution {
  const refuse = refusalOf(operation);
  if (action !== "found" && action !== "release" && action !== "resend") {
    throw refuse('the action must be "found", "release" or "resend"');
  }
  const given = parseOptions(resolutionOptions, resolution ?? {}, "the decision", refuse) as unknown as GivenResolution;
  const { payment, withoutProof = false, seen, ...grounds } = given;
  if (payment !== undefined && action !== "found") {
    throw refuse(`a payment can be given for "found" only, not for "${action}"`);
  }
  if (withoutProof && action === "found") throw refuse('withoutProof is for "release" and "resend" only');
  // Whatever else an operator states is kept with the flow.
  const decision = { action, ...grounds, atMs: clock.wallMs(), ...(withoutProof ? { withoutProof } : undefined) };
  return { decision, seen, payment: frozenCopy(payment), withoutProof };
}

type GivenResolution = Omit<Resolution, "payment"> & Pick<Resolution<"found">, "payment">;

export const resolutionOptions: OptionTable<GivenResolution> = {
  by: { accepts: isText, isRequired: true, wanted: "who decides", documentation: "who decides" },
  why: {
    accepts: isText,
    isRequired: true,
    wanted: "on what grounds it is decided",
    documentation: "on what grounds",
  },
  payment: {
    accepts: (value) => typeof value === "object" && value !== null,
    wanted: "the service's record of the payment",
    documentation: "the service's record of the payment",
  },
  withoutProof: {
    accepts: isBoolean,
    wanted: "true or false",
    documentation: "decides although the payment can't be seen",
  },
  seen: { accepts: isText, wanted: "what `details` has as `seen`", documentation: "what was looked at" },
};

/** Makes the error of a message about what an operation was given. */
export function refusalOf(operation: string): (message: string) => InvalidArgumentError {
  return (message) => new InvalidArgumentError(`${operation}: ${message}`);
}

export type Resolvable = Exclude<FlowState, { readonly phase: "quoted" | "declined" | "paid" | "rejected" }>;

/** What an operator can decide about: money that was taken. */
export type Funded =
  | StateOf<"claimed" | "unknown" | "held" | "refused">
  | (StateOf<"funds-requested"> & { readonly senderGatewayTransactionId: string });

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

/** A flow that an operator has the lease of. */
export interface OperatedFlow {
  readonly lease: Lease;
  readonly state: Resolvable;
  readonly revision: number;
  /** What was decided, once that is stored. */
  decided?: FlowState;
}

/** Leases a flow that is held or stuck for an operator, and gives it back. */
export async function operate<Result>(
  context: FlowContext,
  key: string,
  call: FlowCall,
  work: (flow: OperatedFlow) => Promise<Result>,
): Promise<Result> {
  const leased = await ownedByFlow(key, acquireToResolve(context, key, call));
  if (leased === undefined) throw notHeld(key, "there is no such flow, or another process is running it");
  const lease = new Lease(context.journal, leased.entry, context.leaseMs, leased.askedAt);
  let phase: FlowPhase | undefined;
  let flow: OperatedFlow | undefined;
  try {
    const read = await readState(context, leased.entry);
    phase = read.phase;
    const { revision } = leased.entry;
    flow = { lease, state: await toResolvable(context, key, read, leased), revision };
    return await work(flow);
  } catch (error) {
    const { decided } = flow ?? {};
    phase = decided?.phase ?? phase;
    if (error instanceof LeaseLost) {
      // What was decided is stored: another process goes on with it.
      throw decided === undefined ? notHeld(key, "another process took it over") : new FlowPausedError(key, { phase });
    }
    throw isTruth(error) ? error : new FlowPausedError(key, { phase, cause: error });
  } finally {
    await lease.end();
  }
}

/** Where the lease ends later than its own length from now, an operator waits for as long as that, and takes the flow over. */
async function acquireToResolve(
  context: FlowContext,
  key: string,
  call: FlowCall,
): Promise<(OwnedEntry & { readonly wasOverlong: boolean }) | undefined> {
  for (;;) {
    const seen = await context.journal.read(key);
    const wasOverlong = seen?.isOverlong === true;
    const owned = await acquireEntry(context, key, seen);
    if (owned !== undefined) return { ...owned, wasOverlong };
    if (!wasOverlong) return undefined;
    await call.pause(Math.min(seen.leaseMs ?? context.leaseMs, context.leaseMs) / 4);
  }
}

/** @throws {InvalidArgumentError} `flow_not_held` */
async function toResolvable(
  context: FlowContext,
  key: string,
  state: FlowState,
  { entry: { epoch }, wasOverlong }: OwnedEntry & { readonly wasOverlong: boolean },
): Promise<Resolvable> {
  if (isResolvable(state)) {
    const isWaiting = isStuck(state) || fruitlessOwners(state, epoch) !== undefined;
    const isStopped = state.phase === "held" || isWaiting || wasOverlong;
    if (isStopped || (await otherKeyId(context, state)) !== undefined) return state;
  }
  throw notHeld(key, `it is ${state.phase}`);
}

function isResolvable(state: FlowState): state is Resolvable {
  return state.phase === "held" || !isSettled(state);
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
  const look = action === "found" ? undefined : await assertAbsent(context, call, state, sought, withoutProof);
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

export function isFunded(state: Resolvable): state is Funded {
  return "senderGatewayTransactionId" in state;
}

/** Of a flow whose claim was lost, or never made: what would be sent. Without a signature its payment is known by what is in it. */
export async function claimsToLookFor(
  context: FlowContext,
  call: FlowCall,
  state: Funded,
  isDecided: boolean,
): Promise<Recognisable["claims"]> {
  if (state.claims.length > 0) return state.claims;
  const body = paymentFromIntent(state.intent, state.senderGatewayTransactionId);
  const unsigned = [{ body: JSON.stringify(body), signature: "" }];
  if (isDecided || (await otherKeyId(context, state)) !== undefined) return unsigned;
  try {
    return [await context.client.sign(payments.create, [], { body }, call.requestOptions)];
  } catch (error) {
    if (error instanceof SigningError) return unsigned;
    throw error;
  }
}

/**
 * Neither gives the money back nor pays again for a payment that is there.
 *
 * @throws {InvalidArgumentError} `flow_payment_found` when it is; `flow_payment_unseen` when nobody can tell.
 */
async function assertAbsent(
  context: FlowContext,
  call: FlowCall,
  state: Funded,
  sought: Sought,
  withoutProof: boolean,
): Promise<Look | undefined> {
  // Until then its request may still be on its way to the socket of a process that was stopped. A clock that was set back since
  // prolongs it by a lease at most.
  const sendByMs = state.claims.at(-1)?.sendByMs ?? 0;
  const untilSentMs = Math.min(sendByMs - clock.wallMs(), context.leaseMs);
  if (untilSentMs > 0) await call.pause(untilSentMs);
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
  if (paymentMatcher(sought)(Object(payment)) !== undefined) return;
  throw unresolved(
    "flow_payment_not_found",
    "resolve: the given payment has neither this flow's signature nor its body nor its senderGatewayTransactionId",
  );
}

export function unresolved(code: ErrorCode, message: string): InvalidArgumentError {
  return new InvalidArgumentError(message, { code, effect: "possible" });
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

/** The error for a flow about which nothing can be decided now. */
export function notHeld(key: string, why: string): InvalidArgumentError {
  return new InvalidArgumentError(`the flow of key ${JSON.stringify(key)} can't be resolved: ${why}`, {
    code: "flow_not_held",
    effect: "possible",
  });
}

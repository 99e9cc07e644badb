import { CrossBorderError } from "../errors/errors.js";
import { payments } from "../resources/payments.js";
import { clock } from "../timing/clock.js";
import { waitAsAsked } from "./asked-wait.js";
import { describeLooks } from "./describe-looks.js";
import type { FlowContext, OwnedFlow, StepResult } from "./flow-context.js";
import { isPassing } from "./flow-refusal.js";
import { type FlowRefusal, type Look, openClaim, type ServiceFact, type StateOf } from "./flow-state.js";
import { lookForPayment, sureMark } from "./look-for-payment.js";

type Unknown = StateOf<"unknown">;

/**
 * Looks once for a payment whose outcome is unknown, and decides what follows from all looks so far.
 *
 * By default absence proves nothing: a payment that is not listed yet may still be on its way, so the flow is held for a person. Only a
 * refusal, a look that is late enough by `service.listedWithinMs`, or `service.singleUseIntents` lets it go on.
 */
export async function readBack(context: FlowContext, owned: OwnedFlow, begun: Unknown): Promise<StepResult> {
  const { askedWait, ...state } = begun;
  const isProof = isProofDue(context, state);
  if (isProof) await waitForProof(context, owned, state);
  await waitAsAsked(context, owned, askedWait, isProof ? 0 : lookDelayMs(context, state));
  // What is decided on absence must not depend on a mark where an entry that was lost may be older.
  const since = isProof || state.refusal !== undefined ? sureMark(state) : state.since;
  const { look, found } = await lookForPayment(context.client, state, since, owned.call.requestOptions);
  const looked = { ...state, looks: [...state.looks, look] };
  if (found !== undefined) return { state: { ...decided(looked), phase: "paid", payment: found } };
  const isAlone = looksForIt(looked).every(({ lookalike }) => lookalike === undefined);
  const isAbsent = look.complete && isAlone;
  if (state.refusal !== undefined) return afterRefusal(context, looked, state.refusal, { isAlone, isAbsent });
  if (looksForIt(looked).length < context.readBacks) return { state: looked };
  if (isProof && isAbsent) return sendAgain(owned, absent(looked), "listedWithinMs");
  if (!isProof && isProofDue(context, looked)) return { state: looked };
  if (context.service.singleUseIntents === true && isAlone && mayBeSentAgain(looked)) {
    return sendAgain(owned, looked, "singleUseIntents");
  }
  return held(looked);
}

/** A look from before the newest request was sent says nothing about it. */
function looksForIt({ looks, claims }: Pick<Unknown, "looks" | "claims">): readonly Look[] {
  return looks.filter((look) => look.claims === claims.length);
}

/** After a refusal even the first look waits: a payment that a proxy sent twice may be committed and not listed yet. */
function lookDelayMs({ readBackDelayMs, service }: FlowContext, state: Unknown): number {
  if (state.refusal !== undefined) return Math.max(readBackDelayMs, service.listedWithinMs ?? 0);
  return looksForIt(state).length === 0 ? 0 : readBackDelayMs;
}

/** Whether the next look comes so late that absence is certain, which `service.listedWithinMs` alone makes possible. */
function isProofDue({ readBacks, service }: FlowContext, state: Unknown): boolean {
  const isPossible = service.listedWithinMs !== undefined && mayBeSentAgain(state);
  return isPossible && looksForIt(state).length >= readBacks;
}

/** A timer that goes off early proves nothing. */
async function waitForProof(context: FlowContext, owned: OwnedFlow, state: Unknown): Promise<void> {
  for (;;) {
    const leftMs = untilProofMs(context, owned, state);
    if (leftMs <= 0) return;
    await owned.call.pause(leftMs);
  }
}

/**
 * A whole lease and the listing's time, after the later of taking the flow over and this owner's claim, by the monotonic clock: until
 * then an earlier owner's request may be on its way. That owner's lease may have been a longer one.
 */
function untilProofMs(context: FlowContext, { lease }: OwnedFlow, { claims }: Unknown): number {
  const { listedWithinMs = 0 } = context.service;
  const leaseMs = Math.max(context.leaseMs, ...claims.map(({ claimedAtMs, sendByMs }) => sendByMs - claimedAtMs));
  return lease.ownedSinceMs + leaseMs + listedWithinMs - clock.monotonicMs();
}

/** How often a payment is sent again without a person's decision. */
const mostRepetitions = 3;

function mayBeSentAgain({ claims, response }: Unknown): boolean {
  // What was made once is looked for, however long it is not listed.
  if (response?.effect === "done") return false;
  return claims.filter(({ isRefused }) => isRefused !== true).length <= mostRepetitions;
}

/** The service said that it did nothing: true unless the payment is there all the same. */
function afterRefusal(
  { readBacks }: FlowContext,
  state: Unknown,
  refusal: FlowRefusal,
  { isAlone, isAbsent }: { readonly isAlone: boolean; readonly isAbsent: boolean },
): StepResult {
  // Of a request that was sent again the service may say no because it has made the first one.
  const isFirst = openClaim(state.claims.slice(0, -1)) === undefined;
  if (!isAlone || (isAbsent && !isFirst)) return held(state);
  if (!isAbsent) return looksForIt(state).length < readBacks ? { state } : held(state);
  if (!isPassing(refusal)) return { state: { ...decided(state), phase: "refused", refusal } };
  return { state: { ...decided(state), ...withRefused(state), phase: "funds-requested" }, error: refused(refusal) };
}

/** The same bytes that are refused again and again are kept once, with the looks for the last of them. */
function withRefused({ claims, claim, looks }: Unknown): Pick<Unknown, "claims" | "looks"> {
  const refused = { ...claim, isRefused: true as const };
  const earlier = claims.slice(0, -1);
  const last = earlier.at(-1);
  if (last?.isRefused !== true || last.signature !== claim.signature) {
    return { claims: [...earlier, refused], looks };
  }
  const kept = looks.filter((look) => look.claims !== earlier.length);
  return {
    claims: [...earlier.slice(0, -1), { ...refused, refusals: (last.refusals ?? 1) + 1 }],
    looks: kept.map((look) => (look.claims === claims.length ? { ...look, claims: earlier.length } : look)),
  };
}

function refused({ status }: FlowRefusal): CrossBorderError {
  const { name: operation } = payments.create;
  const message = `${operation}: the service responded with ${status}, and the payment was looked for and not found`;
  return new CrossBorderError(message, { code: `http_${status ?? 0}`, operation });
}

/** Goes on without a person, and says in the outcome what that relied on. */
function sendAgain(owned: OwnedFlow, state: Unknown, fact: ServiceFact): StepResult {
  owned.mustLook = false;
  const reliedOn = [...new Set([...(state.reliedOn ?? []), fact])];
  return { state: { ...decided(state), phase: "funds-requested", reliedOn } };
}

function absent(state: Unknown): Unknown {
  return { ...state, claims: state.claims.map((claim) => ({ ...claim, isAbsent: true as const })) };
}

function held(state: Unknown): StepResult {
  const reason = `${state.reason}, and ${describeLooks(looksForIt(state))}`;
  return { state: { ...state, phase: "held", reason } };
}

function decided({ claim: _, reason: __, response: ___, refusal: ____, ...state }: Unknown) {
  return state;
}

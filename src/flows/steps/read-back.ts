import type { FlowContext, OwnedFlow, StepResult } from "../flow-context.js";
import { describeLooks, describeShortLives } from "../looking/describe-looks.js";
import { lookForPayment } from "../looking/look-for-payment.js";
import {
  afterLook,
  hastyLooks,
  type LookWait,
  longestLeaseMs,
  reliedOnLagMs,
  waitAsOwner,
} from "../looking/wait-as-owner.js";
import { isPassing } from "../state/flow-refusal.js";
import { type FlowRefusal, type Look, openClaim, type ServiceFact, type StateOf } from "../state/flow-state.js";

type Unknown = StateOf<"unknown">;

/**
 * Looks once for a payment whose outcome is unknown, and decides what follows from all looks so far.
 *
 * By default absence proves nothing: a payment that is not listed yet may still be on its way, so the flow is held for a person. Only a
 * refusal, a look that is late enough by `service.listedWithinMs`, or `service.singleUseIntents` lets it go on.
 */
export async function readBack(context: FlowContext, owned: OwnedFlow, begun: Unknown): Promise<StepResult> {
  const wait = waitBefore(context, owned, begun);
  const waited = await waitAsOwner(context, owned, begun, wait, begun.askedWait);
  if (!waited.isDue) return { ...waited, isPartial: true };
  const { isProof } = waited;
  if (isProof) owned.lease.noteKnowsAllClaims();
  const { askedWait: _, ...state } = begun;
  const decides = wait.aloneMs === undefined ? "reports" : "decides";
  const { look, found } = await lookForPayment(context, owned.call, state, decides);
  const isHasty = wait.aloneMs !== undefined && !isProof;
  const looked = { ...state, looks: [...state.looks, look], waits: afterLook(state, !isHasty) };
  if (found !== undefined) {
    if (owned.hasNoResponse) context.circuitBreaker?.note(false);
    return { state: { ...decided(looked), phase: "paid", payment: found } };
  }
  const isAlone = looksForIt(looked).every(({ lookalike }) => lookalike === undefined);
  const isAbsent = look.complete && isAlone;
  if (isHasty) return hastyLooks(looked) < context.readBacks ? { state: looked } : held(looked, wait.aloneMs);
  if (state.refusal !== undefined) return afterRefusal(context, owned, looked, state.refusal, { isAlone, isAbsent });
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

function waitBefore(context: FlowContext, { lease }: OwnedFlow, state: Unknown): LookWait {
  const leaseMs = longestLeaseMs(context, state);
  if (state.refusal !== undefined) {
    // A payment that a proxy sent twice may be committed and not listed yet, and a claim that the journal lost be on its way.
    const lagMs = reliedOnLagMs(context);
    const aloneMs = lagMs + (lease.knowsAllClaims ? 0 : leaseMs);
    return { aloneMs, togetherMs: aloneMs, betweenMs: looksForIt(state).length === 0 ? 0 : lagMs };
  }
  if (isProofDue(context, state)) {
    // Until then an earlier owner's request may be on its way.
    const aloneMs = leaseMs + (context.service.listedWithinMs ?? 0);
    return { aloneMs, togetherMs: aloneMs, betweenMs: 0 };
  }
  const togetherMs = looksForIt(state).length === 0 ? 0 : context.readBackDelayMs;
  return { aloneMs: undefined, togetherMs, betweenMs: 0 };
}

/** Whether the next look comes so late that absence is certain, which `service.listedWithinMs` alone makes possible. */
function isProofDue({ readBacks, service }: FlowContext, state: Unknown): boolean {
  const isPossible = service.listedWithinMs !== undefined && mayBeSentAgain(state);
  return isPossible && looksForIt(state).length >= readBacks;
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
  owned: OwnedFlow,
  state: Unknown,
  refusal: FlowRefusal,
  { isAlone, isAbsent }: { readonly isAlone: boolean; readonly isAbsent: boolean },
): StepResult {
  // Of a request that was sent again the service may say no because it has made the first one.
  const isFirst = openClaim(state.claims.slice(0, -1)) === undefined;
  if (!isAlone || (isAbsent && !isFirst)) return held(state);
  if (!isAbsent) return looksForIt(state).length < readBacks ? { state } : held(state);
  if (!isPassing(refusal)) return { state: { ...decided(state), phase: "refused", refusal } };
  // A token that was revoked, or too many requests: the same bytes may be sent again, with a new token.
  if (refusalsOf(state) >= mostRepetitions) return held(state);
  owned.mustLook = false;
  return { state: { ...decided(state), ...withRefused(state), phase: "funds-requested" } };
}

/** How often the service has refused this flow's payment before, for the time being. */
function refusalsOf({ claims }: Unknown): number {
  return claims.reduce((sum, { isRefused, refusals = 1 }) => sum + (isRefused === true ? refusals : 0), 0);
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

/** Goes on without a person, and says in the outcome what that relied on. */
function sendAgain(owned: OwnedFlow, state: Unknown, fact: ServiceFact): StepResult {
  owned.mustLook = false;
  const reliedOn = [...new Set([...(state.reliedOn ?? []), fact])];
  return { state: { ...decided(state), phase: "funds-requested", reliedOn } };
}

function absent(state: Unknown): Unknown {
  return { ...state, claims: state.claims.map((claim) => ({ ...claim, isAbsent: true as const })) };
}

/** @param wholeMs for how long one process alone has to have had the flow before a look, where none had. */
function held(state: Unknown, wholeMs?: number): StepResult {
  const why = wholeMs === undefined ? "" : `; ${describeShortLives(wholeMs)}`;
  const reason = `${state.reason}, and ${describeLooks(looksForIt(state))}${why}`;
  return { state: { ...state, phase: "held", reason } };
}

/** What was waited for, and what came, says nothing about the next request. */
function decided({ claim: _, reason: __, response: ___, refusal: ____, waits: _____, ...state }: Unknown) {
  return state;
}

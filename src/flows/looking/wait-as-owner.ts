import { clock } from "../../timing/clock.js";
import type { FlowContext, OwnedFlow } from "../flow-context.js";
import type { Lease } from "../ownership/lease.js";
import type { AskedWait, Claim, Waits } from "../state/flow-state.js";
import { isWaiting, waitAsAsked } from "../steps/asked-wait.js";

interface Waiting {
  readonly waits?: Waits;
  readonly claims: readonly Claim[];
  readonly leaseMs?: number;
}

export interface LookWait {
  /** So long this owner must have had the flow alone, for the look to be a proof; `undefined` where it proves nothing in any case. */
  readonly aloneMs: number | undefined;
  /** After so long, which all owners together have waited since the last look, the look is taken in any case. */
  readonly togetherMs: number;
  /** So long all owners together wait between two looks, whatever the next one can prove. */
  readonly betweenMs: number;
}

/** Whether it is time to look, and what that look can prove; or a state to store before the wait goes on. */
export type Waited<State> =
  | { readonly isDue: true; readonly isProof: boolean }
  | { readonly isDue: false; readonly state: State; readonly error?: unknown };

/**
 * Waits for a part of the time before a look. What was waited is stored every now and then, and when the wait is ended: owners that live for
 * less than the whole of it come to a look all the same, and their flow to an end.
 */
export async function waitAsOwner<State extends Waiting>(
  context: FlowContext,
  owned: OwnedFlow,
  state: State,
  { aloneMs, togetherMs, betweenMs }: LookWait,
  askedWait?: AskedWait,
): Promise<Waited<State>> {
  const startMs = clock.monotonicMs();
  const { waits = noWaits } = state;
  const waited = (): State => ({ ...state, waits: { ...waits, ms: waits.ms + clock.monotonicMs() - startMs } });
  try {
    await waitAsAsked(context, owned, askedWait);
    const aloneLeftMs = Math.max((aloneMs ?? Number.POSITIVE_INFINITY) - msAlone(owned), betweenMs - waits.ms);
    if (aloneLeftMs <= 0) return { isDue: true, isProof: true };
    const togetherLeftMs = togetherMs - waits.ms;
    if (togetherLeftMs <= 0) return { isDue: true, isProof: false };
    await owned.call.pause(Math.min(aloneLeftMs, togetherLeftMs, storedAfterMs(context, owned)));
    return { isDue: false, state: waited() };
  } catch (error) {
    // The service wants to be left alone for longer than anybody waits: nothing was waited.
    if (isWaiting(error)) throw error;
    return { isDue: false, state: waited(), error };
  }
}

/** A look was taken: the wait for the next one begins. */
export function afterLook({ waits = noWaits }: Waiting, isProof: boolean): Waits {
  return { ms: 0, looks: waits.looks + (isProof ? 0 : 1) };
}

/** How many looks were taken on time that no owner had waited alone. */
export function hastyLooks({ waits = noWaits }: Waiting): number {
  return waits.looks;
}

const noWaits: Waits = { ms: 0, looks: 0 };

/** For how long a payment may be on its way that an earlier owner sent: its lease may have been a longer one than this process's. */
export function longestLeaseMs(context: FlowContext, { claims, leaseMs = 0 }: Waiting): number {
  return Math.max(context.leaseMs, leaseMs, ...claims.map(({ claimedAtMs, sendByMs }) => sendByMs - claimedAtMs));
}

/** By how much the list of payments may lag behind, as far as anybody relies on that. */
export function reliedOnLagMs({ readBackDelayMs, service }: FlowContext): number {
  return Math.max(readBackDelayMs, service.listedWithinMs ?? 0);
}

/** After so long an owner sees whatever an earlier one has sent, also by a claim that the journal has lost. */
export function wholeWaitMs(context: FlowContext, state: Waiting): number {
  return longestLeaseMs(context, state) + reliedOnLagMs(context);
}

/** What is left of that, since this owner got the flow. */
export function wholeWaitLeftMs(context: FlowContext, lease: Lease, state: Waiting): number {
  return lease.ownedSinceMs + wholeWaitMs(context, state) - clock.monotonicMs();
}

/** Since this owner got the flow, made its newest claim, and got the response to it. A timer that goes off early proves nothing. */
function msAlone({ lease, refusedAtMs = Number.NEGATIVE_INFINITY }: OwnedFlow): number {
  return clock.monotonicMs() - Math.max(lease.ownedSinceMs, refusedAtMs);
}

/** The first wait is stored soon, for owners that are about to end; each later one twice as late. */
function storedAfterMs({ leaseMs }: FlowContext, owned: OwnedFlow): number {
  return Math.min(Math.max(msAlone(owned), shortestMs), leaseMs / 3);
}

const shortestMs = 50;

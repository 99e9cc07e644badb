import { type ErrorCode, InvalidArgumentError } from "../errors/errors.js";
import type { FlowPhase } from "../events/flow-event.js";
import type { FlowCall } from "./flow-call.js";
import type { FlowContext } from "./flow-context.js";
import { FlowPausedError } from "./flow-paused-error.js";
import { isTruth, ownedByFlow } from "./ownership/flow-truth.js";
import { Lease, LeaseLost } from "./ownership/lease.js";
import { acquireEntry, type OwnedEntry } from "./ownership/own-flow.js";
import { otherKeyId, readState } from "./state/flow-scope.js";
import { type FlowState, fruitlessOwners, isSettled, isStuck, type StateOf } from "./state/flow-state.js";

export type Resolvable = Exclude<FlowState, { readonly phase: "quoted" | "declined" | "paid" | "rejected" }>;

/** What an operator can decide about: money that was taken. */
export type Funded =
  | StateOf<"claimed" | "unknown" | "held" | "refused">
  | (StateOf<"funds-requested"> & { readonly senderGatewayTransactionId: string });

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

/**
 * Where the lease ends later than its own length from now, an operator waits for as long as that, and takes the flow over.
 *
 * @throws {InvalidArgumentError} `flow_not_held`
 */
async function acquireToResolve(
  context: FlowContext,
  key: string,
  call: FlowCall,
): Promise<OwnedEntry & { readonly wasOverlong: boolean }> {
  for (;;) {
    const seen = await context.journal.read(key);
    const wasOverlong = seen?.isOverlong === true;
    const owned = await acquireEntry(context, key, seen);
    if (owned !== undefined) return { ...owned, wasOverlong };
    if (seen === undefined || seen.prunedAtMs !== undefined) throw notHeld(key, "there is no such flow");
    if (!wasOverlong)
      throw notHeld(key, `${JSON.stringify(seen.owner)} is running it, or carries out a decision about it`);
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

export function isFunded(state: Resolvable): state is Funded {
  return "senderGatewayTransactionId" in state;
}

export function unresolved(code: ErrorCode, message: string): InvalidArgumentError {
  return new InvalidArgumentError(message, { code, effect: "possible" });
}

/** The error for a flow about which nothing can be decided now. */
export function notHeld(key: string, why: string): InvalidArgumentError {
  return new InvalidArgumentError(`the flow of key ${JSON.stringify(key)} can't be resolved: ${why}`, {
    code: "flow_not_held",
    effect: "possible",
  });
}

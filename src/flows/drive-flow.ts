import { CrossBorderError, type SentRequest } from "../errors/errors.js";
import type { Deadline } from "../timing/deadline.js";
import type { Timestamp } from "../timing/timestamp.js";
import type { FlowContext, OwnedFlow } from "./flow-context.js";
import { type FlowOutcome, toOutcome } from "./flow-outcome.js";
import { FlowPausedError } from "./flow-paused-error.js";
import { type FlowState, isSettled, type SettledState } from "./flow-state.js";
import { takeStep } from "./flow-steps.js";
import type { JournalEntry, JournalState } from "./journal.js";
import { Lease, LeaseLost } from "./lease.js";

/** A flow as it was when this process got the lease of it. */
export interface LeasedFlow {
  readonly entry: Pick<JournalEntry, "key" | "epoch">;
  readonly state: FlowState;
  /** When the lease was asked for. */
  readonly askedAt: Timestamp;
}

/**
 * Takes a flow to its outcome, and ends the lease; `undefined` when another owner got the flow meanwhile.
 *
 * @throws {FlowPausedError} when it stopped before that.
 */
export async function finishFlow(
  context: FlowContext,
  { entry, state, askedAt }: LeasedFlow,
  deadline: Deadline,
): Promise<FlowOutcome | undefined> {
  const lease = new Lease(context.journal, entry, context.leaseRequest.leaseMs, askedAt);
  try {
    return toOutcome(entry.key, await driveFlow(context, { lease, deadline }, state));
  } catch (error) {
    if (error instanceof LeaseLost) return undefined;
    throw error;
  } finally {
    await lease.end();
  }
}

/**
 * Takes one step after the other, and stores what each one led to, until the flow is settled.
 *
 * @throws {LeaseLost} when another owner has the flow.
 * @throws {FlowPausedError} for whatever else stops it.
 */
export async function driveFlow(context: FlowContext, owned: OwnedFlow, from: FlowState): Promise<SettledState> {
  let state = from;
  try {
    while (!isSettled(state)) {
      const result = await takeStep(context, owned, state);
      await storeState(owned.lease, await context.codec.encode(result.state));
      state = result.state;
      if (result.error !== undefined) throw result.error;
    }
    return state;
  } catch (error) {
    if (error instanceof LeaseLost) throw error;
    throw new FlowPausedError(owned.lease.key, { phase: state.phase, cause: error, request: requestOf(state) });
  }
}

/**
 * A write that failed, stored or not, is tried again: under the same epoch it stores the same.
 *
 * @throws {LeaseLost} when another owner has the flow.
 */
export async function storeState(lease: Lease, state: JournalState): Promise<void> {
  for (const delayMs of retryDelaysMs) {
    try {
      return await lease.write(state);
    } catch (error) {
      // What can't be stored at all fails before the journal is asked.
      if (error instanceof LeaseLost || isRefused(error)) throw error;
      await new Promise((resolve) => setTimeout(resolve, delayMs));
    }
  }
  return lease.write(state);
}

const retryDelaysMs = [50, 200];

function isRefused(error: unknown): boolean {
  return error instanceof CrossBorderError && error.code === "invalid_argument";
}

/** The newest signed payment of a flow that may have been sent. */
function requestOf(state: FlowState): SentRequest | undefined {
  const claim = "claims" in state ? state.claims?.at(-1) : undefined;
  if (claim === undefined) return undefined;
  const { path, body, signature } = claim;
  return { path, body, signature };
}

import { CrossBorderError } from "../errors/errors.js";
import type { Deadline } from "../timing/deadline.js";
import type { Timestamp } from "../timing/timestamp.js";
import type { FlowContext, OwnedFlow } from "./flow-context.js";
import { type FlowOutcome, toOutcome } from "./flow-outcome.js";
import { type FlowState, isSettled, type SettledState } from "./flow-state.js";
import { takeStep } from "./flow-steps.js";
import type { JournalEntry } from "./journal.js";
import { Lease, LeaseLost } from "./lease.js";

/** A flow as it was when this process got the lease of it. */
export interface LeasedFlow {
  readonly entry: Pick<JournalEntry, "key" | "epoch">;
  readonly state: FlowState;
  /** When the lease was asked for. */
  readonly askedAt: Timestamp;
}

/** Takes a flow to its outcome, and ends the lease; `undefined` when another owner got the flow meanwhile. */
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

/** Takes one step after the other, and stores what each one led to, until the flow is settled. */
export async function driveFlow(context: FlowContext, owned: OwnedFlow, from: FlowState): Promise<SettledState> {
  let state = from;
  while (!isSettled(state)) {
    const before = state;
    const result = await takeStep(context, owned, before).catch((error: unknown) => {
      throw withFunds(error, before);
    });
    await owned.lease.write(await context.codec.encode(result.state));
    if (result.error !== undefined) throw withFunds(result.error, before);
    state = result.state;
  }
  return state;
}

/** Tells whoever gets the error that money was taken, and which. */
function withFunds(error: unknown, state: FlowState): unknown {
  if (error instanceof CrossBorderError && "senderGatewayTransactionId" in state && state.intent !== undefined) {
    const { senderGatewayTransactionId = "", intent } = state;
    error.funds = { intentId: intent.id, senderGatewayTransactionId };
  }
  return error;
}

import { ApiError, CrossBorderError } from "../../errors/errors.js";
import { longestAskedMs } from "../../timing/retry-after.js";
import type { FlowContext, OwnedFlow } from "../flow-context.js";
import type { Lease } from "../ownership/lease.js";
import type { AskedWait } from "../state/flow-state.js";

/**
 * What a failure's `Retry-After` asks of a flow, to be stored with it: its next owner may be another process. While it waits, the sender's money
 * is kept from both sides.
 */
export function askedWaitOf({ lease }: OwnedFlow, error: unknown): { readonly askedWait?: AskedWait } {
  const retryAfterMs = error instanceof ApiError ? (error.retryAfterMs ?? 0) : 0;
  if (retryAfterMs <= 0) return {};
  return { askedWait: { sinceMs: lease.journalNowMs(), forMs: Math.min(longestAskedMs, retryAfterMs) } };
}

/**
 * Waits, before a step that asks the service for something, until the service allows it, and for as long as the step itself waits. The
 * longer of the two decides.
 *
 * @param ownMs how long the step would wait in any case, in milliseconds.
 * @throws {CrossBorderError} `flow_throttled` where the service wants more than a lease: nobody has to hold the flow for that.
 */
export async function waitAsAsked(
  { leaseMs }: FlowContext,
  { lease, call }: OwnedFlow,
  askedWait: AskedWait | undefined,
  ownMs = 0,
): Promise<void> {
  const askedMs = askedWait === undefined ? 0 : leftMs(askedWait, lease, leaseMs);
  if (askedMs > leaseMs) throw throttled(askedMs);
  const waitMs = Math.max(ownMs, askedMs);
  if (waitMs > 0) await call.pause(waitMs);
}

/** Both owners go by the journal's clock. Where that was set back since, nobody knows what is left, and the service can be asked. */
function leftMs({ sinceMs, forMs }: AskedWait, lease: Lease, slackMs: number): number {
  const elapsedMs = lease.journalNowMs() - sinceMs;
  return elapsedMs < -slackMs ? 0 : Math.min(forMs, forMs - elapsedMs);
}

function throttled(leftMs: number): CrossBorderError {
  const seconds = Math.ceil(leftMs / 1000);
  const message = `the service asked by Retry-After to be left alone: the flow asks it for nothing in the next ${seconds} s`;
  return new CrossBorderError(message, { code: "flow_throttled" });
}

/** Whether a flow did not fail, but waits for others. */
export function isWaiting(error: unknown): boolean {
  return error instanceof CrossBorderError && waits.has(error.code);
}

const waits: ReadonlySet<string> = new Set(["flow_circuit_open", "flow_throttled"]);

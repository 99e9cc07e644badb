import type { FlowCall } from "../flow-call.js";
import type { FlowContext } from "../flow-context.js";
import { type FlowOutcome, toOutcome } from "../flow-outcome.js";
import { FlowPausedError } from "../flow-paused-error.js";
import type { JournalEntry } from "../journal.js";
import { truthOf } from "../ownership/flow-truth.js";
import { acquireEntry } from "../ownership/own-flow.js";
import { readState } from "../state/flow-scope.js";
import { type FlowState, hasOutcome, type StateOf } from "../state/flow-state.js";
import { continueFlow } from "./drive-flow.js";

/** What a caller makes of a key that no process is running. Both return `undefined` when another process was faster. */
export interface FlowStart {
  /** Refuses a flow that is another than the caller means. */
  assertFits(state: FlowState): void;
  whenAbsent(): Promise<FlowOutcome | undefined>;
  whenQuoted(entry: JournalEntry, quote: StateOf<"quoted">): Promise<FlowOutcome | undefined>;
}

/** Begins the flow of a key, continues it, or waits for its outcome while another process runs it. */
export async function settleFlow(
  context: FlowContext,
  key: string,
  call: FlowCall,
  start: FlowStart,
): Promise<FlowOutcome> {
  try {
    for (;;) {
      const outcome = await tryToSettle(context, key, call, start);
      if (outcome !== undefined) return outcome;
      await call.pause(Math.min(250, context.leaseMs / 4));
    }
  } catch (error) {
    if (call.hasLostLease && !(error instanceof FlowPausedError)) throw new FlowPausedError(key, { cause: error });
    throw await truthOf(context, key, error);
  }
}

async function tryToSettle(
  context: FlowContext,
  key: string,
  call: FlowCall,
  start: FlowStart,
): Promise<FlowOutcome | undefined> {
  const entry = await context.journal.read(key);
  if (entry === undefined) return start.whenAbsent();
  const state = await readState(context, entry);
  start.assertFits(state);
  if (hasOutcome(state)) return toOutcome(key, state);
  if (state.phase === "quoted") return start.whenQuoted(entry, state);
  const leased = await acquireEntry(context, key, entry);
  return leased === undefined ? undefined : continueFlow(context, leased, call);
}

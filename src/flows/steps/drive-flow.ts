import { withoutConsequence } from "../../errors/call-texts.js";
import { describeThrown } from "../../errors/describe-thrown.js";
import { AbortedError, CrossBorderError, type SentRequest } from "../../errors/errors.js";
import { clock } from "../../timing/clock.js";
import type { Timestamp } from "../../timing/timestamp.js";
import type { Part } from "../../tracing/tracing.js";
import type { FlowCall } from "../flow-call.js";
import type { FlowContext, OwnedFlow, StepResult } from "../flow-context.js";
import { type FlowOutcome, toOutcome } from "../flow-outcome.js";
import { FlowPausedError } from "../flow-paused-error.js";
import type { JournalEntry } from "../journal.js";
import { Lease, type LeasedEntry, LeaseLost } from "../ownership/lease.js";
import { type OwnedEntry, retryJournal } from "../ownership/own-flow.js";
import { withStep } from "../state/flow-history.js";
import { assertOwnKey, readState, scopeOf } from "../state/flow-scope.js";
import { type FlowFailures, type FlowState, hasOutcome, isSettled, type OutcomeState } from "../state/flow-state.js";
import { askedWaitOf, isWaiting } from "./asked-wait.js";
import { emitStep } from "./emit-step.js";
import { takeStep } from "./flow-steps.js";

export interface LeasedFlow {
  readonly entry: LeasedEntry;
  readonly state: FlowState;
  readonly askedAt: Timestamp;
  readonly mustLook: boolean;
}

/**
 * Continues a flow of an earlier process. The lease of one that can't be continued here is released at once.
 *
 * @throws {FlowPausedError} or another error that says why, as `finishFlow` and `readState` do.
 */
export async function continueFlow(
  context: FlowContext,
  { entry, askedAt }: OwnedEntry,
  call: FlowCall,
): Promise<FlowOutcome | undefined> {
  let state: FlowState;
  try {
    state = await readState(context, entry);
    if (!hasOutcome(state)) await assertOwnKey(context, entry.key, state);
  } catch (error) {
    await releaseQuietly(context, entry);
    throw error;
  }
  return finishFlow(context, { entry, state, askedAt, mustLook: true }, call);
}

/** Never rejects, whatever a journal of the user's own throws: its lease expires by itself. */
export async function releaseQuietly({ journal }: FlowContext, entry: JournalEntry): Promise<void> {
  try {
    await journal.release(entry.key, entry);
  } catch {
    // Then others have to wait for that.
  }
}

/**
 * Takes a flow to its outcome, and ends the lease; `undefined` when another owner got the flow meanwhile.
 *
 * @throws {FlowPausedError} when it stopped before that.
 */
export async function finishFlow(
  context: FlowContext,
  { entry, state, askedAt, mustLook }: LeasedFlow,
  call: FlowCall,
): Promise<FlowOutcome | undefined> {
  const lease = new Lease(context.journal, entry, context.leaseMs, askedAt);
  try {
    return toOutcome(entry.key, await driveFlow(context, { lease, call, mustLook }, state));
  } catch (error) {
    if (!(error instanceof LeaseLost)) throw error;
    call.hasLostLease = true;
    return undefined;
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
export async function driveFlow(context: FlowContext, owned: OwnedFlow, from: FlowState): Promise<OutcomeState> {
  const { key } = owned.lease;
  let state = from;
  try {
    while (!hasOutcome(state)) {
      if (isSettled(state)) throw new TypeError("a quote is confirmed before it is driven");
      const startMs = clock.monotonicMs();
      const { state: next, error, isPartial = false } = await stepOf(context, owned, state);
      const came =
        error === undefined ? afterProgress(owned, next, isPartial) : withFailure(owned, next, state.failures, error);
      const reached = isPartial || came === state ? came : withStep(context, { from: state, startMs }, came);
      // What only counts failures is worth one write where the flow is still this owner's, and no waiting.
      if (next !== state) await storeState(context, owned.lease, reached);
      else if (reached !== state) await tryToStore(context, owned.lease, reached);
      if (!isPartial) emitStep(context, key, state, reached, startMs, error);
      state = reached;
      if (error !== undefined) throw error;
    }
    return state;
  } catch (error) {
    if (error instanceof LeaseLost) throw error;
    throw new FlowPausedError(key, { phase: state.phase, cause: error, request: requestOf(state) });
  }
}

/** A step that throws leaves the flow as it was. */
async function stepOf(
  context: FlowContext,
  owned: OwnedFlow,
  state: Parameters<typeof takeStep>[2],
): Promise<StepResult> {
  const part = (): Part => ({ name: `flow step ${state.phase}`, kind: "internal", attributes: {} });
  try {
    return await context.reporter.follow(part, () => takeStep(context, owned, state));
  } catch (error) {
    return { state, error: error ?? new TypeError("something threw nothing") };
  }
}

/**
 * A write that failed, stored or not, is tried again: under the same epoch it stores the same.
 *
 * @throws {LeaseLost} when another owner has the flow.
 */
export async function storeState(context: FlowContext, lease: Lease, state: FlowState): Promise<void> {
  const stored = await context.codec.encode(lease.key, scopeOf(context, state.request), state);
  await retryJournal(() => (state.phase === "claimed" ? lease.writeClaim(stored) : lease.write(stored)));
}

async function tryToStore(context: FlowContext, lease: Lease, state: FlowState): Promise<void> {
  if (!lease.isAlive) return;
  try {
    await lease.write(await context.codec.encode(lease.key, scopeOf(context, state.request), state));
  } catch {
    // What stopped the flow is thrown in any case.
  }
}

function withFailure(owned: OwnedFlow, state: FlowState, earlier: FlowFailures | undefined, error: unknown): FlowState {
  if (hasOutcome(state) || error instanceof AbortedError || isWaiting(error)) return state;
  const atMs = clock.wallMs();
  const { count, sinceMs } = earlier ?? { count: 0, sinceMs: atMs };
  const failures = { count: count + 1, sinceMs, atMs, ...describeFailure(error) };
  return { ...state, failures, ...askedWaitOf(owned, error) };
}

function describeFailure(error: unknown): Pick<FlowFailures, "code" | "errorCode" | "message"> {
  if (error instanceof CrossBorderError) {
    // What an error says of its own call isn't true of the flow.
    return { code: error.code, message: withoutConsequence(error.message).slice(0, longestMessage) };
  }
  const { name, code } = describeThrown(error);
  return { code: name, ...(typeof code === "string" ? { errorCode: code } : undefined), message: foreignText };
}

/** The text of a foreign error may hold anything, so the journal doesn't store it. */
const foreignText =
  "a function of yours threw it. Its text isn't stored: it is the cause of the FlowPausedError that the caller or on.error got";

const longestMessage = 1000;

/** A part of a wait is none, and a claim that is refused again and again gets no further, although it is made and sent each time. */
function afterProgress({ lease }: OwnedFlow, state: FlowState, isPartial: boolean): FlowState {
  if (isPartial) return state;
  const isNew = state.phase === "unknown" ? state.refusal === undefined : state.phase !== "claimed";
  if (!isNew) return state;
  const { epoch } = lease.id;
  if (epoch === 1 && state.failures === undefined && state.progressEpoch === undefined) return state;
  const { failures: _, progressEpoch: __, ...rest } = state;
  return (epoch === 1 ? rest : { ...rest, progressEpoch: epoch }) as FlowState;
}

/** The newest signed payment of a flow that may have been sent. */
function requestOf(state: FlowState): SentRequest | undefined {
  const claim = "claims" in state ? state.claims?.at(-1) : undefined;
  if (claim === undefined) return undefined;
  const { path, body, signature } = claim;
  return { path, body, signature };
}

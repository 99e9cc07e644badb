import { counted } from "../errors/counted.js";
import { CrossBorderError } from "../errors/errors.js";
import type { FlowPhase } from "../events/flow-event.js";
import type { PaymentIntent } from "../resources/payment-intents.js";
import type { Payment } from "../resources/payments.js";
import { clock } from "../timing/clock.js";
import type { FlowContext } from "./flow-context.js";
import { type FlowOutcome, type HeldFlow, looksOf, toHeld, toOutcome } from "./flow-outcome.js";
import { countElsewhere, type FlowsElsewhere, findElsewhere } from "./flows-elsewhere.js";
import type { JournalEntry } from "./journal.js";
import { undecidedLookalike } from "./looking/describe-looks.js";
import { adviceOnKeys, assertOwnEntry, type KeyHolder, otherKeyId, readState } from "./state/flow-scope.js";
import {
  allPhases,
  type Claim,
  type FlowFailures,
  type FlowHistory,
  type FlowState,
  fruitlessOwners,
  hasOutcome,
  isSettled,
  isStuck,
  type Look,
  type OperatorDecision,
  type StateOf,
  type UnsettledPhase,
} from "./state/flow-state.js";

/** How far a flow has got. All times are milliseconds since 1970, by the journal's clock. */
export interface FlowStatus {
  readonly key: string;
  readonly phase: FlowPhase;
  readonly createdAtMs: number;
  /** When the phase was stored. */
  readonly sinceMs: number;
  /** The process that has the lease of the flow, or has died with it; absent while nobody has it. */
  readonly owner?: string;
  /** When the lease ends unless its owner renews it. */
  readonly leaseUntilMs?: number;
  /** Absent where the service refused it, and after pruning. */
  readonly intent?: PaymentIntent;
  /** Until when the price of a quote can be confirmed. */
  readonly expiresAtMs?: number;
  /** Whether the time of a quote is over. */
  readonly isExpired?: boolean;
  /** How often it failed in a row. Absent while the flow gets further. */
  readonly failures?: FlowFailures;
  /** The looks for its payment, and what each of them rests on. Absent where there was none, and after pruning. */
  readonly looks?: readonly Look[];
  /** The newest 50 of the steps that it has taken. Absent after pruning, and where release 0.2.0 alone took them. */
  readonly history?: FlowHistory;
  /** Absent while there is none, and after pruning. */
  readonly outcome?: FlowOutcome;
  /** When what was personal about the flow was deleted. */
  readonly prunedAtMs?: number;
}

/** A flow that keeps failing at the same step: a bank, a signer, a key or a journal's content that somebody has to look at. */
export interface StuckFlow {
  readonly status: "stuck";
  readonly key: string;
  readonly phase: FlowPhase;
  readonly failures: FlowFailures;
  readonly intent?: PaymentIntent;
  /** Absent while it is not known whether money was taken. */
  readonly senderGatewayTransactionId?: string;
  /** Every request that may have been sent, the newest last. */
  readonly claims: readonly Claim[];
  readonly looks: readonly Look[];
  /** A payment with this flow's transaction id or body, but with another signature or other content: whose is it? */
  readonly lookalike?: Payment;
  readonly decisions: readonly OperatorDecision[];
}

/** Since when a flow waits. All times are milliseconds since 1970, by the journal's clock. */
export interface WaitingSince {
  readonly createdAtMs: number;
  /** When its newest state was stored. */
  readonly sinceMs: number;
}

/** What an operator decides about a flow by, besides its phase and what failed. */
export type FlowGrounds = Pick<
  StuckFlow,
  "senderGatewayTransactionId" | "claims" | "looks" | "lookalike" | "decisions"
>;

export type StoredFlows = Pick<FlowContext, "journal" | "codec" | "scope"> & KeyHolder;

/** How many flows are in each phase, and how many are open or held under another base URL. */
export type FlowCounts = Readonly<Record<FlowPhase | "elsewhere", number>>;

/** See `PaymentFlow.status`. @throws {InvalidArgumentError} `flow_foreign` */
export async function toStatus(context: StoredFlows, entry: JournalEntry): Promise<FlowStatus> {
  const { key, phase, createdAtMs, updatedAtMs: sinceMs, prunedAtMs } = entry;
  const times = { createdAtMs, sinceMs };
  if (prunedAtMs !== undefined) {
    assertOwnEntry(context, entry);
    return { key, phase: phase as FlowPhase, ...times, prunedAtMs };
  }
  const state = await readState(context, entry);
  const failures = await failuresOf(context, entry, state);
  return {
    key,
    phase: state.phase,
    ...times,
    ...ownerOf(entry),
    ...intentOf(state),
    ...(entry.expiresAtMs === undefined ? undefined : { expiresAtMs: entry.expiresAtMs, isExpired: entry.isExpired }),
    ...(failures === undefined ? undefined : { failures }),
    ...looksOf(state),
    ...(state.history === undefined ? undefined : { history: state.history }),
    ...(hasOutcome(state) ? { outcome: toOutcome(key, state) } : undefined),
  };
}

function intentOf(state: FlowState): Pick<FlowStatus, "intent"> {
  const { intent } = state as Partial<StateOf<"claimed">>;
  return intent === undefined ? {} : { intent };
}

function ownerOf({ owner, leaseUntilMs }: JournalEntry): Pick<FlowStatus, "owner" | "leaseUntilMs"> {
  return leaseUntilMs === undefined ? {} : { owner, leaseUntilMs };
}

/**
 * Flows by key, of one phase or of all.
 *
 * @throws {AggregateError} when flows could not be read, after all others.
 */
export function listFlows(
  context: StoredFlows,
  query: { readonly phase?: FlowPhase | undefined; readonly after?: string | undefined },
): AsyncGenerator<FlowStatus, void, undefined> {
  return readAll(context, [query.phase], query.after, (entry) => toStatus(context, entry));
}

/**
 * What waits for an operator: first what nobody recovers under this base URL, then what is held, then what is stuck.
 *
 * @throws {AggregateError} when flows could not be read, after all others.
 */
export async function* heldFlows(
  context: StoredFlows,
): AsyncGenerator<((HeldFlow | StuckFlow) & WaitingSince) | FlowsElsewhere, void, undefined> {
  yield* await findElsewhere(context);
  yield* readAll(context, ["held", ...unsettledPhases, ...outdatedPhases], undefined, async (entry) => {
    const state = await readState(context, entry);
    const waiting =
      state.phase === "held"
        ? toHeld(entry.key, state)
        : toStuck(entry.key, state, await failuresOf(context, entry, state));
    return waiting && { ...waiting, createdAtMs: entry.createdAtMs, sinceMs: entry.updatedAtMs };
  });
}

export const unsettledPhases = ["funds-requested", "claimed", "unknown", "refused"] satisfies UnsettledPhase[];

/** Phases of release 0.1.0 alone. Nobody continues such a flow here, so that it must not be overlooked. */
const outdatedPhases = ["created", "intent", "funds-taken"];

/** What keeps a flow from going on. One that was begun with another key is continued by nobody here, and so fails before it begins. */
async function failuresOf(
  context: KeyHolder,
  { epoch, leaseUntilMs = 0, leaseMs = 0, isOverlong, updatedAtMs }: JournalEntry,
  state: FlowState,
): Promise<FlowFailures | undefined> {
  if (isSettled(state)) return undefined;
  if (isOverlong) return overlongLease(leaseMs, updatedAtMs);
  const owners = fruitlessOwners(state, epoch);
  if (owners !== undefined && !isStuck(state)) return noProgress(owners, state.failures, updatedAtMs);
  // Another process may be the gateway whose key it is.
  const isRunning = leaseUntilMs > clock.wallMs();
  const ownKeyId = isRunning ? undefined : await otherKeyId(context, state);
  if (ownKeyId === undefined) return state.failures;
  const { count = 0, sinceMs = updatedAtMs, atMs = updatedAtMs } = state.failures ?? {};
  const message = `it was begun with another signing key. ${adviceOnKeys(state.keyId, ownKeyId)}`;
  return { count, sinceMs, atMs, code: "flow_foreign", message };
}

/** A process that lives for as long as the lease takes such a flow over; others leave it for ever. */
function overlongLease(leaseMs: number, updatedAtMs: number): FlowFailures {
  const seconds = Math.ceil(leaseMs / 1000);
  const message = `its lease ends later than ${counted(seconds, "second")} from now, which is its whole length: the journal's clock was set back. If its owner is gone, a process that lives for longer than that takes it over, or resolve does`;
  return { count: 0, sinceMs: updatedAtMs, atMs: updatedAtMs, code: overlongCode, message };
}

/** Such as where each process ends before it has read the list of payments once. */
function noProgress(owners: number, failures: FlowFailures | undefined, updatedAtMs: number): FlowFailures {
  const { sinceMs = updatedAtMs, atMs = updatedAtMs } = failures ?? {};
  const why = failures === undefined ? "" : ` (the last failure was ${failures.code})`;
  const message = `${counted(owners, "owner")} in a row had it, and none got it further${why}: do they live for long enough to read the list of payments? takenAtMs of takeFunds shortens that`;
  return { count: owners, sinceMs, atMs, code: noProgressCode, message };
}

const noProgressCode = "flow_no_progress";
const overlongCode = "flow_lease_overlong";

function toStuck(key: string, state: FlowState, failures: FlowFailures | undefined): StuckFlow | undefined {
  const { phase } = state;
  if (failures === undefined || !isWaitingFor(state, failures)) return undefined;
  return { status: "stuck", key, phase, failures, ...intentOf(state), ...groundsOf(state) };
}

/** Whether it waits for an operator. @param failures as its status has them. */
export function isWaitingFor(state: FlowState, failures: FlowFailures | undefined): boolean {
  return state.phase === "held" || isStuck(state) || (failures !== undefined && outsideCodes.has(failures.code));
}

/** Codes of what keeps a flow from going on before any step of it fails. */
const outsideCodes: ReadonlySet<string> = new Set(["flow_foreign", overlongCode, noProgressCode]);

/** The grounds of a flow in any phase, as far as it has them. */
export function groundsOf(state: FlowState): FlowGrounds {
  const { senderGatewayTransactionId, claims = [], looks = [], decisions = [] } = state as Partial<StateOf<"claimed">>;
  const lookalike = undecidedLookalike(looks, claims);
  return {
    ...(senderGatewayTransactionId === undefined ? undefined : { senderGatewayTransactionId }),
    claims,
    looks,
    ...(lookalike === undefined ? undefined : { lookalike }),
    decisions,
  };
}

/** See `PaymentFlow.counts`. @throws {CrossBorderError} `journal_outdated` */
export async function countFlows(context: StoredFlows): Promise<FlowCounts> {
  const [phases, elsewhere] = await Promise.all([countPhases(context), findElsewhere(context)]);
  return { ...phases, elsewhere: countElsewhere(elsewhere) };
}

/** How many flows are in each phase. @throws {CrossBorderError} `journal_outdated` */
export async function countPhases({ journal, scope }: StoredFlows): Promise<Readonly<Record<FlowPhase, number>>> {
  const stored = await journal.counts(scope);
  if (outdatedPhases.some((phase) => (stored[phase] ?? 0) > 0)) {
    throw new CrossBorderError(
      "the journal has flows of release 0.1.0, which this release does not read: list and held name them, and release 0.2.0 finishes them",
      { code: "journal_outdated", effect: "possible" },
    );
  }
  const counts = allPhases.map((phase) => [phase, stored[phase] ?? 0]);
  return Object.fromEntries(counts) as Record<FlowPhase, number>;
}

/** Whether a flow that is not settled is stuck. @throws {CrossBorderError} when it can't be read. */
export async function isStuckEntry(context: StoredFlows, entry: JournalEntry): Promise<boolean> {
  const state = await readState(context, entry);
  return isWaitingFor(state, await failuresOf(context, entry, state));
}

/** Every flow that is not settled, by key within each phase. */
export async function* unsettledEntries(context: StoredFlows): AsyncGenerator<JournalEntry, void, undefined> {
  for (const phase of unsettledPhases) yield* entriesOf(context, phase, undefined);
}

/** The flows of several phases, by key within each. One unreadable flow hides no other: what was wrong comes at the end. */
async function* readAll<T>(
  context: StoredFlows,
  phases: readonly (string | undefined)[],
  from: string | undefined,
  read: (entry: JournalEntry) => Promise<T | undefined>,
): AsyncGenerator<T, void, undefined> {
  const failures: CrossBorderError[] = [];
  for (const phase of phases) {
    for await (const entry of entriesOf(context, phase, from)) {
      const value = await readOne(entry, read, failures);
      if (value !== undefined) yield value;
    }
  }
  if (failures.length > 0) throw new AggregateError(failures, failures.map(({ message }) => message).join("\n"));
}

async function* entriesOf(
  { journal, scope }: StoredFlows,
  phase: string | undefined,
  from: string | undefined,
): AsyncGenerator<JournalEntry, void, undefined> {
  for (let after = from; ; ) {
    const entries = await journal.list({ scope, phase, after, limit: 100 });
    yield* entries;
    after = entries.at(-1)?.key;
    if (after === undefined) return;
  }
}

async function readOne<T>(
  entry: JournalEntry,
  read: (entry: JournalEntry) => Promise<T | undefined>,
  failures: CrossBorderError[],
): Promise<T | undefined> {
  try {
    return await read(entry);
  } catch (error) {
    if (!(error instanceof CrossBorderError)) throw error;
    failures.push(error);
    return undefined;
  }
}

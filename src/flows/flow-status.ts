import { CrossBorderError } from "../errors/errors.js";
import type { PaymentIntent } from "../resources/payment-intents.js";
import type { Payment } from "../resources/payments.js";
import { clock } from "../timing/clock.js";
import { compareKeys } from "./compare-keys.js";
import { undecidedLookalike } from "./describe-looks.js";
import type { FlowContext } from "./flow-context.js";
import { type FlowOutcome, type HeldFlow, toHeld, toOutcome } from "./flow-outcome.js";
import { adviceOnKeys, assertOwnEntry, type KeyHolder, otherKeyId, readState } from "./flow-scope.js";
import {
  type Claim,
  type FlowFailures,
  type FlowPhase,
  type FlowState,
  hasOutcome,
  isSettled,
  isStuck,
  type Look,
  type OperatorDecision,
  type StateOf,
  type UnsettledPhase,
} from "./flow-state.js";
import type { JournalEntry } from "./journal.js";

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
  /** Of a quote: until when its price can be confirmed. */
  readonly expiresAtMs?: number;
  /** Of a quote: whether that time is over. */
  readonly isExpired?: boolean;
  /** Absent while the flow gets further. */
  readonly failures?: FlowFailures;
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

/** What an operator decides about a flow by, besides its phase and what failed. */
export type FlowGrounds = Pick<
  StuckFlow,
  "senderGatewayTransactionId" | "claims" | "looks" | "lookalike" | "decisions"
>;

/** What reading flows needs of a `PaymentFlow`. */
export type StoredFlows = Pick<FlowContext, "journal" | "codec"> & KeyHolder;

/** How many flows are in each phase. */
export type FlowCounts = Readonly<Record<FlowPhase, number>>;

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
  const phases = query.phase === undefined ? [undefined] : storedPhases[query.phase];
  return readAll(context, [phases], query.after, (entry) => toStatus(context, entry));
}

/**
 * What waits for an operator: first what is held, then what is stuck.
 *
 * @throws {AggregateError} when flows could not be read, after all others.
 */
export function heldFlows(context: StoredFlows): AsyncGenerator<HeldFlow | StuckFlow, void, undefined> {
  const groups = ["held", ...unsettledPhases].map((phase) => [phase]);
  return readAll(context, groups, undefined, async (entry) => {
    const state = await readState(context, entry);
    if (!isSettled(state)) return toStuck(entry.key, state, await failuresOf(context, entry, state));
    return state.phase === "held" ? toHeld(entry.key, state) : undefined;
  });
}

/** The names by which journals know a phase. Version 1 had more phases. */
const storedPhases: Readonly<Record<FlowPhase, readonly string[]>> = {
  created: ["created"],
  quoted: ["quoted"],
  "funds-requested": ["funds-requested", "intent", "funds-taken"],
  claimed: ["claimed"],
  unknown: ["unknown"],
  refused: ["refused"],
  held: ["held"],
  paid: ["paid"],
  declined: ["declined"],
  rejected: ["rejected"],
};

const unsettledPhases = (
  ["created", "funds-requested", "claimed", "unknown", "refused"] satisfies UnsettledPhase[]
).flatMap((phase) => storedPhases[phase]);

/** What keeps a flow from going on. One that was begun with another key is continued by nobody here, and so fails before it begins. */
async function failuresOf(
  context: KeyHolder,
  { leaseUntilMs = 0, updatedAtMs }: JournalEntry,
  state: FlowState,
): Promise<FlowFailures | undefined> {
  if (isSettled(state)) return undefined;
  // Whoever has it may be the gateway whose key it is.
  const isRunning = leaseUntilMs > clock.wallMs();
  const ownKeyId = isRunning ? undefined : await otherKeyId(context, state);
  if (ownKeyId === undefined) return state.failures;
  const { count = 0, sinceMs = updatedAtMs, atMs = updatedAtMs } = state.failures ?? {};
  const message = `it was begun with another signing key. ${adviceOnKeys(state.keyId, ownKeyId)}`;
  return { count, sinceMs, atMs, code: "flow_foreign", message };
}

function toStuck(key: string, state: FlowState, failures: FlowFailures | undefined): StuckFlow | undefined {
  const { phase } = state;
  if (failures === undefined || !(isStuck(state) || failures.code === "flow_foreign")) return undefined;
  return { status: "stuck", key, phase, failures, ...intentOf(state), ...groundsOf(state) };
}

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

/** See `PaymentFlow.counts`. */
export async function countFlows({ journal, scope }: StoredFlows): Promise<FlowCounts> {
  const stored = await journal.counts(scope);
  const counted = Object.entries(storedPhases).map(([phase, names]) => [
    phase,
    names.reduce((count, name) => count + (stored[name] ?? 0), 0),
  ]);
  return Object.fromEntries(counted) as FlowCounts;
}

/** The flows of several groups of phases, by key within each. One unreadable flow hides no other: what was wrong comes at the end. */
async function* readAll<T>(
  context: StoredFlows,
  groups: readonly (readonly (string | undefined)[])[],
  from: string | undefined,
  read: (entry: JournalEntry) => Promise<T | undefined>,
): AsyncGenerator<T, void, undefined> {
  const failures: CrossBorderError[] = [];
  for (const phases of groups) {
    for await (const entry of byKey(phases.map((phase) => entriesOf(context, phase, from)))) {
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

/** One list of several, each of which is in the order of keys: whoever goes on after a key misses none. */
async function* byKey(
  lists: readonly AsyncGenerator<JournalEntry, void, undefined>[],
): AsyncGenerator<JournalEntry, void, undefined> {
  const heads = await Promise.all(lists.map((list) => list.next()));
  const rests = lists.flatMap((list, index) => {
    const entry = heads[index]?.value;
    return entry ? [{ list, entry }] : [];
  });
  while (rests.length > 0) {
    const first = rests.reduce((one, other) => (compareKeys(one.entry.key, other.entry.key) <= 0 ? one : other));
    yield first.entry;
    const { value } = await first.list.next();
    if (value) first.entry = value;
    else rests.splice(rests.indexOf(first), 1);
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
    // Version 1 stored no scope: what is in a flow tells that it is another gateway's.
    if (error.code !== "flow_foreign") failures.push(error);
    return undefined;
  }
}

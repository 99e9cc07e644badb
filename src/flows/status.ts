import { CrossBorderError, InvalidArgumentError } from "../core/errors.js";
import type { FlowPhase } from "../events/events.js";
import type { PaymentIntent } from "../resources/payment-intents.js";
import { allPhases, type StoredFlow } from "./codec.js";
import type { FlowContext } from "./context.js";
import type { HistoryStep } from "./core/history.js";
import { openReason } from "./core/reasons.js";
import { isOutcome } from "./core/steps.js";
import type { FlowScope, JournalEntry, PhaseCount, ScopeFilter } from "./journal.js";
import { type Claim, type FlowOutcome, type HeldFlow, toOutcome } from "./outcome.js";

export type { HistoryStep } from "./core/history.js";

/** How far a flow has got. All times are milliseconds since 1970, by the journal's clock. */
export interface FlowListItem {
  readonly key: string;
  readonly phase: FlowPhase;
  readonly createdAtMs: number;
  /** When the newest state was stored. */
  readonly sinceMs: number;
  /** Of the newest state. A decision names it. */
  readonly revision: number;
  /** The process that has the lease of the flow, or has died with it; absent while nobody has it. */
  readonly owner?: string;
  /** When the lease ends unless its owner renews it. */
  readonly leaseUntilMs?: number;
  /** Absent if the service refused it, and after pruning. */
  readonly intent?: PaymentIntent;
  /** Until when a quote can be confirmed. */
  readonly expiresAtMs?: number;
  /** Whether the time of a quote is over. */
  readonly isExpired?: boolean;
  /** When the flow continues, if it waits for the service. */
  readonly retryAtMs?: number;
  /** What an open flow does or waits for, or why it is held, in sentences. */
  readonly reason?: string;
  /** Absent while there is none, and after pruning. */
  readonly outcome?: FlowOutcome;
  /** When everything but the phase was deleted. */
  readonly prunedAtMs?: number;
}

export type FlowStatus = FlowListItem;

/** A flow with everything that an operator decides by. */
export interface FlowDetails extends FlowListItem {
  /** Whether it is held, and so waits for an operator. */
  readonly isWaiting: boolean;
  /** The steps that it has taken, the oldest first. */
  readonly history: readonly HistoryStep[];
  /** The signed request, from the first claim on. */
  readonly claim?: Claim;
  readonly senderGatewayTransactionId?: string;
}

/** Since when a flow waits. All times are milliseconds since 1970, by the journal's clock. */
export interface WaitingSince {
  readonly createdAtMs: number;
  /** When it was held. */
  readonly sinceMs: number;
}

/** How many flows are in each phase; and `elsewhere`, how many of other services or gateways are open or held. */
export type FlowCounts = Readonly<Record<FlowPhase | "elsewhere", number>>;

export type StoredFlows = Pick<FlowContext, "journal" | "codec" | "scope">;

/** @throws {InvalidArgumentError} `flow_foreign` for a flow of another service or gateway. */
export function assertOwnEntry({ scope }: Pick<FlowContext, "scope">, entry: JournalEntry): void {
  if (isIn(scope, entry.scope)) return;
  const whose = entry.scope.service === scope.service ? "gateway" : "service";
  throw new InvalidArgumentError(
    `the flow of key ${JSON.stringify(entry.key)} belongs to another ${whose}, and only a PaymentFlow of that ${whose} can continue it. Check the options service and gatewayId`,
    { code: "flow_foreign", effect: "possible" },
  );
}

export function isIn({ service, gateway }: ScopeFilter, scope: FlowScope): boolean {
  return scope.service === service && (gateway ?? scope.gateway) === scope.gateway;
}

/** See `PaymentFlow.status`. */
export async function readStatus(context: StoredFlows, key: string): Promise<FlowStatus | undefined> {
  const entry = await context.journal.read(key);
  return entry && toItem(context, entry);
}

/** See `PaymentFlow.details`. */
export async function readDetails(context: StoredFlows, key: string): Promise<FlowDetails | undefined> {
  const entry = await context.journal.read(key);
  if (entry === undefined) return undefined;
  assertOwnEntry(context, entry);
  if (entry.prunedAtMs !== undefined) return { ...prunedItem(entry), isWaiting: false, history: [] };
  const stored = await context.codec.decode(entry);
  const { flow, history } = stored;
  const details = { ...itemOf(entry, stored), isWaiting: flow.phase === "held", history };
  if (!("signed" in flow && flow.signed)) return details;
  const { senderGatewayTransactionId, ...claim } = flow.signed;
  return { ...details, senderGatewayTransactionId, claim };
}

async function toItem(context: StoredFlows, entry: JournalEntry): Promise<FlowListItem> {
  assertOwnEntry(context, entry);
  return entry.prunedAtMs === undefined ? itemOf(entry, await context.codec.decode(entry)) : prunedItem(entry);
}

function prunedItem({ key, phase, createdAtMs, updatedAtMs, revision, prunedAtMs }: JournalEntry): FlowListItem {
  // What is pruned was stored in one of the final phases.
  const known = allPhases.find((one) => one === phase) ?? "paid";
  const times = { createdAtMs, sinceMs: updatedAtMs, revision };
  return { key, phase: known, ...times, ...(prunedAtMs !== undefined && { prunedAtMs }) };
}

function itemOf(entry: JournalEntry, { flow }: StoredFlow): FlowListItem {
  const { key, createdAtMs, updatedAtMs: sinceMs, revision, owner, leaseUntilMs, expiresAtMs } = entry;
  const reason = openReason(flow);
  const retryAtMs = flow.phase === "funds-requested" ? flow.notBeforeMs : undefined;
  return {
    key,
    phase: flow.phase,
    createdAtMs,
    sinceMs,
    revision,
    ...(leaseUntilMs !== undefined && { owner, leaseUntilMs }),
    ...(flow.intent && { intent: flow.intent }),
    ...(expiresAtMs !== undefined && { expiresAtMs, isExpired: isExpired(entry) }),
    ...(retryAtMs !== undefined && { retryAtMs }),
    ...(reason !== undefined && { reason }),
    ...(isOutcome(flow) && { outcome: toOutcome(key, flow, revision) }),
  };
}

/** Whether a quote's time is over, by the journal's clock. */
export function isExpired({ expiresAtMs, readAtMs }: JournalEntry): boolean {
  return expiresAtMs !== undefined && expiresAtMs <= readAtMs;
}

/** See `PaymentFlow.list`. One unreadable flow hides no other: what was wrong comes at the end. */
export async function* listFlows(
  context: StoredFlows,
  { phase, after }: { readonly phase?: FlowPhase | undefined; readonly after?: string | undefined },
): AsyncGenerator<FlowListItem, void, undefined> {
  const failures: CrossBorderError[] = [];
  for await (const entry of entriesOf(context, phase, after)) {
    try {
      yield await toItem(context, entry);
    } catch (error) {
      if (!(error instanceof CrossBorderError)) throw error;
      failures.push(error);
    }
  }
  if (failures.length > 0) throw new AggregateError(failures, failures.map(({ message }) => message).join("\n"));
}

/** See `PaymentFlow.held`. */
export async function* heldFlows(context: StoredFlows): AsyncGenerator<HeldFlow & WaitingSince, void, undefined> {
  for await (const { outcome, createdAtMs, sinceMs } of listFlows(context, { phase: "held" })) {
    if (outcome?.status === "held") yield { ...outcome, createdAtMs, sinceMs };
  }
}

/** See `PaymentFlow.counts`. */
export async function countFlows({ journal, scope }: StoredFlows): Promise<FlowCounts> {
  const { counts } = await journal.list({ scope, limit: 0, counts: true });
  return toCounts(counts, scope);
}

export function toCounts(counts: readonly PhaseCount[], scope: ScopeFilter): FlowCounts {
  const total = (isWanted: (count: PhaseCount) => boolean) =>
    counts.reduce((sum, count) => sum + (isWanted(count) ? count.flows : 0), 0);
  const phases = allPhases.map((phase) => [phase, total((count) => isIn(scope, count) && count.phase === phase)]);
  return {
    ...(Object.fromEntries(phases) as Record<FlowPhase, number>),
    elsewhere: total((count) => !isIn(scope, count) && (!count.settled || count.phase === "held")),
  };
}

/** The flows of one phase or of all, by key, without tombstones. */
export async function* entriesOf(
  { journal, scope }: Pick<FlowContext, "journal" | "scope">,
  phase: string | undefined,
  from?: string,
): AsyncGenerator<JournalEntry, void, undefined> {
  for (let after = from; ; ) {
    const { entries } = await journal.list({ scope, phase, after, limit: 100 });
    yield* entries;
    after = entries.at(-1)?.key;
    if (after === undefined) return;
  }
}

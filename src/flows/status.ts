import type { TokenHold } from "../api/api-client.js";
import { Deadline, Ended } from "../core/deadline.js";
import { CrossBorderError, InvalidArgumentError, JournalError } from "../core/errors.js";
import type { FlowPhase } from "../events/events.js";
import type { PaymentIntent } from "../resources/payment-intents.js";
import { allPhases, type StoredFlow } from "./codec.js";
import type { FlowContext } from "./context.js";
import { openReason } from "./core/reasons.js";
import { type HistoryStep, isOutcome, known } from "./core/steps.js";
import { isIn, type JournalEntry } from "./journal.js";
import type { FlowQuery } from "./options.js";
import { type Claim, type FlowOutcome, type HeldFlow, toOutcome } from "./outcome.js";

export type { HistoryStep } from "./core/steps.js";

/** How far a flow has got. All times are milliseconds since 1970, by the journal's clock. */
export interface FlowListItem {
  readonly key: string;
  readonly phase: FlowPhase;
  readonly createdAtMs: number;
  /** When the newest state was stored. */
  readonly sinceMs: number;
  /** Of the newest state. A decision names it. */
  readonly revision: number;
  /** The process that has the lease of the flow, or died with it. Absent if the flow has no lease. */
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

/** How many flows are in each phase. `elsewhere` is how many of other services or gateways are open or held. */
export type FlowCounts = Readonly<Record<FlowPhase | "elsewhere", number>>;

type StoredFlows = Pick<FlowContext, "journal" | "codec" | "scope">;

/** @throws {InvalidArgumentError} `flow_foreign` for a flow of another service or gateway. */
export function assertOwnEntry({ scope }: StoredFlows, entry: JournalEntry): void {
  if (isIn(scope, entry.scope)) return;
  const whose = entry.scope.service === scope.service ? "gateway" : "service";
  throw new InvalidArgumentError(
    `the flow of key ${JSON.stringify(entry.key)} belongs to another ${whose}, and only a PaymentFlow of that ${whose} can continue it. Check the options service and gatewayId`,
    { code: "flow_foreign", effect: "possible" },
  );
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
  // A pruned flow was stored in one of the final phases.
  const final = allPhases.find((one) => one === phase) ?? "paid";
  return { key, phase: final, createdAtMs, sinceMs: updatedAtMs, revision, ...known({ prunedAtMs }) };
}

function itemOf(entry: JournalEntry, { flow }: StoredFlow): FlowListItem {
  const { key, createdAtMs, updatedAtMs: sinceMs, revision, owner, leaseUntilMs, expiresAtMs } = entry;
  const { phase, intent } = flow;
  const retryAtMs = phase === "funds-requested" ? flow.notBeforeMs : undefined;
  const outcome = isOutcome(flow) ? toOutcome(key, flow, revision) : undefined;
  return {
    ...{ key, phase, createdAtMs, sinceMs, revision },
    ...(leaseUntilMs !== undefined && { owner, leaseUntilMs }),
    ...(expiresAtMs !== undefined && { expiresAtMs, isExpired: isExpired(entry) }),
    ...known({ intent, retryAtMs, reason: openReason(flow), outcome }),
  };
}

/** Whether a quote's time is over, by the journal's clock. */
export function isExpired({ expiresAtMs, readAtMs }: JournalEntry): boolean {
  return expiresAtMs !== undefined && expiresAtMs <= readAtMs;
}

/** See `PaymentFlow.list`. An unreadable flow hides no other. Its error is thrown at the end. */
export async function* listFlows(
  context: StoredFlows,
  { phase, after }: FlowQuery,
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
  assertNone(failures);
}

/** @throws {AggregateError} if there are failures. */
export function assertNone(failures: readonly unknown[]): void {
  if (failures.length > 0) throw new AggregateError(failures, failures.map(String).join("\n"));
}

/** See `PaymentFlow.held`. */
export async function* heldFlows(context: StoredFlows): AsyncGenerator<HeldFlow & WaitingSince, void, undefined> {
  for await (const { outcome, createdAtMs, sinceMs } of listFlows(context, { phase: "held" })) {
    if (outcome?.status === "held") yield { ...outcome, createdAtMs, sinceMs };
  }
}

/** See `PaymentFlow.counts`. */
export async function countFlows(context: StoredFlows): Promise<FlowCounts> {
  const { phases, elsewhere } = await readStored(context);
  return { ...phases, elsewhere };
}

/** The flows of one phase or of all, by key, without tombstones. */
export async function* entriesOf(
  { journal, scope }: StoredFlows,
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

/** Phases in which a flow waits for its next step or for an operator. */
export type WaitingPhase = "funds-requested" | "claimed" | "unknown" | "refused" | "held";

/** What the journal says of the flows of all processes. */
export interface StoredGauges {
  /** How many flows are in each phase. */
  readonly phases: Readonly<Record<FlowPhase, number>>;
  /** The age of the oldest flow of a phase, its quote included, in milliseconds. 0 if there is none. */
  readonly oldestMs: Readonly<Record<WaitingPhase, number>>;
  /** How many open flows have no owner now. `work` of some process takes them over. */
  readonly unowned: number;
  /** How many flows of other services or gateways are open or held. */
  readonly elsewhere: number;
}

/** What `work` and `recover` of this process have now. */
export interface WorkGauges {
  /** How many flows they have taken over that are still working or waiting. */
  readonly flows: number;
  /** How many of them could continue, and wait for one of the places that `concurrency` gives. */
  readonly queued: number;
}

/** How things stand, for metrics. */
export interface FlowGauges {
  /** Absent if the journal could not be read within 5 seconds. */
  readonly stored?: StoredGauges;
  /** Why the journal could not be read. */
  readonly error?: Error;
  /** The flows that this process has taken over. */
  readonly work: WorkGauges;
  /** Whether this process takes no money for new payments, since one after the other ended unknown. */
  readonly isCircuitOpen: boolean;
  /** Set while the client requests no token because of the last token request's result. */
  readonly tokenHold?: TokenHold;
}

const timeoutMs = 5_000;

/** See `PaymentFlow.gauges`. Never rejects. */
export async function readGauges(context: FlowContext, work: WorkGauges): Promise<FlowGauges> {
  const deadline = new Deadline({ timeoutMs });
  const read: Pick<FlowGauges, "stored" | "error"> = await deadline.race(readStored(context)).then(
    (stored) => ({ stored }),
    (error: unknown) => ({ error: toError(error) }),
  );
  deadline.finish();
  const isCircuitOpen = context.circuitBreaker?.isOpen === true;
  return { ...read, work, isCircuitOpen, ...known({ tokenHold: context.client.tokenHold }) };
}

async function readStored({ journal, scope }: StoredFlows): Promise<StoredGauges> {
  const { counts } = await journal.list({ scope, limit: 0, counts: true });
  const phases = Object.fromEntries(allPhases.map((phase) => [phase, 0])) as Record<FlowPhase, number>;
  const oldest = { "funds-requested": 0, claimed: 0, unknown: 0, refused: 0, held: 0 };
  let [unowned, elsewhere] = [0, 0];
  for (const count of counts) {
    const phase = count.phase as FlowPhase;
    if (isIn(scope, count)) {
      if (phase in phases) phases[phase] += count.flows;
      unowned += count.unowned;
      if (phase in oldest) oldest[phase as WaitingPhase] = Math.max(oldest[phase as WaitingPhase], count.oldestMs);
    } else if (!count.settled || phase === "held") elsewhere += count.flows;
  }
  return { phases, oldestMs: oldest, unowned, elsewhere };
}

function toError(error: unknown): Error {
  if (error instanceof Ended) return new JournalError(`the journal did not respond within ${timeoutMs} ms`);
  return error instanceof Error ? error : new JournalError("the journal failed", { cause: error });
}

import type { TokenHold } from "../api/api-client.js";
import { clock } from "../core/clock.js";
import { Deadline, Ended } from "../core/deadline.js";
import { JournalError } from "../core/errors.js";
import type { FlowPhase } from "../events/events.js";
import type { FlowContext } from "./context.js";
import { type FlowCounts, isIn, type StoredFlows, toCounts } from "./status.js";

/** Phases in which a flow waits for something: for its next step, or for an operator. */
export type WaitingPhase = "funds-requested" | "claimed" | "unknown" | "refused" | "held";

/** What the journal says of the flows of all processes. */
export interface StoredGauges {
  /** How many flows are in each phase. */
  readonly phases: Readonly<Record<FlowPhase, number>>;
  /** How long ago the oldest flow of a phase was begun, its quote included, in milliseconds; 0 if there is none. */
  readonly oldestMs: Readonly<Record<WaitingPhase, number>>;
  /** How many open flows have no owner now. `work` of some process takes them over. */
  readonly unowned: number;
  /** How many flows of other services or gateways are open or held. */
  readonly elsewhere: number;
}

/** What `work` and `recover` of this process have now. */
export interface WorkGauges {
  /** How many flows they have taken over that have not ended: those at work, and those that wait. */
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
  /** Set while the client requests no token, because of what the last request for one came to. */
  readonly tokenHold?: TokenHold;
}

/** Collectors of metrics that ask one after the other share a reading for so long. */
const keptMs = 5_000;
const timeoutMs = 5_000;

/** Reads how things stand. What it asks the journal is shared by all who ask at about the same time. */
export class GaugeReader {
  readonly #context: FlowContext;
  readonly #load: () => WorkGauges;
  #reading: { readonly value: Promise<StoredGauges>; readonly atMs: number } | undefined;

  constructor(context: FlowContext, load: () => WorkGauges) {
    this.#context = context;
    this.#load = load;
  }

  /** Never rejects. */
  async read(): Promise<FlowGauges> {
    const stored = await this.#readInTime();
    const { circuitBreaker, client } = this.#context;
    const { tokenHold } = client;
    return {
      ...stored,
      work: this.#load(),
      isCircuitOpen: circuitBreaker?.isOpen === true,
      ...(tokenHold === undefined ? undefined : { tokenHold }),
    };
  }

  async #readInTime(): Promise<Pick<FlowGauges, "stored" | "error">> {
    const deadline = new Deadline({ timeoutMs });
    try {
      return { stored: await deadline.race(this.#shared()) };
    } catch (error) {
      this.#reading = undefined;
      return { error: toError(error) };
    } finally {
      deadline.finish();
    }
  }

  #shared(): Promise<StoredGauges> {
    const nowMs = clock.monotonicMs();
    if (this.#reading === undefined || nowMs - this.#reading.atMs >= keptMs) {
      this.#reading = { value: readStored(this.#context), atMs: nowMs };
    }
    return this.#reading.value;
  }
}

async function readStored({ journal, scope }: Pick<StoredFlows, "journal" | "scope">): Promise<StoredGauges> {
  const { counts } = await journal.list({ scope, limit: 0, counts: true });
  const own = counts.filter((count) => isIn(scope, count));
  const { elsewhere, ...phases }: FlowCounts = toCounts(counts, scope);
  const oldest = { "funds-requested": 0, claimed: 0, unknown: 0, refused: 0, held: 0 };
  for (const { phase, oldestMs } of own) {
    if (isWaiting(oldest, phase)) oldest[phase] = Math.max(oldest[phase], oldestMs);
  }
  return { phases, oldestMs: oldest, unowned: own.reduce((sum, { unowned }) => sum + unowned, 0), elsewhere };
}

function isWaiting(oldest: Record<WaitingPhase, number>, phase: string): phase is WaitingPhase {
  return Object.hasOwn(oldest, phase);
}

function toError(error: unknown): Error {
  if (error instanceof Ended) return new JournalError(`the journal did not respond within ${timeoutMs} ms`);
  return error instanceof Error ? error : new JournalError("the journal failed", { cause: error });
}

import type { TokenHold } from "../../auth/token-hold.js";
import { JournalError } from "../../errors/errors.js";
import type { FlowPhase } from "../../events/flow-event.js";
import { Deadline, Ended } from "../../timing/deadline.js";
import type { FlowContext } from "../flow-context.js";
import { countPhases, type StoredFlows, unsettledPhases } from "../flow-status.js";
import { countElsewhere, elsewhereOf } from "../flows-elsewhere.js";
import type { BacklogCount } from "../journal.js";
import { SharedReading } from "./shared-reading.js";
import { type StuckCount, StuckScan } from "./stuck-scan.js";
import type { WorkGauges } from "./work-gauges.js";

/** Phases in which a flow waits for something: for its next step, or for an operator. */
export type WaitingPhase = "funds-requested" | "claimed" | "unknown" | "refused" | "held";

/** What the journal says of the flows of all processes. */
export interface StoredGauges {
  /** How many flows are in each phase. Those of settled phases, which take longer to count, were counted within the last minute. */
  readonly phases: Readonly<Record<FlowPhase, number>>;
  /** How long ago the oldest flow of a phase was begun, its quote included, in milliseconds; 0 where there is none. */
  readonly oldestMs: Readonly<Record<WaitingPhase, number>>;
  /** How many open flows nobody has at present: `work` of some process is to take them over. */
  readonly unowned: number;
  /** How many flows keep failing at the same step. Up to 200 open flows are looked into by one reading; with more it takes several. */
  readonly stuck: number;
  /** How many open flows can't be read: of another key or cipher, say. As `stuck`, of several readings. */
  readonly unreadable: number;
  /** How many flows are open or held under another base URL. */
  readonly elsewhere: number;
}

/** How things stand, for metrics. */
export interface FlowGauges {
  /** Absent where the journal could not be read within 5 seconds. */
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

/** Reads how things stand. What it asks the journal is shared by all who ask at about the same time. */
export class GaugeReader {
  readonly #context: FlowContext;
  readonly #stored: SharedReading<StoredGauges>;

  constructor(context: FlowContext) {
    this.#context = context;
    const settled = new SharedReading(() => countPhases(context), settledKeptMs);
    const scan = new StuckScan(context);
    this.#stored = new SharedReading(() => readStored(context, settled, scan), keptMs);
  }

  /** Never rejects. */
  async read(): Promise<FlowGauges> {
    const { circuitBreaker, client, working } = this.#context;
    const stored = await this.#readInTime();
    const loads = [...working].map(({ load }) => load);
    const { tokenHold } = client;
    return {
      ...stored,
      work: {
        flows: loads.reduce((sum, { flows }) => sum + flows, 0),
        queued: loads.reduce((sum, { queued }) => sum + queued, 0),
      },
      isCircuitOpen: circuitBreaker?.isOpen === true,
      ...(tokenHold === undefined ? undefined : { tokenHold }),
    };
  }

  /** A reading that takes too long goes on: the next one who asks gets it, and no second one is begun meanwhile. */
  async #readInTime(): Promise<Pick<FlowGauges, "stored" | "error">> {
    const deadline = new Deadline({ timeoutMs });
    try {
      return { stored: await deadline.race(this.#stored.get()) };
    } catch (error) {
      return { error: toError(error) };
    } finally {
      deadline.finish();
    }
  }
}

/** Collectors of metrics that ask one after the other share a reading for so long. */
const keptMs = 5_000;

/** Counting what is settled takes the longer the more flows there are. */
const settledKeptMs = 60_000;

const timeoutMs = 5_000;

async function readStored(
  context: StoredFlows,
  settled: SharedReading<Readonly<Record<FlowPhase, number>>>,
  scan: StuckScan,
): Promise<StoredGauges> {
  const { journal, scope } = context;
  const [backlog, phases] = await Promise.all([journal.backlog(), settled.get()]);
  const own = backlog.filter(
    ({ service, gateway }) => service === scope.service && (scope.gateway ?? gateway) === gateway,
  );
  const flows = waitingPhases.map((phase) => [phase, flowsIn(own, phase)]);
  return {
    phases: { ...phases, ...(Object.fromEntries(flows) as Record<WaitingPhase, number>) },
    oldestMs: oldestOf(own),
    unowned: own.reduce((total, { unowned }) => total + unowned, 0),
    ...(await stuckOf(own, scan)),
    elsewhere: countElsewhere(elsewhereOf(backlog, scope)),
  };
}

const waitingPhases = [...unsettledPhases, "held"] as const satisfies readonly WaitingPhase[];

/** There is nothing to look into where nothing is open. */
async function stuckOf(own: readonly BacklogCount[], scan: StuckScan): Promise<StuckCount> {
  return own.some(({ phase }) => phase !== "held") ? scan.read() : { stuck: 0, unreadable: 0 };
}

function flowsIn(own: readonly BacklogCount[], wanted: WaitingPhase): number {
  return own.reduce((total, { phase, flows }) => total + (phase === wanted ? flows : 0), 0);
}

function oldestOf(own: readonly BacklogCount[]): Readonly<Record<WaitingPhase, number>> {
  const oldest = waitingPhases.map((wanted) => {
    const ages = own.flatMap(({ phase, oldestMs }) => (phase === wanted ? [oldestMs] : []));
    return [wanted, Math.max(0, ...ages)];
  });
  return Object.fromEntries(oldest) as Record<WaitingPhase, number>;
}

function toError(error: unknown): Error {
  if (error instanceof Ended) return new JournalError(`the journal did not respond within ${timeoutMs} ms`);
  return error instanceof Error ? error : new JournalError("the journal failed", { cause: error });
}

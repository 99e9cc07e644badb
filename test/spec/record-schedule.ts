import type { Journal, JournalEntry } from "../../src/flows/journal.js";
import { Choices, seedOf } from "../../src/simulation/choices.js";
import type { Emphasis } from "../../src/simulation/profile.js";
import { runSchedule } from "../../src/simulation/run-schedule.js";
import type { RecordedEvent, RecordedWorld, ScheduleRecorder } from "../../src/simulation/schedule-recorder.js";
import type { SimulatedProcess } from "../../src/simulation/simulated-process.js";
import { FlowTrace, type Trace } from "./trace.js";

export interface RecordedSchedule {
  readonly traces: readonly Trace[];
  /** What the simulation itself found. */
  readonly violation: string | undefined;
}

/** Runs one schedule of the simulator, and writes down the steps of each of its flows. */
export async function recordSchedule(
  seed: number,
  schedule: number,
  emphasis: Emphasis | undefined,
): Promise<RecordedSchedule> {
  const keys = ["flow 1", "flow 2"];
  const recorder = new Recorder(keys);
  const { violation, profile } = await runSchedule(Choices.fromSeed(seedOf(seed, schedule)), {
    funds: undefined,
    intent: {},
    keyOf: (flow) => keys[flow] ?? "",
    isTraced: false,
    processes: 3,
    flows: keys.length,
    hasFalseFacts: false,
    emphasis,
    recorder,
  });
  const facts = { singleUse: profile.tellsSingleUse, listedWithin: profile.tellsListedWithin };
  const traces = [...recorder.flows].map(([key, { steps }]) => ({
    name: `seed ${seed}, schedule ${schedule}, ${key}`,
    facts,
    steps,
  }));
  return { traces, violation: violation?.message };
}

class Recorder implements ScheduleRecorder {
  readonly flows = new Map<string, FlowTrace>();
  readonly #keys: readonly string[];
  readonly #processes = new Map<string, SimulatedProcess>();
  #world: RecordedWorld | undefined;
  #store: Journal | undefined;
  #isReplaying = false;

  constructor(keys: readonly string[]) {
    this.#keys = keys;
  }

  begin(world: RecordedWorld): void {
    this.#world = world;
    const { leaseMs, readBackDelayMs, tellsListedWithin, listedWithinMs } = world.profile;
    // Where the operators promise how soon a payment is listed, that is what a look rests on.
    const lagMs = tellsListedWithin ? (listedWithinMs ?? 0) : readBackDelayMs;
    for (const key of this.#keys) this.flows.set(key, new FlowTrace({ leaseMs, lagMs }));
  }

  watchStore(journal: Journal): Journal {
    this.#isReplaying = this.#store !== undefined;
    this.#store = journal;
    const on = (key: string, act: (flow: FlowTrace) => void) => {
      const flow = this.flows.get(key);
      if (flow !== undefined && !this.#isReplaying) act(flow);
    };
    return {
      ...boundTo(journal),
      begin: async (key, scope, state, lease) => {
        const result = await journal.begin(key, scope, state, lease);
        if (result.created) on(key, (flow) => flow.begun(this.#nowMs, result.entry, lease.owner));
        return result;
      },
      acquire: async (key, lease, observed) => {
        const before = await journal.read(key);
        const entry = await journal.acquire(key, lease, observed);
        if (entry !== undefined) on(key, (flow) => this.#acquired(flow, before, entry, observed !== undefined));
        return entry;
      },
      acquireAbandoned: async (scope, lease, after) => {
        const before = new Map<string, JournalEntry | undefined>();
        for (const key of this.#keys) before.set(key, await journal.read(key));
        const entry = await journal.acquireAbandoned(scope, lease, after);
        if (entry !== undefined) on(entry.key, (flow) => this.#acquired(flow, before.get(entry.key), entry, false));
        return entry;
      },
      renew: async (key, id, leaseMs) => {
        const isRenewed = await journal.renew(key, id, leaseMs);
        if (isRenewed) on(key, (flow) => flow.renewed(this.#nowMs, id));
        return isRenewed;
      },
      write: async (key, id, state, leaseMs) => {
        const isStored = await journal.write(key, id, state, leaseMs);
        on(key, (flow) => flow.stored(this.#nowMs, id, isStored));
        return isStored;
      },
      replaceQuote: async (key, seen, state, lease, expired) => {
        const entry = await journal.replaceQuote(key, seen, state, lease, expired);
        if (entry !== undefined) on(key, (flow) => flow.replaced(this.#nowMs, entry, lease.owner));
        return entry;
      },
      fenceQuote: async (key, seen, nonce) => {
        const entry = await journal.fenceQuote(key, seen, nonce);
        if (entry !== undefined) on(key, (flow) => flow.replaced(this.#nowMs, entry, ""));
        return entry;
      },
      release: async (key, id) => {
        await journal.release(key, id);
        on(key, (flow) => flow.released(this.#nowMs, id));
      },
      prune: async (options) => {
        const before = await this.#rows(journal);
        const report = await journal.prune(options);
        for (const [key, entry] of await this.#rows(journal)) {
          const isNew = entry?.prunedAtMs !== before.get(key)?.prunedAtMs || (entry === undefined && before.get(key));
          if (isNew) on(key, (flow) => flow.pruned(this.#nowMs, entry));
        }
        return report;
      },
    };
  }

  watchCalls(journal: Journal, process: SimulatedProcess): Journal {
    this.#processes.set(process.name, process);
    if (process.isForeign) return journal;
    return {
      ...boundTo(journal),
      write: async (key, id, state, leaseMs) => {
        const flow = this.flows.get(key);
        flow?.handed(this.#nowMs, id, state);
        const isStored = await journal.write(key, id, state, leaseMs);
        if (isStored) flow?.told(this.#nowMs, id);
        return isStored;
      },
    };
  }

  note(event: RecordedEvent): void {
    const atMs = this.#nowMs;
    switch (event.type) {
      case "listed":
        for (const flow of this.flows.values()) flow.looked(atMs, event.process);
        return;
      case "misplaced":
        for (const flow of this.flows.values()) flow.isOver = true;
        return;
      case "restored":
        this.#isReplaying = false;
        void this.#restored();
        return;
      case "sent":
        this.flows.get(event.key)?.sent(atMs, event.process);
        return;
      case "paid":
        this.flows.get(event.key)?.paid(atMs, event.sending, event.listedAtMs);
        return;
      case "asked": {
        const answer = event.response === null ? "null" : event.response.replayed ? "replayed" : "first";
        this.flows.get(event.key)?.asked(atMs, event.process, answer);
        return;
      }
      default:
        this.flows.get(event.key)?.gaveBack(atMs, event.process, event.type === "released" ? "give" : "order");
    }
  }

  #acquired(flow: FlowTrace, before: JournalEntry | undefined, entry: JournalEntry, isObserved: boolean): void {
    const { leaseUntilMs } = before ?? {};
    // The journal's clock is 12,345 ms ahead until somebody sets it: the entry's own lease shows its time.
    const journalMs = (entry.leaseUntilMs ?? 0) - (entry.leaseMs ?? 0);
    flow.acquired(
      this.#nowMs,
      entry,
      entry.owner,
      isObserved || leaseUntilMs === undefined || leaseUntilMs <= journalMs,
      this.#showsEnd(before),
    );
  }

  /** The monotonic clock of a machine that was suspended does not show the end of a lease, and another one may be set back. */
  #showsEnd(before: JournalEntry | undefined): boolean {
    const { clockJumps = 0, clockJumpsOnWaking = 0 } = this.#world?.profile ?? {};
    const { suspendedMs = 0 } = this.#processes.get(before?.owner ?? "") ?? {};
    return suspendedMs === 0 || clockJumps + clockJumpsOnWaking === 0;
  }

  /** What is read resolves before anything else happens in the world. */
  async #restored(): Promise<void> {
    if (this.#store === undefined) return;
    const atMs = this.#nowMs;
    for (const [key, entry] of await this.#rows(this.#store)) this.flows.get(key)?.restored(atMs, entry);
  }

  async #rows(journal: Journal): Promise<ReadonlyMap<string, JournalEntry | undefined>> {
    const rows = new Map<string, JournalEntry | undefined>();
    for (const key of this.#keys) rows.set(key, await journal.read(key));
    return rows;
  }

  get #nowMs(): number {
    return this.#world?.nowMs ?? 0;
  }
}

/** Its methods as functions: those that are not watched. */
function boundTo(journal: Journal): Journal {
  const bound = (name: keyof Journal) => Reflect.get(journal, name).bind(journal);
  const names = [
    ...(["begin", "read", "acquire", "acquireAbandoned", "overlong", "renew", "write", "replaceQuote"] as const),
    ...(["fenceQuote", "release", "list", "counts", "scopes", "backlog", "prune", "close"] as const),
  ];
  return Object.fromEntries(names.map((name) => [name, bound(name)])) as unknown as Journal;
}

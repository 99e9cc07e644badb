/**
 * Four processes run payments, many at a time, and are killed and stopped at random while the service, the bank and the disk fail now and
 * then. Some payments are quoted by one process and confirmed by another:
 *
 *     npx tsx test/crash/kills.ts --flows 10000 --kills 2000 --stops 500 --journal sqlite --seed 1
 *     npx tsx test/crash/kills.ts --flows 10000 --kills 2000 --stops 500 --journal postgres --backend-stops 200 --delays 200 --seed 1
 *
 * `--backend-stops` stops back ends of the database in the middle of what they do, for longer than the workers wait; `--delays` holds
 * statements back in the network, loses responses and breaks connections; `--server-kills` kills the server, which recovers; and
 * `--clock-jumps` sets the wall clocks, of the workers' machine and of the server's, by hours. `--record 1` keeps what was found for
 * `npm run proof`.
 */
import { setTimeout as pause } from "node:timers/promises";
import { type RecordedProof, record, whatIsProved } from "../../tools/release/recorded.js";
import { derivedSeed, seededRandom, weighted } from "../faults/seeded-random.js";
import { describeForeign, type MarkCounts, reportMarks, sumOfMarks } from "../simulation/mark-report.js";
import type { BankFault } from "./bank.js";
import { type BuiltWorker, buildWorker } from "./build-worker.js";
import { CrashFixture } from "./crash-fixture.js";
import { CrashMarks } from "./crash-marks.js";
import { type DatabaseInterruption, DatabaseTroubles, databaseInterruptions } from "./database-troubles.js";
import type { FlowRecord } from "./flow-records.js";
import type { JournalChoice } from "./journal-place.js";
import { describeLaws, isKept, sayAll, sumOf, type Verdict } from "./laws.js";
import { MachineClock } from "./machine-clock.js";
import { RunRecords } from "./run-records.js";
import { isScript, say, scriptOptions } from "./script-options.js";
import type { ServiceFault } from "./service.js";
import type { StoredState } from "./stored-states.js";
import type { Outcome, Report, Task } from "./worker-messages.js";
import type { WorkerProcess } from "./worker-process.js";

/** What happens at random moments: to processes, to the database and what is between them, and to clocks. */
type Interruption = "kills" | "stops" | "clockJumps" | DatabaseInterruption;

export interface KillsOptions extends JournalChoice, Readonly<Partial<Record<Interruption, number>>> {
  readonly flows: number;
  readonly workers: number;
  /** How many flows a worker runs at a time. */
  readonly concurrency: number;
  readonly leaseMs: number;
  readonly seed: number;
  /** Flows of one round, which has a journal, a service and a bank of its own: each look reads all payments of the service. */
  readonly flowsPerRound: number;
  /** How many rounds run at a time. */
  readonly parallel: number;
  /** How long a worker waits for a statement, where something is done to the database. Default: 400 ms. */
  readonly timeoutMs?: number;
  /** An older release, which every second worker runs: it has the journal open when the others open it. */
  readonly olderRelease?: BuiltWorker;
  /** What the workers run. Default: what is published of this working tree. */
  readonly script?: BuiltWorker;
  /** Called at the end of each round. Default: nothing is kept of what happened to its flows. */
  readonly onRecords?: (round: RoundRecords) => void;
  /** Called with each round's result. */
  readonly onProgress?: (line: string) => void;
}

/** All that is known of the flows of a round. */
export interface RoundRecords {
  readonly round: number;
  readonly readBackDelayMs: number;
  readonly records: readonly FlowRecord[];
  readonly states: readonly StoredState[];
}

export interface KillsResult extends Verdict, Readonly<Record<Interruption, number>> {
  /** Quotes that another process confirmed than the one that had made them. */
  readonly confirmedElsewhere: number;
  /** Outcomes that processes of the older release told. */
  readonly toldByOlder: number;
  readonly stumbles: ReadonlyMap<string, number>;
  readonly takeCalls: number;
  /** How often each mark was reached: the simulator's, by processes of this release. */
  readonly marks: MarkCounts;
  readonly seconds: number;
}

export async function runKills(options: KillsOptions): Promise<KillsResult> {
  if (options.script !== undefined) return runRounds(options, options.script);
  await using script = await buildWorker();
  return await runRounds(options, script);
}

async function runRounds(options: KillsOptions, script: BuiltWorker): Promise<KillsResult> {
  const startedMs = performance.now();
  const rounds = Math.ceil(options.flows / options.flowsPerRound);
  const results: KillsResult[] = [];
  let next = 0;
  const runNext = async (): Promise<void> => {
    while (next < rounds) {
      const round = next;
      next += 1;
      const share = (total: number) =>
        Math.floor((total * (round + 1)) / rounds) - Math.floor((total * round) / rounds);
      const seed = rounds === 1 ? options.seed : derivedSeed(options.seed, round);
      const counts = Object.fromEntries(interruptions.map((name) => [name, share(options[name] ?? 0)]));
      const result = await runRound({ ...options, ...counts, flows: share(options.flows), seed, script, round });
      results.push(result);
      options.onProgress?.(`  round ${round + 1} of ${rounds}, seed ${seed}: ${describe(result)}`);
      // Here too: nothing is said at the end where a later round fails altogether.
      for (const text of result.violations) options.onProgress?.(`    ${text}`);
    }
  };
  await Promise.all(Array.from({ length: options.parallel }, runNext));
  return { ...total(results), seconds: (performance.now() - startedMs) / 1000 };
}

const interruptions = ["kills", "stops", "clockJumps", ...databaseInterruptions] as const;

function total(results: readonly KillsResult[]): KillsResult {
  const stumbles = new Map<string, number>();
  for (const result of results) {
    for (const [text, times] of result.stumbles) stumbles.set(text, (stumbles.get(text) ?? 0) + times);
  }
  const violations = results.flatMap((result) => result.violations);
  return { ...sumOf(results), stumbles, violations, marks: sumOfMarks(results.map((result) => result.marks)) };
}

interface RoundOptions extends KillsOptions {
  readonly script: BuiltWorker;
  readonly round: number;
}

async function runRound(options: RoundOptions): Promise<KillsResult> {
  const startedMs = performance.now();
  const { seed, leaseMs } = options;
  const random = seededRandom(seed);
  const marks = new CrashMarks();
  using records = options.onRecords === undefined ? undefined : new RunRecords();
  let takeCalls = 0;
  // Two machines, whose clocks have nothing to do with one another.
  await using clocks = await openClocks(options);
  const isTroubled = databaseInterruptions.some((name) => (options[name] ?? 0) > 0) || clocks.server !== undefined;
  const environment = clocks.server === undefined ? {} : { environment: clocks.server.environment };
  await using fixture = await CrashFixture.open({
    ...options,
    clock: clocks.workers,
    ...(isTroubled ? { database: { timeoutMs: options.timeoutMs ?? 400, ...environment } } : undefined),
    readBackDelayMs,
    fault: serviceFaults(seed),
    onFault: (operation, key, fault) => marks.ofService(operation, key, fault),
    ...(records && { onExchange: (request, payments) => records.exchange(request, payments) }),
    slowResponseMs: leaseMs / 3,
    // Some before the last read-back, some after it.
    slowCommitMs: () => leaseMs * (1 + 2 * random()),
    bank: {
      declines: (key) => randomOf(seed, `declines ${key}`)() < 0.03,
      fault: bankFaults(seed),
      onCall: (kind) => {
        if (kind === "take") takeCalls += 1;
      },
      onEvent: (key, what) => marks.happened(key, what),
      ...(records && { onAnswer: (answer) => records.bankAnswers(answer) }),
    },
  });
  const keys = Array.from({ length: options.flows }, (_, index) => `order-${String(index).padStart(6, "0")}`);
  await using workers = new Workers(fixture, keys, options, clocks, marks, records);
  await workers.untilAllSettled();
  // Late commits may still come.
  await pause(3 * leaseMs + 100);
  const verdict = await fixture.judge(keys);
  if (records !== undefined) {
    const { round } = options;
    options.onRecords?.({ round, readBackDelayMs, records: records.all(), states: await fixture.storedStates() });
  }
  const { done, confirmedElsewhere, toldByOlder, stumbles, accidents } = workers;
  const reached = marks.reached();
  const violations = [...verdict.violations, ...accidents, ...describeForeign(reportMarks(reached))];
  const seconds = (performance.now() - startedMs) / 1000;
  const told = { confirmedElsewhere, toldByOlder, stumbles, takeCalls, marks: reached };
  return { ...verdict, violations, ...done, ...told, seconds };
}

interface Clocks extends AsyncDisposable {
  readonly workers?: MachineClock;
  /** Over PostgreSQL. */
  readonly server?: MachineClock;
}

async function openClocks({ kind, clockJumps = 0 }: KillsOptions): Promise<Clocks> {
  if (clockJumps === 0) return { async [Symbol.asyncDispose]() {} };
  const workers = await MachineClock.open();
  const server = kind === "postgres" ? await MachineClock.open() : undefined;
  return {
    workers,
    ...(server === undefined ? undefined : { server }),
    async [Symbol.asyncDispose]() {
      await workers[Symbol.asyncDispose]();
      await server?.[Symbol.asyncDispose]();
    },
  };
}

interface Slot {
  readonly name: string;
  worker: WorkerProcess;
  isReady: boolean;
  isStopped: boolean;
  readonly isOlder: boolean;
  /** What it was given and has not reported the end of. */
  readonly inHand: Set<GivenTask>;
}

/** A confirmation is not given to the process that quoted. */
interface GivenTask extends Task {
  readonly quotedBy?: Slot;
}

/** Gives the workers their tasks, kills and stops them, and starts others in their place. */
class Workers implements AsyncDisposable {
  readonly accidents: string[] = [];
  readonly stumbles = new Map<string, number>();
  readonly done = Object.fromEntries(interruptions.map((name) => [name, 0])) as Record<Interruption, number>;
  confirmedElsewhere = 0;
  toldByOlder = 0;
  readonly #fixture: CrashFixture;
  readonly #options: KillsOptions;
  readonly #random: () => number;
  readonly #slots = new Map<number, Slot>();
  readonly #unsettled: Set<string>;
  readonly #queue: GivenTask[] = [];
  /** After how many settled flows something happens. */
  readonly #moments: ReadonlyMap<Interruption, number[]>;
  readonly #clocks: Clocks;
  readonly #marks: CrashMarks;
  readonly #records: RunRecords | undefined;
  readonly #database: DatabaseTroubles | undefined;
  #started = 0;
  #isOver = false;
  #settledAtMs = performance.now();
  #allSettled: () => void = () => {};
  readonly #settled = new Promise<void>((resolve) => {
    this.#allSettled = resolve;
  });

  constructor(
    fixture: CrashFixture,
    keys: readonly string[],
    options: KillsOptions,
    clocks: Clocks,
    marks: CrashMarks,
    records: RunRecords | undefined,
  ) {
    this.#fixture = fixture;
    this.#options = options;
    this.#random = seededRandom(options.seed);
    this.#unsettled = new Set(keys);
    this.#moments = new Map(
      interruptions.map((name) => [name, moments(this.#random, options[name] ?? 0, options.flows)]),
    );
    this.#clocks = clocks;
    this.#marks = marks;
    this.#records = records;
    const { database } = fixture;
    this.#database = database && new DatabaseTroubles(database, this.#random, options.timeoutMs ?? 400);
    for (const key of keys) this.#queue.push(...firstTasks(key, this.#random));
  }

  async untilAllSettled(): Promise<void> {
    await this.#openAll();
    const patience = setInterval(() => {
      this.#handOut();
      if (performance.now() - this.#settledAtMs > longestSilenceMs) this.#allSettled();
    }, 100);
    await this.#settled;
    clearInterval(patience);
    await this[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    await Promise.all([...this.#slots.values()].map(({ worker }) => worker[Symbol.asyncDispose]()));
  }

  /** The older release first, so that it has the journal open when the newer one migrates it. */
  async #openAll(): Promise<void> {
    const indices = Array.from({ length: this.#options.workers }, (_, index) => index);
    const isOlder = (index: number) => this.#options.olderRelease !== undefined && index % 2 === 0;
    for (const index of indices.filter(isOlder)) await this.#open(index, true).worker.ready();
    for (const index of indices.filter((each) => !isOlder(each))) this.#open(index, false);
  }

  #open(index: number, isOlder: boolean): Slot {
    this.#started += 1;
    const diskFaults = { seed: derivedSeed(this.#options.seed, this.#started), rate: 0.002 };
    const { olderRelease } = this.#options;
    const release = isOlder && olderRelease !== undefined ? { script: olderRelease } : undefined;
    const name = String(this.#started);
    const record = this.#records && { record: this.#records.placeOf(name) };
    const slot: Slot = {
      name,
      worker: this.#fixture.newWorker({ diskFaults, ...release, ...record }, (report) => this.#hear(slot, report)),
      isReady: false,
      isStopped: false,
      isOlder,
      inHand: new Set(),
    };
    this.#slots.set(index, slot);
    void slot.worker.ended.then((error) => {
      if (this.#isOver) return;
      // The older release may refuse a journal that the newer one has migrated: then this was its last process.
      const isRefused = isOlder && error?.includes("Use the newer release") === true;
      if (error !== undefined && !isRefused) this.accidents.push(error);
      // Half of its tasks are given to others at once; the rest is left to workers that recover.
      for (const task of slot.inHand) {
        if (this.#unsettled.has(task.key) && this.#random() < 0.5) this.#queue.unshift(task);
      }
      this.#open(index, isOlder && !isRefused);
    });
    return slot;
  }

  #hear(slot: Slot, report: Report): void {
    switch (report.type) {
      case "ready":
        slot.isReady = true;
        slot.worker.send({ type: "keep-recovering", everyMs: this.#options.leaseMs / 2 });
        this.#handOut();
        return;
      case "settled":
        this.#note(slot, report.outcome);
        return;
      case "quoted":
        this.#confirm(slot, report);
        return;
      case "step":
        // The older release has a protocol of its own.
        if (!slot.isOlder) this.#marks.decided(slot.name, report.step, report.atMs);
        return;
      case "disk-failed": {
        const what = report.isStored ? "a write is stored, and its response is lost" : "a write fails";
        this.#marks.happened(report.key, what, report.atMs);
        return;
      }
      case "refused":
        this.#endTask(slot, report.task.key, report.task.way);
        // A quote that has expired is renewed by `run`; after a cancellation somebody has to tell the outcome.
        if (report.task.way !== "cancel") this.#queue.push({ key: report.task.key, way: "run" });
        this.#handOut();
        return;
      case "stumbled": {
        const text = report.error.replace(/order-\d+|[0-9a-f-]{36}/g, "…").slice(0, 160);
        this.stumbles.set(text, (this.stumbles.get(text) ?? 0) + 1);
      }
    }
  }

  /** Now and then the sender goes away at the same moment. */
  #confirm(slot: Slot, { key, intentId }: { readonly key: string; readonly intentId: string }): void {
    this.#endTask(slot, key, "quote");
    const tasks: GivenTask[] = [{ key, way: "confirm", intentId, quotedBy: slot }];
    if (this.#random() < 0.1) tasks.push({ key, way: "cancel" });
    if (this.#random() < 0.5) tasks.reverse();
    this.#queue.unshift(...tasks);
    this.#handOut();
  }

  #note(slot: Slot, outcome: Outcome): void {
    this.#endTask(slot, outcome.key);
    if (slot.isOlder) this.toldByOlder += 1;
    if (this.#unsettled.delete(outcome.key)) {
      this.#settledAtMs = performance.now();
      const settled = this.#options.flows - this.#unsettled.size;
      for (const [name, at] of this.#moments) {
        while ((at[0] ?? Infinity) <= settled && at.shift() !== undefined) void this.#interrupt(name);
      }
    }
    this.#handOut();
    this.#endIfOver();
  }

  #endTask(slot: Slot, key: string, way?: Task["way"]): void {
    for (const task of slot.inHand) {
      if (task.key === key && (way ?? task.way) === task.way) slot.inHand.delete(task);
    }
  }

  #endIfOver(): void {
    const isDone = interruptions.every((name) => this.done[name] === (this.#options[name] ?? 0));
    if (this.#unsettled.size === 0 && isDone) this.#allSettled();
  }

  #handOut(): void {
    // A key that was left to workers that recover may have died before its flow began.
    if (this.#queue.length === 0) {
      const inHand = new Set([...this.#slots.values()].flatMap((slot) => [...slot.inHand].map(({ key }) => key)));
      const left = [...this.#unsettled].filter((key) => !inHand.has(key));
      this.#queue.push(...left.map((key) => ({ key, way: "run" }) as const));
    }
    for (const slot of this.#slots.values()) {
      if (slot.isReady && !slot.isStopped && !slot.worker.isOver) this.#fill(slot);
    }
  }

  #fill(slot: Slot): void {
    const tasks: Task[] = [];
    for (let index = 0; index < this.#queue.length && slot.inHand.size < this.#options.concurrency; ) {
      const task = this.#queue[index];
      if (task === undefined || task.quotedBy === slot) index += 1;
      else {
        this.#queue.splice(index, 1);
        slot.inHand.add(task);
        const { quotedBy, ...told } = task;
        if (quotedBy !== undefined) this.confirmedElsewhere += 1;
        tasks.push(told);
      }
    }
    if (tasks.length > 0) slot.worker.send({ type: "do", tasks });
  }

  async #interrupt(name: Interruption): Promise<void> {
    if (name === "kills") await this.#kill();
    else if (name === "stops") await this.#stop();
    else if (name === "clockJumps") await this.#setClock();
    else await this.#database?.[name]();
    this.done[name] += 1;
    this.#endIfOver();
  }

  async #kill(): Promise<void> {
    await this.#choose((slot) => {
      slot.isReady = false;
      this.#marks.happenedTo(slot.name, "its process is killed");
      slot.worker.signal("SIGKILL");
    });
  }

  /** By up to twelve hours from the real time, back or forward. */
  async #setClock(): Promise<void> {
    const { workers, server = workers } = this.#clocks;
    const clock = this.#random() < 0.5 ? workers : server;
    if (clock === workers) this.#marks.happenedToAll("its process's clock is set");
    await clock?.setBy(Math.round((this.#random() - 0.5) * 24 * 3_600_000));
  }

  /** For longer than the lease: others take its flows over, which it does not know when it continues. */
  async #stop(): Promise<void> {
    const slot = await this.#choose((chosen) => {
      chosen.isStopped = true;
      this.#marks.happenedTo(chosen.name, "its process is paused");
      chosen.worker.signal("SIGSTOP");
    });
    await pause(this.#options.leaseMs * (1.2 + this.#random()));
    slot.isStopped = false;
    slot.worker.signal("SIGCONT");
  }

  /** A random worker that is running, after a random time. */
  async #choose(act: (slot: Slot) => void): Promise<Slot> {
    await pause(this.#random() * 40);
    for (;;) {
      const alive = [...this.#slots.values()].filter(
        ({ isReady, isStopped, worker }) => isReady && !isStopped && !worker.isOver,
      );
      const slot = alive[Math.floor(this.#random() * alive.length)];
      if (slot === undefined) await pause(5);
      else {
        act(slot);
        return slot;
      }
    }
  }
}

const readBackDelayMs = 120;

/** A flow that nobody can settle is unsettled, and not waited for. */
const longestSilenceMs = 120_000;

/** What is done for a key first: some are run twice at the same time, by one process that runs it and one that waits. */
function firstTasks(key: string, random: () => number): GivenTask[] {
  return weighted<readonly Task["way"][]>(random, [
    [50, ["run"]],
    [4, ["run", "run"]],
    [40, ["quote"]],
    [3, ["quote", "quote"]],
    [3, ["quote", "run"]],
  ]).map((way) => ({ key, way }));
}

/** Ascending numbers of settled flows, spread at random over all but the last few. */
function moments(random: () => number, count: number, flows: number): number[] {
  const last = Math.max(1, flows - 20);
  return Array.from({ length: count }, () => 1 + Math.floor(random() * last)).sort((one, other) => one - other);
}

function randomOf(seed: number, text: string): () => number {
  let hash = seed;
  for (const character of text) hash = derivedSeed(hash, character.codePointAt(0) ?? 0);
  return seededRandom(hash);
}

const paymentFaults: readonly (readonly [number, ServiceFault])[] = [
  [66, "none"],
  [5, "refuse"],
  [2, "throttle"],
  [3, "unavailable"],
  [5, "reset"],
  [4, "slow-response"],
  [5, "slow-commit"],
  [7, "lost"],
  [3, "unavailable-after"],
];

const otherFaults: readonly (readonly [number, ServiceFault])[] = [
  [90, "none"],
  [3, "unavailable"],
  [3, "reset"],
  [2, "lost"],
  [2, "throttle"],
];

function serviceFaults(seed: number) {
  return (operation: string | undefined, key: string, attempt: number): ServiceFault => {
    const random = randomOf(seed, `${operation} ${key} ${attempt}`);
    if (operation === "payments.create") return weighted(random, paymentFaults);
    // Decided once for each key, so that a key that was accepted is not refused later.
    if (operation === "paymentIntents.create" && randomOf(seed, `refuses ${key}`)() < 0.02) return "refuse";
    return weighted(random, otherFaults);
  };
}

function bankFaults(seed: number) {
  return (key: string, attempt: number): BankFault =>
    weighted(randomOf(seed, `bank ${key} ${attempt}`), [
      [92, "none"],
      [5, "lost"],
      [3, "unavailable"],
    ]);
}

export function describe(result: KillsResult): string {
  const { confirmedElsewhere, toldByOlder, takeCalls, marks, seconds } = result;
  const what = interruptions.flatMap((name) => (result[name] > 0 ? [`${names[name]} ${result[name]}`] : []));
  const older = toldByOlder > 0 ? `told by the older release ${toldByOlder}, ` : "";
  return (
    `${what.join(", ")}, ${describeLaws(result)}, confirmed by another process ${confirmedElsewhere}, ` +
    `${older}calls of takeFunds ${takeCalls}, marks ${reportMarks(marks).reached}, ${seconds.toFixed(1)} s`
  );
}

const names: Readonly<Record<Interruption, string>> = {
  kills: "kills",
  stops: "stops",
  clockJumps: "jumps of clocks",
  backendStops: "stops of back ends",
  delays: "delays of the network",
  serverKills: "kills of the server",
};

async function main(): Promise<number> {
  const options = scriptOptions({
    flows: 1000,
    kills: 200,
    stops: -1,
    "backend-stops": 0,
    delays: 0,
    "server-kills": 0,
    "clock-jumps": 0,
    timeout: 400,
    workers: 4,
    concurrency: 32,
    lease: 400,
    round: 250,
    parallel: 2,
    record: 0,
  });
  const stops = options.stops === -1 ? Math.round(options.kills / 4) : options.stops;
  const { round: flowsPerRound, lease: leaseMs, timeout: timeoutMs } = options;
  const given = { ...options, stops, leaseMs, flowsPerRound, timeoutMs, clockJumps: options["clock-jumps"] };
  const database = { backendStops: options["backend-stops"], serverKills: options["server-kills"] };
  if (options.kind === "sqlite" && database.backendStops + database.serverKills + options.delays > 0) {
    throw new Error("a SQLite file has no server");
  }
  say(`seed ${options.seed}, journal ${options.kind}`);
  // As they are now: a run takes long.
  const sources = options.record > 0 ? whatIsProved() : undefined;
  const result = await runKills({ ...given, ...database, onProgress: say });
  for (const [text, times] of result.stumbles) say(`  stumbled ${times} times: ${text}`);
  if (sources !== undefined && isKept(result)) record({ ...proofOf(result, options.kind), ...sources });
  return sayAll(result, describe(result));
}

function proofOf(
  result: KillsResult,
  kind: JournalChoice["kind"],
): Omit<RecordedProof, keyof ReturnType<typeof whatIsProved>> {
  const { paid, declined, rejected, held, marks, seconds } = result;
  const journal = kind === "sqlite" ? "SQLite" : "PostgreSQL";
  const done = interruptions.flatMap((name) => (result[name] > 0 ? [[names[name], result[name]] as const] : []));
  return {
    name: `Killed processes over ${journal}`,
    statement:
      "No payment was made twice, no money taken twice, lost, or given back for a payment; each outcome that was told held.",
    bound: "as many flows as were run, of four processes at a time, at random moments.",
    figures: {
      flows: result.flows,
      ...Object.fromEntries(done),
      paid,
      declined,
      rejected,
      "held for a person": held,
      "marks that were reached": reportMarks(marks).reached,
      minutes: Math.round(seconds / 60),
    },
    command: `npx tsx test/crash/kills.ts ${process.argv.slice(2).join(" ").replace(" --record 1", "")}`,
    way: "killed processes",
    marks,
  };
}

if (isScript(import.meta.url)) process.exitCode = await main();

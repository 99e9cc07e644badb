/**
 * Four processes run payments, many at a time, and are killed and stopped at random while the service, the bank and the disk fail now and
 * then. Some payments are quoted by one process and confirmed by another:
 *
 *     npx tsx test/crash/kills.ts --flows 10000 --kills 2000 --stops 500 --journal sqlite --seed 1
 *     bash test/support/postgres.sh with npx tsx test/crash/kills.ts --flows 10000 --kills 2000 --stops 500 --journal postgres --seed 1
 */
import { derivedSeed, seededRandom, weighted } from "../faults/seeded-random.js";
import type { BankFault } from "./bank.js";
import { type BuiltWorker, buildWorker } from "./build-worker.js";
import { CrashFixture } from "./crash-fixture.js";
import type { JournalChoice } from "./journal-place.js";
import { describeLaws, isKept, sumOf, type Verdict } from "./laws.js";
import { isScript, say, scriptOptions } from "./script-options.js";
import type { ServiceFault } from "./service.js";
import type { Outcome, Report, Task } from "./worker-messages.js";
import type { WorkerProcess } from "./worker-process.js";

export interface KillsOptions extends JournalChoice {
  readonly flows: number;
  readonly kills: number;
  readonly stops: number;
  readonly workers: number;
  /** How many flows a worker runs at a time. */
  readonly concurrency: number;
  readonly leaseMs: number;
  readonly seed: number;
  /** Flows of one round, which has a journal, a service and a bank of its own: each look reads all payments of the service. */
  readonly flowsPerRound: number;
  /** How many rounds run at a time. */
  readonly parallel: number;
  /** Called with each round's result. */
  readonly onProgress?: (line: string) => void;
}

export interface KillsResult extends Verdict {
  readonly kills: number;
  readonly stops: number;
  /** Quotes that another process confirmed than the one that had made them. */
  readonly confirmedElsewhere: number;
  readonly stumbles: ReadonlyMap<string, number>;
  readonly takeCalls: number;
  readonly seconds: number;
}

export async function runKills(options: KillsOptions): Promise<KillsResult> {
  const startedMs = performance.now();
  const rounds = Math.ceil(options.flows / options.flowsPerRound);
  const results: KillsResult[] = [];
  await using script = await buildWorker();
  let next = 0;
  const runRounds = async (): Promise<void> => {
    while (next < rounds) {
      const round = next;
      next += 1;
      const share = (total: number) =>
        Math.floor((total * (round + 1)) / rounds) - Math.floor((total * round) / rounds);
      const seed = rounds === 1 ? options.seed : derivedSeed(options.seed, round);
      const { flows, kills, stops } = options;
      const shares = { flows: share(flows), kills: share(kills), stops: share(stops) };
      const result = await runRound({ ...options, ...shares, seed, script });
      results.push(result);
      options.onProgress?.(`  round ${round + 1} of ${rounds}, seed ${seed}: ${describe(result)}`);
    }
  };
  await Promise.all(Array.from({ length: options.parallel }, runRounds));
  return { ...total(results), seconds: (performance.now() - startedMs) / 1000 };
}

function total(results: readonly KillsResult[]): KillsResult {
  const stumbles = new Map<string, number>();
  for (const result of results) {
    for (const [text, times] of result.stumbles) stumbles.set(text, (stumbles.get(text) ?? 0) + times);
  }
  return { ...sumOf(results), stumbles, violations: results.flatMap(({ violations }) => violations) };
}

async function runRound(options: KillsOptions & { readonly script: BuiltWorker }): Promise<KillsResult> {
  const startedMs = performance.now();
  const { seed, leaseMs } = options;
  const random = seededRandom(seed);
  let takeCalls = 0;
  await using fixture = await CrashFixture.open({
    ...options,
    readBackDelayMs: 120,
    fault: serviceFaults(seed),
    slowResponseMs: leaseMs / 3,
    // Some before the last read-back, some after it.
    slowCommitMs: () => leaseMs * (1 + 2 * random()),
    bank: {
      declines: (key) => randomOf(seed, `declines ${key}`)() < 0.03,
      fault: bankFaults(seed),
      onCall: (kind) => {
        if (kind === "take") takeCalls += 1;
      },
    },
  });
  const keys = Array.from({ length: options.flows }, (_, index) => `order-${String(index).padStart(6, "0")}`);
  await using workers = new Workers(fixture, keys, options);
  await workers.untilAllSettled();
  // Late commits may still come.
  await pause(3 * leaseMs + 100);
  const verdict = await fixture.judge(keys);
  const { kills, stops, confirmedElsewhere, stumbles, accidents } = workers;
  const violations = [...verdict.violations, ...accidents];
  const seconds = (performance.now() - startedMs) / 1000;
  return { ...verdict, violations, kills, stops, confirmedElsewhere, stumbles, takeCalls, seconds };
}

interface Slot {
  worker: WorkerProcess;
  isReady: boolean;
  isStopped: boolean;
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
  kills = 0;
  stops = 0;
  confirmedElsewhere = 0;
  readonly #fixture: CrashFixture;
  readonly #options: KillsOptions;
  readonly #random: () => number;
  readonly #slots: Slot[] = [];
  readonly #unsettled: Set<string>;
  readonly #queue: GivenTask[] = [];
  /** After so many settled flows a worker is killed, or stopped. */
  readonly #killsAt: number[];
  readonly #stopsAt: number[];
  #started = 0;
  #isOver = false;
  #allSettled: () => void = () => {};
  readonly #settled = new Promise<void>((resolve) => {
    this.#allSettled = resolve;
  });

  constructor(fixture: CrashFixture, keys: readonly string[], options: KillsOptions) {
    this.#fixture = fixture;
    this.#options = options;
    this.#random = seededRandom(options.seed);
    this.#unsettled = new Set(keys);
    this.#killsAt = moments(this.#random, options.kills, options.flows);
    this.#stopsAt = moments(this.#random, options.stops, options.flows);
    for (const key of keys) this.#queue.push(...firstTasks(key, this.#random));
    for (let index = 0; index < options.workers; index += 1) this.#open(index);
  }

  async untilAllSettled(): Promise<void> {
    const patience = setInterval(() => this.#handOut(), 100);
    await this.#settled;
    clearInterval(patience);
    await this[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#slots.map(({ worker }) => worker[Symbol.asyncDispose]()));
  }

  #open(index: number): void {
    this.#started += 1;
    const diskFaults = { seed: derivedSeed(this.#options.seed, this.#started), rate: 0.002 };
    const slot: Slot = {
      worker: this.#fixture.newWorker({ diskFaults }, (report) => this.#hear(slot, report)),
      isReady: false,
      isStopped: false,
      inHand: new Set(),
    };
    this.#slots[index] = slot;
    void slot.worker.ended.then((error) => {
      if (this.#isOver) return;
      if (error !== undefined) this.accidents.push(error);
      // Half of its tasks are given to others at once; the rest is left to workers that recover.
      for (const task of slot.inHand) {
        if (this.#unsettled.has(task.key) && this.#random() < 0.5) this.#queue.unshift(task);
      }
      this.#open(index);
    });
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
    if (this.#unsettled.delete(outcome.key)) {
      const settled = this.#options.flows - this.#unsettled.size;
      while ((this.#killsAt[0] ?? Infinity) <= settled && this.#killsAt.shift() !== undefined) void this.#kill();
      while ((this.#stopsAt[0] ?? Infinity) <= settled && this.#stopsAt.shift() !== undefined) void this.#stop();
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
    const { kills, stops } = this.#options;
    if (this.#unsettled.size === 0 && this.kills === kills && this.stops === stops) this.#allSettled();
  }

  #handOut(): void {
    // A key that was left to workers that recover may have died before its flow began.
    if (this.#queue.length === 0) {
      const inHand = new Set(this.#slots.flatMap((slot) => [...slot.inHand].map(({ key }) => key)));
      const left = [...this.#unsettled].filter((key) => !inHand.has(key));
      this.#queue.push(...left.map((key) => ({ key, way: "run" }) as const));
    }
    for (const slot of this.#slots) {
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

  async #kill(): Promise<void> {
    await this.#choose((slot) => {
      slot.isReady = false;
      slot.worker.signal("SIGKILL");
    });
    this.kills += 1;
    this.#endIfOver();
  }

  /** For longer than the lease: others take its flows over, which it does not know when it continues. */
  async #stop(): Promise<void> {
    const slot = await this.#choose((chosen) => {
      chosen.isStopped = true;
      chosen.worker.signal("SIGSTOP");
    });
    await pause(this.#options.leaseMs * (1.2 + this.#random()));
    slot.isStopped = false;
    slot.worker.signal("SIGCONT");
    this.stops += 1;
    this.#endIfOver();
  }

  /** A random worker that is running, after a random time. */
  async #choose(act: (slot: Slot) => void): Promise<Slot> {
    await pause(this.#random() * 40);
    for (;;) {
      const alive = this.#slots.filter(({ isReady, isStopped, worker }) => isReady && !isStopped && !worker.isOver);
      const slot = alive[Math.floor(this.#random() * alive.length)];
      if (slot === undefined) await pause(5);
      else {
        act(slot);
        return slot;
      }
    }
  }
}

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

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}

export function describe(result: KillsResult): string {
  const { kills, stops, confirmedElsewhere, takeCalls, seconds } = result;
  return (
    `kills ${kills}, stops ${stops}, ${describeLaws(result)}, confirmed by another process ${confirmedElsewhere}, ` +
    `calls of takeFunds ${takeCalls}, ${seconds.toFixed(1)} s`
  );
}

async function main(): Promise<number> {
  const options = scriptOptions({
    flows: 1000,
    kills: 200,
    stops: -1,
    workers: 4,
    concurrency: 32,
    lease: 400,
    round: 250,
    parallel: 2,
  });
  const stops = options.stops === -1 ? Math.round(options.kills / 4) : options.stops;
  const { round: flowsPerRound, lease: leaseMs } = options;
  say(`seed ${options.seed}, journal ${options.kind}`);
  const result = await runKills({ ...options, stops, leaseMs, flowsPerRound, onProgress: say });
  for (const [text, times] of result.stumbles) say(`  stumbled ${times} times: ${text}`);
  for (const violation of result.violations) say(`  ${violation}`);
  say(describe(result));
  return isKept(result) ? 0 : 1;
}

if (isScript(import.meta.url)) process.exitCode = await main();

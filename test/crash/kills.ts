/**
 * Four processes run payments, many at a time, and are killed and stopped at random while the service, the bank and the disk fail now and
 * then. Some payments are quoted by one process and confirmed by another:
 *
 *     npx tsx test/crash/kills.ts --journal sqlite --flows 1000 --kills 200 --stops 50 --troubles 100 --seed 1
 *     npx tsx test/crash/kills.ts --journal postgres --flows 1000 --kills 200 --stops 50 --backend-stops 20 --lease 2000
 *
 * `--troubles` kills or stops a process at a named point of a flow, such as between a write and the request that follows it.
 * `--backend-stops` stops back ends of the database in the middle of what they do, for longer than the workers wait, and what they were sent
 * is done late; `--server-kills` kills the server, which recovers: connections break, and responses are lost.
 */
import { setTimeout as pause } from "node:timers/promises";
import { derivedSeed, seededRandom, weighted } from "../faults/seeded-random.js";
import type { BankFault } from "./bank.js";
import { type CrashFixture, openCrashFixture } from "./crash-fixture.js";
import { type DatabaseInterruption, DatabaseTroubles, databaseInterruptions } from "./database-troubles.js";
import type { JournalChoice } from "./journal-place.js";
import { judge, type Verdict } from "./laws.js";
import { isScript, say, scriptOptions } from "./script-options.js";
import type { ServiceFault } from "./service.js";
import type { Outcome, Report, Task, Trouble } from "./worker-messages.js";
import type { WorkerProcess } from "./worker-process.js";

/** What happens at random moments, to processes and to the database. */
type Interruption = "kills" | "stops" | DatabaseInterruption;

export interface KillsOptions extends JournalChoice, Readonly<Partial<Record<Interruption, number>>> {
  readonly flows: number;
  /** So many flows bring their first process to a named point at which it is killed or stopped. */
  readonly troubles: number;
  readonly workers: number;
  /** How many flows a worker runs at a time. */
  readonly concurrency: number;
  readonly leaseMs: number;
  readonly seed: number;
  /** How long a worker waits for a statement, if something is done to the database. Default: 400 ms. */
  readonly timeoutMs?: number;
}

export interface KillsResult extends Verdict, Readonly<Record<Interruption, number>> {
  /** The named points at which a process was killed or stopped, and how often. */
  readonly points: Readonly<Record<string, number>>;
  /** Quotes that another process confirmed than the one that had made them. */
  readonly confirmedElsewhere: number;
  readonly stumbles: ReadonlyMap<string, number>;
  readonly seconds: number;
}

const interruptions = ["kills", "stops", ...databaseInterruptions] as const;

export async function runKills(options: KillsOptions): Promise<KillsResult> {
  const startedMs = performance.now();
  const { seed, leaseMs, timeoutMs = 400 } = options;
  const random = seededRandom(seed);
  const isTroubled = databaseInterruptions.some((name) => (options[name] ?? 0) > 0);
  await using fixture = await openCrashFixture({
    ...options,
    timeoutMs: isTroubled ? timeoutMs : undefined,
    readBackDelayMs,
    fault: serviceFaults(seed),
    slowResponseMs: leaseMs / 3,
    // After the client's timeout: some before the last search, some after it.
    slowCommitMs: () => leaseMs * (1.2 + 2 * random()),
    bank: { declines: (key) => randomOf(seed, `declines ${key}`)() < 0.03, fault: bankFaults(seed) },
  });
  const keys = Array.from({ length: options.flows }, (_, index) => `order-${String(index).padStart(6, "0")}`);
  await using workers = new Workers(fixture, keys, options);
  await workers.untilAllSettled();
  // Late commits can still come.
  await pause(3 * leaseMs + 100);
  const outcomes = await fixture.audit(keys);
  const { told, service, bank } = fixture;
  const verdict = judge({ keys, outcomes, told, payments: service.payments, bank: bank.entries });
  const { done, points: met, confirmedElsewhere, stumbles, accidents } = workers;
  const violations = [...verdict.violations, ...bank.violations, ...accidents];
  const seconds = (performance.now() - startedMs) / 1000;
  return {
    ...verdict,
    violations,
    ...done,
    points: met,
    confirmedElsewhere,
    stumbles,
    seconds,
  };
}

interface Slot {
  readonly worker: WorkerProcess;
  isReady: boolean;
  isStopped: boolean;
  /** What it was given and has not reported the end of. */
  readonly inHand: Set<GivenTask>;
}

/** A confirmation isn't given to the process that quoted. */
interface GivenTask extends Task {
  readonly quotedBy?: Slot;
}

/** Gives the workers their tasks, kills and stops them, and starts others in their place. */
class Workers implements AsyncDisposable {
  readonly accidents: string[] = [];
  readonly stumbles = new Map<string, number>();
  readonly done = Object.fromEntries(interruptions.map((name) => [name, 0])) as Record<Interruption, number>;
  readonly points: Record<string, number> = {};
  confirmedElsewhere = 0;
  readonly #fixture: CrashFixture;
  readonly #options: KillsOptions;
  readonly #random: () => number;
  readonly #slots = new Map<number, Slot>();
  /** Keys whose flows have not begun. */
  readonly #fresh: string[];
  /** The others, without those that are settled. */
  readonly #open = new Set<string>();
  readonly #queue: GivenTask[] = [];
  /** After how many settled flows something happens. */
  readonly #moments: ReadonlyMap<Interruption, number[]>;
  /** What the first process of a flow meets. */
  readonly #troubles: Map<string, Trouble>;
  readonly #database: DatabaseTroubles | undefined;
  #started = 0;
  #isOver = false;
  #settledAtMs = performance.now();
  #allSettled: () => void = () => {};
  readonly #settled = new Promise<void>((resolve) => {
    this.#allSettled = resolve;
  });

  constructor(fixture: CrashFixture, keys: readonly string[], options: KillsOptions) {
    this.#fixture = fixture;
    this.#options = options;
    this.#random = seededRandom(options.seed);
    this.#fresh = [...keys];
    this.#moments = new Map(
      interruptions.map((name) => [name, moments(this.#random, options[name] ?? 0, options.flows)]),
    );
    this.#troubles = new Map(this.#chooseTroubles(keys).map((trouble) => [trouble.key, trouble]));
    const { server } = fixture;
    this.#database = server && new DatabaseTroubles(server, this.#random, options.timeoutMs ?? 400);
  }

  async untilAllSettled(): Promise<void> {
    for (let index = 0; index < this.#options.workers; index += 1) this.#startWorker(index);
    const patience = setInterval(() => {
      this.#continueHalted();
      this.#handOut();
      if (performance.now() - this.#settledAtMs > maxSilenceMs) this.#allSettled();
    }, 100);
    await this.#settled;
    clearInterval(patience);
    await this[Symbol.asyncDispose]();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    await Promise.all([...this.#slots.values()].map(({ worker }) => worker[Symbol.asyncDispose]()));
  }

  /** Each point in turn, so that a run with enough flows meets every one of them. */
  #chooseTroubles(keys: readonly string[]): Trouble[] {
    const every = Math.max(1, Math.floor(keys.length / Math.max(1, this.#options.troubles)));
    return keys
      .filter((_, index) => index % every === 0)
      .slice(0, this.#options.troubles)
      .map((key, index) => {
        const point = points[(index + this.#options.seed) % points.length] ?? "";
        return { key, point, act: this.#random() < 0.7 ? "kill" : "stop" };
      });
  }

  #startWorker(index: number): void {
    this.#started += 1;
    const diskFaults = { seed: derivedSeed(this.#options.seed, this.#started), rate: 0.002 };
    const slot: Slot = {
      worker: this.#fixture.newWorker({ diskFaults }, (report) => this.#hear(slot, report)),
      isReady: false,
      isStopped: false,
      inHand: new Set(),
    };
    this.#slots.set(index, slot);
    void slot.worker.ended.then((error) => {
      for (const point of slot.worker.points()) this.points[point] = (this.points[point] ?? 0) + 1;
      if (this.#isOver) return;
      if (error !== undefined) this.accidents.push(error);
      // Half of its tasks are given to others at once; the rest is left to workers that recover.
      for (const task of slot.inHand) {
        if (this.#open.has(task.key) && this.#random() < 0.5) this.#queue.unshift(task);
      }
      this.#startWorker(index);
    });
  }

  #hear(slot: Slot, report: Report): void {
    switch (report.type) {
      case "ready":
        slot.isReady = true;
        slot.worker.send({ type: "work", everyMs: this.#options.leaseMs / 2 });
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
        // A quote that has expired is renewed by `run`. After a cancellation, a call tells the outcome.
        if (report.task.way !== "cancel") this.#queue.push({ key: report.task.key, way: "run" });
        this.#handOut();
        return;
      case "stumbled": {
        const text = report.error.replace(/order-\d+|[0-9a-f-]{36}/g, "…").slice(0, 160);
        this.stumbles.set(text, (this.stumbles.get(text) ?? 0) + 1);
      }
    }
  }

  /** Now and then the sender cancels at the same moment. */
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
    if (this.#open.delete(outcome.key)) {
      this.#settledAtMs = performance.now();
      const settled = this.#options.flows - this.#fresh.length - this.#open.size;
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
    if (this.#fresh.length + this.#open.size === 0 && isDone) this.#allSettled();
  }

  #handOut(): void {
    while (this.#open.size < maxOpen) {
      const key = this.#fresh.shift();
      if (key === undefined) break;
      this.#open.add(key);
      this.#queue.push(...firstTasks(key, this.#random));
    }
    // A key that was left to workers that recover can have died before its flow began.
    if (this.#queue.length === 0) {
      const inHand = new Set([...this.#slots.values()].flatMap((slot) => [...slot.inHand].map(({ key }) => key)));
      const left = [...this.#open].filter((key) => !inHand.has(key) && this.#random() < 0.05);
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
        const { quotedBy, ...given } = task;
        if (quotedBy !== undefined) this.confirmedElsewhere += 1;
        const trouble = task.way === "quote" ? undefined : this.#troubles.get(task.key);
        if (trouble !== undefined && this.#troubles.delete(task.key)) slot.worker.send({ type: "expect", trouble });
        tasks.push(given);
      }
    }
    if (tasks.length > 0) slot.worker.send({ type: "do", tasks });
  }

  async #interrupt(name: Interruption): Promise<void> {
    if (name === "kills") await this.#kill();
    else if (name === "stops") await this.#stop();
    else await this.#database?.[name]();
    this.done[name] += 1;
    this.#endIfOver();
  }

  async #kill(): Promise<void> {
    await this.#choose((slot) => {
      slot.isReady = false;
      slot.worker.signal("SIGKILL");
    });
  }

  async #stop(): Promise<void> {
    const slot = await this.#choose((chosen) => {
      chosen.isStopped = true;
      chosen.worker.signal("SIGSTOP");
    });
    await this.#continueLater(slot);
  }

  /** For longer than the lease: others take its flows over, which it doesn't know when it continues. */
  async #continueLater(slot: Slot): Promise<void> {
    await pause(this.#options.leaseMs * (1.2 + this.#random()));
    slot.isStopped = false;
    slot.worker.signal("SIGCONT");
  }

  /** Processes that were stopped at a named point. */
  #continueHalted(): void {
    for (const slot of this.#slots.values()) {
      if (slot.isStopped || slot.worker.isOver || !slot.worker.isHalted()) continue;
      slot.isStopped = true;
      void this.#continueLater(slot);
    }
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

/** So many flows are open at a time that the service keeps up with their searches. */
const maxOpen = 400;

/** A flow that no process can settle is unsettled, and the run doesn't wait for it. After failed searches, flows wait up to ten minutes. */
const maxSilenceMs = 700_000;

/** Around what is written, asked of the bank, and sent. */
const points: readonly string[] = [
  ...["begin:funds-requested", "write:claimed", "write:paid", "write:unknown", "write:refused", "write:rejected"],
  ...["write:held", "write:funds-requested", "write:quoted"],
]
  .flatMap((name) => [`${name}:before`, `${name}:during`, `${name}:after`])
  .concat(["take:before", "take:after", "give-back:before", "give-back:after"])
  .concat(["before-check", "after-check", "sent", "first-byte", "response"].map((name) => `dispatch:${name}`));

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
  [12, "slow-commit"],
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

/** A search makes many requests. If more of them failed, few searches would come to an end. */
const listFaults: typeof otherFaults = [[290, "none"], ...otherFaults];

export function serviceFaults(seed: number) {
  return (operation: string | undefined, key: string, attempt: number): ServiceFault => {
    const random = randomOf(seed, `${operation} ${key} ${attempt}`);
    if (operation === "payments.create") return weighted(random, paymentFaults);
    // Decided once for each key, so that a key that was accepted is not refused later.
    if (operation === "paymentIntents.create" && randomOf(seed, `refuses ${key}`)() < 0.02) return "refuse";
    return weighted(random, operation === "payments.list" ? listFaults : otherFaults);
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

async function main(): Promise<number> {
  const {
    lease: leaseMs,
    timeout: timeoutMs,
    ...options
  } = scriptOptions({
    ...{ flows: 1000, kills: 200, stops: 50, troubles: 100, "backend-stops": 0, "server-kills": 0 },
    ...{ timeout: 400, workers: 4, concurrency: 32, lease: 400 },
  });
  const database = { backendStops: options["backend-stops"], serverKills: options["server-kills"] };
  if (options.kind === "sqlite" && database.backendStops + database.serverKills > 0) {
    throw new Error("a SQLite file has no server");
  }
  say(`seed ${options.seed}, journal ${options.kind}`);
  const result = await runKills({ ...options, ...database, leaseMs, timeoutMs });
  say(JSON.stringify({ ...result, stumbles: Object.fromEntries(result.stumbles) }, undefined, 2));
  return result.unsettled + result.violations.length === 0 ? 0 : 1;
}

if (isScript(import.meta.url)) process.exitCode = await main();

/**
 * Four processes run payments, and are killed and stopped at random while the service, the bank and the disk fail now and then:
 *
 *     npx tsx test/crash/kills.ts --flows 10000 --kills 2000 --journal sqlite --seed 1
 */
import { derivedSeed, seededRandom, weighted } from "../faults/seeded-random.js";
import type { BankFault } from "./bank.js";
import { CrashFixture } from "./crash-fixture.js";
import type { JournalChoice } from "./journal-place.js";
import type { Verdict } from "./laws.js";
import { isScript, say, scriptOptions } from "./script-options.js";
import type { ServiceFault } from "./service.js";
import type { Outcome, Report } from "./worker-messages.js";
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
  /** Called with the progress every few seconds. */
  readonly onProgress?: (line: string) => void;
}

export interface KillsResult extends Verdict {
  readonly kills: number;
  readonly stops: number;
  readonly stumbles: ReadonlyMap<string, number>;
  readonly takeCalls: number;
  readonly seconds: number;
}

export async function runKills(options: KillsOptions): Promise<KillsResult> {
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
  const { kills, stops, stumbles, accidents } = workers;
  const violations = [...verdict.violations, ...accidents];
  const seconds = (performance.now() - startedMs) / 1000;
  return { ...verdict, violations, kills, stops, stumbles, takeCalls, seconds };
}

interface Slot {
  worker: WorkerProcess;
  isReady: boolean;
  isStopped: boolean;
  /** Keys that it was given and has reported no outcome for. */
  readonly inHand: Set<string>;
}

/** Gives the workers their keys, kills and stops them, and starts others in their place. */
class Workers implements AsyncDisposable {
  readonly accidents: string[] = [];
  readonly stumbles = new Map<string, number>();
  kills = 0;
  stops = 0;
  readonly #fixture: CrashFixture;
  readonly #options: KillsOptions;
  readonly #random: () => number;
  readonly #slots: Slot[] = [];
  readonly #unsettled: Set<string>;
  readonly #queue: string[] = [];
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
    for (const key of keys) {
      this.#queue.push(key);
      // Some are run twice at the same time: one runs, the other waits.
      if (this.#random() < 0.04) this.#queue.push(key);
    }
    for (let index = 0; index < options.workers; index += 1) this.#open(index);
  }

  async untilAllSettled(): Promise<void> {
    const patience = setInterval(() => this.#handOut(), 100);
    const progress = setInterval(() => this.#options.onProgress?.(this.#progress()), 5_000);
    await this.#settled;
    clearInterval(patience);
    clearInterval(progress);
    this.#isOver = true;
    await Promise.all(this.#slots.map(({ worker }) => worker[Symbol.asyncDispose]()));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    await Promise.all(this.#slots.map(({ worker }) => worker[Symbol.asyncDispose]()));
  }

  #progress(): string {
    const settled = this.#options.flows - this.#unsettled.size;
    const inHand = this.#slots.map(
      (slot) => `${slot.isStopped ? "stopped" : slot.isReady ? "ready" : "starting"} ${slot.inHand.size}`,
    );
    return `  settled ${settled}, kills ${this.kills}, stops ${this.stops}, queue ${this.#queue.length}, workers: ${inHand.join(", ")}`;
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
      // Half of its keys are run again at once; the rest is left to workers that recover.
      for (const key of slot.inHand) if (this.#unsettled.has(key) && this.#random() < 0.5) this.#queue.unshift(key);
      this.#open(index);
    });
  }

  #hear(slot: Slot, report: Report): void {
    if (report.type === "ready") {
      slot.isReady = true;
      slot.worker.send({ type: "keep-recovering", everyMs: this.#options.leaseMs / 2 });
      this.#handOut();
    } else if (report.type === "settled") this.#note(slot, report.outcome);
    else if (report.type === "stumbled") {
      const text = report.error.replace(/order-\d+|[0-9a-f-]{36}/g, "…").slice(0, 160);
      this.stumbles.set(text, (this.stumbles.get(text) ?? 0) + 1);
    }
  }

  #note(slot: Slot, outcome: Outcome): void {
    slot.inHand.delete(outcome.key);
    if (this.#unsettled.delete(outcome.key)) {
      const settled = this.#options.flows - this.#unsettled.size;
      while ((this.#killsAt[0] ?? Infinity) <= settled && this.#killsAt.shift() !== undefined) void this.#kill();
      while ((this.#stopsAt[0] ?? Infinity) <= settled && this.#stopsAt.shift() !== undefined) void this.#stop();
    }
    this.#handOut();
    this.#endIfOver();
  }

  #endIfOver(): void {
    const { kills, stops } = this.#options;
    if (this.#unsettled.size === 0 && this.kills === kills && this.stops === stops) this.#allSettled();
  }

  #handOut(): void {
    // A key that was left to workers that recover may have died before its flow began.
    if (this.#queue.length === 0) {
      const inHand = new Set(this.#slots.flatMap((slot) => [...slot.inHand]));
      this.#queue.push(...[...this.#unsettled].filter((key) => !inHand.has(key)));
    }
    for (const slot of this.#slots) {
      if (!slot.isReady || slot.isStopped || slot.worker.isOver) continue;
      const keys: string[] = [];
      while (slot.inHand.size < this.#options.concurrency) {
        const key = this.#queue.shift();
        if (key === undefined) break;
        slot.inHand.add(key);
        keys.push(key);
      }
      if (keys.length > 0) slot.worker.send({ type: "run", keys });
    }
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
  const { flows, kills, stops, paid, declined, rejected, held, heldWithPayment } = result;
  const { paidTwice, takenTwice, unsettled, violations, takeCalls, seconds } = result;
  return (
    `flows ${flows}, kills ${kills}, stops ${stops}, paid ${paid}, declined ${declined}, rejected ${rejected}, ` +
    `held ${held} (${heldWithPayment} of them paid), paid twice ${paidTwice}, taken twice ${takenTwice}, unsettled ${unsettled}, ` +
    `other broken laws ${violations.length}, calls of takeFunds ${takeCalls}, ${seconds.toFixed(1)} s`
  );
}

async function main(): Promise<number> {
  const options = scriptOptions({ flows: 1000, kills: 200, stops: -1, workers: 4, concurrency: 8, lease: 400 });
  const stops = options.stops === -1 ? Math.round(options.kills / 10) : options.stops;
  say(`seed ${options.seed}, journal ${options.kind}`);
  const result = await runKills({ ...options, stops, leaseMs: options.lease, onProgress: say });
  for (const [text, times] of result.stumbles) say(`  stumbled ${times} times: ${text}`);
  for (const violation of result.violations) say(`  ${violation}`);
  say(describe(result));
  const { paidTwice, takenTwice, unsettled, violations } = result;
  return paidTwice + takenTwice + unsettled + violations.length === 0 ? 0 : 1;
}

if (isScript(import.meta.url)) process.exitCode = await main();

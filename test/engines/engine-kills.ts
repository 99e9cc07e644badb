import { judge } from "../crash/laws.js";
import type { ServiceFault } from "../crash/service.js";
import { type Outcome, requestOf } from "../crash/worker-messages.js";
import { derivedSeed, seededRandom, weighted } from "../faults/seeded-random.js";
import { type EngineClient, openEngine } from "./engine-client.js";
import { type EngineFixtureOptions, openFixture } from "./engine-fixture.js";
import { type Kill, type Point, toReported } from "./engine-messages.js";
import { EngineWorkers } from "./engine-workers.js";

export interface EngineKillsOptions extends Pick<EngineFixtureOptions, "engine" | "postgresUrl" | "redisUrl"> {
  /** At least so many: where no worker could be killed in the middle of a step, there are more. */
  readonly flows: number;
  readonly kills: number;
  readonly seed: number;
}

/** All jobs must have ended so long after the last one was enqueued. */
const patienceMs = 120_000;

/** Runs flows in an engine whose workers are killed in the middle of its steps, and compares the outcomes with what really happened. */
export async function runEngineKills(options: EngineKillsOptions) {
  const startedMs = performance.now();
  const plan = new KillPlan(options.seed, options.kills);
  await using fixture = await openFixture({
    ...options,
    slowResponseMs: 80,
    slowCommitMs: () => 60,
    fault: (operation, key, attempt) => plan.fault(operation, key, attempt),
  });
  await using workers = await EngineWorkers.start(fixture.newWorker, 3);
  await using engine = await openEngine(options.engine, fixture.databaseUrl, options.redisUrl);
  await killWhileWorking(options, { plan, workers, engine });
  const lostJobs = await untilAllEnded(engine);
  await workers[Symbol.asyncDispose]();
  const outcomes = await fixture.audit(async (flow) => {
    const found: (Outcome | undefined)[] = [];
    for (const key of plan.keys) found.push(await flow.run(key, requestOf(key)).then(toReported, () => undefined));
    return found;
  });
  const bank = await fixture.ledger.entries();
  const { payments } = fixture.service;
  const verdict = judge({ keys: plan.keys, outcomes, told: workers.outcomes, payments, bank });
  const untold = outcomes.flatMap((outcome) =>
    outcome?.status === "held" && !workers.told.has(outcome.key) ? [`${outcome.key}: held, and nobody was told`] : [],
  );
  const violations = [...verdict.violations, ...workers.accidents, ...untold];
  const { killsAt, interrupted, stumbles } = workers;
  const seconds = (performance.now() - startedMs) / 1000;
  // Jobs that the engine gave up or did not end, or flows without an outcome if those are more.
  const forgotten = Math.max(lostJobs, verdict.unsettled);
  return { ...verdict, violations, killsAt, interrupted, stumbles, forgotten, seconds };
}

interface Run {
  readonly plan: KillPlan;
  readonly workers: EngineWorkers;
  readonly engine: EngineClient;
}

async function killWhileWorking({ flows, kills }: EngineKillsOptions, { plan, workers, engine }: Run): Promise<void> {
  const enqueue = async (keys: readonly string[]): Promise<void> => {
    for (const key of keys) {
      for (let times = plan.isRepeated(key) ? 2 : 1; times > 0; times -= 1) await engine.enqueue(key, requestOf(key));
    }
  };
  for (const kill of plan.kills) {
    const killed = workers.kill(kill).then(() => true);
    for (let isKilled = false; !isKilled; ) {
      const keys = plan.nextKeys(Math.max(2, Math.floor(flows / kills)), kill.point);
      await enqueue(keys);
      isKilled = await Promise.race([killed, workers.settled(keys).then(() => false)]);
    }
  }
  await enqueue(plan.nextKeys(Math.max(0, flows - plan.keys.length)));
}

/** Returns how many jobs were not completed. */
async function untilAllEnded(engine: EngineClient): Promise<number> {
  const end = performance.now() + patienceMs;
  for (;;) {
    const { open, failed } = await engine.jobs();
    if (open === 0 || performance.now() > end) return open + failed;
    await new Promise((resolve) => setTimeout(resolve, 200));
  }
}

/** Which workers are killed when, and what goes wrong at the service: all from one seed. */
class KillPlan {
  readonly kills: readonly Kill[];
  /** Every flow so far. */
  readonly keys: string[] = [];
  readonly #seed: number;
  /** Flows whose first response is lost, so that they have to be looked up. */
  readonly #lost = new Set<string>();

  constructor(seed: number, kills: number) {
    this.#seed = seed;
    const random = seededRandom(seed);
    this.kills = Array.from({ length: kills }, (_, index) => ({
      point: points[index % points.length] ?? "send",
      delayMs: 50 * random(),
    }));
  }

  /** New flows, which will pass through the point. */
  nextKeys(count: number, point?: Point): readonly string[] {
    const keys = Array.from({ length: count }, (_, index) => `order-${this.keys.length + index}`);
    if (point === "look") for (const key of keys) this.#lost.add(key);
    this.keys.push(...keys);
    return keys;
  }

  /** Whether the caller asks for this payment twice. */
  isRepeated(key: string): boolean {
    return this.#randomOf(`repeats ${key}`)() < 0.05;
  }

  fault(operation: string | undefined, key: string, attempt: number): ServiceFault {
    if (operation === "payments.create" && attempt === 1 && this.#lost.has(key)) return "lost";
    const faults = operation === "payments.create" ? paymentFaults : otherFaults;
    return weighted(this.#randomOf(`${operation} ${key} ${attempt}`), faults);
  }

  #randomOf(text: string): () => number {
    let seed = this.#seed;
    for (const character of text) seed = derivedSeed(seed, character.codePointAt(0) ?? 0);
    return seededRandom(seed);
  }
}

const points: readonly Point[] = ["take", "send", "look", "send"];

const paymentFaults: readonly (readonly [number, ServiceFault])[] = [
  [48, "none"],
  [20, "slow-response"],
  [20, "slow-commit"],
  [5, "lost"],
  [4, "unavailable-after"],
  [3, "refuse"],
];

const otherFaults: readonly (readonly [number, ServiceFault])[] = [
  [70, "none"],
  [26, "slow-response"],
  [2, "unavailable"],
  [2, "lost"],
];

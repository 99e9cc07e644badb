import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { CrossBorderClient } from "cross-border-payments";
import { PaymentFlow } from "cross-border-payments/flow";
import { PostgresJournal } from "cross-border-payments/journal/postgres";
import { onTestFinished } from "vitest";
import { startBank } from "../crash/bank.js";
import { serviceFaults } from "../crash/kills.js";
import { judge } from "../crash/laws.js";
import { startService } from "../crash/service.js";
import { toReported } from "../crash/worker-flow.js";
import { type Outcome, type Report, requestOf } from "../crash/worker-messages.js";
import { WorkerProcess } from "../crash/worker-process.js";
import { compilePrograms } from "../support/build-programs.js";
import { databaseInTest } from "../support/database.js";
import { until } from "../support/eventually.js";
import { openEngine } from "./engine-client.js";
import type { EngineName, EngineWorkerSettings } from "./engine-worker.js";

export interface EngineKillsOptions {
  readonly engine: EngineName;
  readonly redisUrl: string;
  /** At least so many of each. */
  readonly flows: number;
  readonly kills: number;
  readonly seed: number;
}

/** Where in its step a flow is when its worker is killed. */
const searched = "write:unknown:after";
const points = ["take:after", "dispatch:sent", searched, "write:claimed:after", "dispatch:response", "take:before"];

/** Runs flows in an engine whose workers are killed in the middle of its steps, and compares the outcomes with what really happened. */
export async function runEngineKills(options: EngineKillsOptions) {
  const { engine: name, redisUrl, seed } = options;
  const databaseUrl = await databaseInTest("engines");
  const faults = serviceFaults(seed);
  /** Flows whose first response is lost, so that their payments are searched for. */
  const lost = new Set<string>();
  await using service = await startService({
    slowResponseMs: 80,
    slowCommitMs: () => 60,
    fault: (operation, key, attempt) =>
      operation === "payments.create" && attempt === 1 && lost.has(key) ? "lost" : faults(operation, key, attempt),
  });
  await using bank = await startBank({ declines: () => false, fault: () => "none" });
  await using workers = new EngineWorkers(await compileWorker(), (index) => ({
    ...{ baseUrl: service.baseUrl, accessToken: service.accessToken, signingKey: service.signingKey },
    ...{ journal: { kind: "postgres", place: databaseUrl }, bankUrl: bank.url, leaseMs: 1_000, readBackDelayMs: 120 },
    ...{ engine: name, databaseUrl, redisUrl, executorId: `worker-${index}` },
  }));
  // The first one makes the engine's tables.
  for (const index of [0, 1, 2]) await workers.open(index);
  await using engine = await openEngine(name, databaseUrl, redisUrl);
  const keys: string[] = [];
  for (let round = 0; workers.kills < options.kills || keys.length < options.flows; round += 1) {
    const [first = "", ...others] = [0, 1, 2, 3].map((index) => `order-${4 * round + index}`);
    keys.push(first, ...others);
    const before = workers.kills;
    const point = points[round % points.length] ?? "";
    if (point === searched) lost.add(first);
    if (before < options.kills) workers.expectKill(point, first);
    // A caller may ask twice.
    for (const key of [first, ...others, ...(round % 5 === 0 ? others.slice(1) : [])]) {
      await engine.enqueue(key, requestOf(key));
    }
    await until(() => workers.kills > before || [first, ...others].every((key) => workers.settled.has(key)));
  }
  const { failed } = await until(
    () => engine.jobs(),
    ({ open }) => open === 0,
  );
  await workers[Symbol.asyncDispose]();
  const outcomes = await audit(databaseUrl, service.baseUrl, service.signingKey, keys);
  const verdict = judge({ keys, outcomes, told: workers.outcomes, payments: service.payments, bank: bank.entries });
  const untold = outcomes.flatMap((outcome) =>
    outcome?.status === "held" && !workers.told.has(outcome.key)
      ? [`${outcome.key}: held, and no operator was told`]
      : [],
  );
  const { kills, accidents } = workers;
  return {
    ...verdict,
    kills,
    failed,
    violations: [...verdict.violations, ...bank.violations, ...accidents, ...untold],
  };
}

async function compileWorker(): Promise<string> {
  // Below the project, so that Node finds the packages, which are not in the file.
  const folder = mkdtempSync(join("test", "built-programs-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  await compilePrograms(["test/engines/engine-worker.ts"], folder);
  return join(folder, "test/engines/engine-worker.js");
}

/** The processes in which the engine works, each of which is started again when it is killed. */
class EngineWorkers implements AsyncDisposable {
  /** Every outcome that a step had. */
  readonly outcomes: Outcome[] = [];
  readonly settled = new Set<string>();
  /** Flows that an operator was told of. */
  readonly told = new Set<string>();
  /** Workers that ended for another reason. */
  readonly accidents: string[] = [];
  kills = 0;
  readonly #script: string;
  readonly #settingsOf: (index: number) => EngineWorkerSettings;
  readonly #workers = new Map<number, WorkerProcess>();
  #isOver = false;

  constructor(script: string, settingsOf: (index: number) => EngineWorkerSettings) {
    this.#script = script;
    this.#settingsOf = settingsOf;
  }

  async open(index: number): Promise<void> {
    const start = { node: process.execPath, script: this.#script, settings: this.#settingsOf(index) };
    const worker = new WorkerProcess({ ...start, onReport: (report) => this.#hear(report) });
    this.#workers.set(index, worker);
    void worker.ended.then((error) => {
      if (this.#isOver) return;
      if (error === undefined) this.kills += 1;
      else this.accidents.push(error);
      void this.open(index).catch(() => {});
    });
    await worker.ready();
  }

  /** Kills whichever worker gets there. */
  expectKill(point: string, key: string): void {
    for (const worker of this.#workers.values()) worker.send({ type: "expect", trouble: { point, key, act: "kill" } });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isOver = true;
    await Promise.all([...this.#workers.values()].map((worker) => worker[Symbol.asyncDispose]()));
  }

  #hear(report: Report): void {
    if (report.type === "told") this.told.add(report.key);
    if (report.type !== "settled") return;
    this.outcomes.push(report.outcome);
    this.settled.add(report.outcome.key);
  }
}

/** What the journal says of each key. */
async function audit(databaseUrl: string, baseUrl: string, signingKey: string, keys: readonly string[]) {
  const forbidden = async (): Promise<never> => {
    throw new Error("only the journal is read");
  };
  await using client = new CrossBorderClient({ baseUrl, signingKey, auth: { accessToken: forbidden } });
  const journal = await PostgresJournal.open(databaseUrl);
  try {
    const flow = new PaymentFlow({ client, journal, takeFunds: forbidden, releaseFunds: forbidden });
    const found = await Promise.all(keys.map((key) => flow.status(key)));
    return found.map((status) => status?.outcome && toReported(status.outcome));
  } finally {
    await journal.close();
  }
}

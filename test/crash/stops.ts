/**
 * A process is stopped at each named point for longer than its lease, while another one takes its flow over, and goes on then:
 *
 *     npx tsx test/crash/stops.ts --times 10 --journal sqlite
 */
import { setTimeout as pause } from "node:timers/promises";
import { type CrashCase, stopCases, surroundings } from "./crash-cases.js";
import { CrashFixture } from "./crash-fixture.js";
import type { JournalChoice } from "./journal-place.js";
import { describeLaws, isKept, type Verdict } from "./laws.js";
import { isScript, say, scriptOptions } from "./script-options.js";
import type { WorkerProcess } from "./worker-process.js";

export interface StopsOptions extends JournalChoice {
  /** How often a process is stopped at each point. */
  readonly times: number;
  readonly cases?: readonly CrashCase[];
  /** Pairs of processes at a time, each with a journal of its own. */
  readonly lanes: number;
  readonly leaseMs: number;
}

export interface StopsResult extends Verdict {
  readonly points: number;
  readonly stops: number;
  /** Cases whose flow ended in another way than expected, and how. That breaks no law. */
  readonly unexpected: ReadonlyMap<CrashCase, string>;
  readonly seconds: number;
}

export async function runStops(options: StopsOptions): Promise<StopsResult> {
  const startedMs = performance.now();
  const { cases = stopCases, times, leaseMs } = options;
  const byKey = new Map<string, CrashCase>();
  for (let time = 1; time <= times; time += 1) {
    for (const one of cases) byKey.set(`${one.name} #${time}`, one);
  }
  await using fixture = await CrashFixture.open({
    ...options,
    readBackDelayMs: 50,
    ...surroundings((key) => byKey.get(key), leaseMs),
  });
  const lanes = Array.from({ length: options.lanes }, (): string[] => []);
  for (const [index, key] of [...byKey.keys()].entries()) lanes[index % lanes.length]?.push(key);
  const problems: string[] = [];
  const unexpected = new Map<CrashCase, string>();
  let stops = 0;
  const runLane = async (keys: readonly string[], lane: number): Promise<void> => {
    await using owner = await fixture.newWorker({ lane }).ready();
    await using heir = await fixture.newWorker({ lane }).ready();
    heir.send({ type: "keep-recovering", everyMs: leaseMs / 4 });
    for (const key of keys) {
      const one = byKey.get(key);
      if (one === undefined) continue;
      const result = await stopAt({ owner, heir }, key, one);
      stops += 1;
      if ("problem" in result) problems.push(`${key}: ${result.problem}`);
      else if ("missed" in result) unexpected.set(one, `${key}: ${result.missed}`);
      else if (isLate(fixture, key, one, result.status)) problems.push(`${key}: sent after its time, and held`);
      else if (!one.ends.includes(result.status)) unexpected.set(one, `${key}: ended as ${result.status}`);
    }
  };
  await Promise.all(lanes.map(runLane));
  const verdict = await fixture.judge(...lanes);
  const seconds = (performance.now() - startedMs) / 1000;
  const violations = [...verdict.violations, ...problems];
  return { ...verdict, violations, points: cases.length, stops, unexpected, seconds };
}

/** Only a process that was stopped after its last check can send a payment when its time is over. */
function isLate({ service }: CrashFixture, key: string, { crashes }: CrashCase, status: string): boolean {
  const mayBeLate = crashes.some(({ point }) => point === "dispatch:after-check" || point === "dispatch:sent");
  return status === "held" && !mayBeLate && service.payments.some(({ memo }) => memo === key);
}

interface Pair {
  /** Is stopped. */
  readonly owner: WorkerProcess;
  /** Recovers what the owner leaves behind. */
  readonly heir: WorkerProcess;
}

/** How the flow ended, or why the owner was not stopped as it should have been. */
type Stopped =
  | { readonly status: CrashCase["ends"][number] }
  | { readonly missed: string }
  | { readonly problem: string };

async function stopAt({ owner, heir }: Pair, key: string, { crashes, way = "run" }: CrashCase): Promise<Stopped> {
  const [{ point, nth = 1 } = { point: "" }] = crashes;
  const settles = (worker: WorkerProcess) =>
    worker.until((report) => (report.type === "settled" && report.outcome.key === key ? report.outcome : undefined));
  const continued = owner.until((report) =>
    report.type === "continued" && report.trouble.key === key ? true : undefined,
  );
  const inherited = settles(heir);
  const ended = settles(owner);
  owner.send({ type: "expect", trouble: { point, key, nth, act: "stop" } });
  owner.send({ type: "do", tasks: [{ key, way }] });
  const isInherited = await soon(Promise.race([inherited.then(() => true), ended.then(() => false)]));
  owner.signal("SIGCONT");
  const outcome = await soon(ended);
  if (outcome === undefined) return { problem: `not settled after a stop at ${point}` };
  const wasStopped = await Promise.race([continued, pause(0).then(() => false)]);
  if (!wasStopped) return { missed: `was not stopped at ${point}` };
  if (isInherited !== true) return { missed: `nobody took it over while its owner was stopped at ${point}` };
  return { status: outcome.status };
}

/** `undefined` when that takes too long. */
async function soon<T>(work: Promise<T>): Promise<T | undefined> {
  let timer: NodeJS.Timeout | undefined;
  const late = new Promise<undefined>((resolve) => {
    timer = setTimeout(resolve, 20_000, undefined);
  });
  try {
    return await Promise.race([work, late]);
  } finally {
    clearTimeout(timer);
  }
}

export function describeStops(result: StopsResult): string {
  const { points, stops, unexpected, seconds } = result;
  const ends = `ended unexpectedly ${unexpected.size}, ${seconds.toFixed(1)} s`;
  return `points ${points}, stops ${stops}, ${describeLaws(result)}, ${ends}`;
}

async function main(): Promise<number> {
  const options = scriptOptions({ times: 10, lanes: 8, lease: 600 });
  say(`journal ${options.kind}`);
  const result = await runStops({ ...options, leaseMs: options.lease });
  for (const violation of result.violations) say(`  ${violation}`);
  for (const text of result.unexpected.values()) say(`  ${text}`);
  say(describeStops(result));
  return isKept(result) ? 0 : 1;
}

if (isScript(import.meta.url)) process.exitCode = await main();

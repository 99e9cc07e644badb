/**
 * A process is stopped at each named point for longer than its lease, while another one takes its flow over, and goes on then:
 *
 *     npx tsx test/crash/stops.ts --times 10 --journal sqlite
 */
import { setTimeout as pause } from "node:timers/promises";
import { type CrashCase, dealOut, stopCases, surroundings } from "./crash-cases.js";
import { CrashFixture } from "./crash-fixture.js";
import type { JournalChoice } from "./journal-place.js";
import { describeLaws, sayAll, type Verdict } from "./laws.js";
import { isScript, say, scriptOptions } from "./script-options.js";
import { soon, type WorkerProcess } from "./worker-process.js";

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
  const { cases = stopCases, leaseMs } = options;
  const { byKey, lanes } = dealOut(cases, options);
  await using fixture = await CrashFixture.open({
    ...options,
    readBackDelayMs: 50,
    ...surroundings((key) => byKey.get(key), leaseMs),
  });
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
  const continued = owner.until((report) =>
    report.type === "continued" && report.trouble.key === key ? true : undefined,
  );
  const inherited = heir.settled(key);
  const ended = owner.settled(key);
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

export function describeStops(result: StopsResult): string {
  const { points, stops, unexpected, seconds } = result;
  const ends = [`ended unexpectedly ${unexpected.size}`, ...unexpected.values()].join("; ");
  return `points ${points}, stops ${stops}, ${describeLaws(result)}, ${ends}, ${seconds.toFixed(1)} s`;
}

async function main(): Promise<number> {
  const options = scriptOptions({ times: 10, lanes: 8, lease: 600 });
  say(`journal ${options.kind}`);
  const result = await runStops({ ...options, leaseMs: options.lease });
  return sayAll(result, describeStops(result));
}

if (isScript(import.meta.url)) process.exitCode = await main();

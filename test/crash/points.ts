/**
 * A process dies at each named point, and another one recovers its flow:
 *
 *     npx tsx test/crash/points.ts --times 50 --journal sqlite
 */
import { setTimeout as pause } from "node:timers/promises";
import { type Crash, type CrashCase, crashCases, surroundings } from "./crash-cases.js";
import { CrashFixture } from "./crash-fixture.js";
import type { JournalChoice } from "./journal-place.js";
import { describeLaws, sayAll, type Verdict } from "./laws.js";
import { isScript, say, scriptOptions } from "./script-options.js";
import type { Task } from "./worker-messages.js";

export interface PointsOptions extends JournalChoice {
  /** How often a process dies at each point. */
  readonly times: number;
  readonly cases?: readonly CrashCase[];
  /** Processes at a time, each with a journal of its own, so that the intended one takes a flow over. */
  readonly lanes: number;
  readonly leaseMs: number;
  readonly onProgress?: (line: string) => void;
}

export interface PointsResult extends Verdict {
  readonly points: number;
  readonly kills: number;
  /** Cases whose flow ended in another way than expected, and what is known about it. That breaks no law. */
  readonly unexpected: ReadonlyMap<CrashCase, string>;
  readonly seconds: number;
}

export async function runPoints(options: PointsOptions): Promise<PointsResult> {
  const startedMs = performance.now();
  const cases = options.cases ?? crashCases;
  const byKey = new Map<string, CrashCase>();
  await using fixture = await CrashFixture.open({
    ...options,
    readBackDelayMs: 50,
    ...surroundings((key) => byKey.get(key), options.leaseMs),
  });
  const lanes = Array.from({ length: options.lanes }, (): string[] => []);
  const problems: string[] = [];
  const unexpected = new Map<CrashCase, string>();
  let kills = 0;
  const runLane = async (keys: string[], lane: number, time: number): Promise<void> => {
    const round = new Map<string, CrashCase>();
    for (const [index, one] of cases.entries()) {
      // Each time in another lane, among other cases.
      if ((index + time) % lanes.length === lane) round.set(`${one.name} #${time}`, one);
    }
    for (const [key, one] of round) {
      byKey.set(key, one);
      keys.push(key);
      for (const each of one.crashes) {
        kills += 1;
        const missed = await dieAt(
          fixture,
          lane,
          taskOf(key, one),
          { ...each, quoteTtlMs: one.quoteTtlMs },
          options.leaseMs,
        );
        if (missed !== undefined) unexpected.set(one, `${key}: ${missed}`);
      }
    }
    const recovery = await recoverAll(fixture, lane, round, options.leaseMs);
    problems.push(...recovery.problems);
    for (const [one, text] of recovery.unexpected) unexpected.set(one, text);
  };
  for (let time = 1; time <= options.times; time += 1) {
    await Promise.all(lanes.map((keys, lane) => runLane(keys, lane, time)));
    options.onProgress?.(`  time ${time}: ${kills} kills so far`);
  }
  const verdict = await fixture.judge(...lanes);
  const violations = [...verdict.violations, ...problems];
  const seconds = (performance.now() - startedMs) / 1000;
  return { ...verdict, violations, points: cases.length, kills, unexpected, seconds };
}

function taskOf(key: string, { way = "run" }: CrashCase): Task {
  return { key, way };
}

/** Returns what went wrong if the process did not die there. */
async function dieAt(
  fixture: CrashFixture,
  lane: number,
  task: Task,
  { point, nth = 1, by, quoteTtlMs }: Crash & { readonly quoteTtlMs: number | undefined },
  leaseMs: number,
): Promise<string | undefined> {
  let giveUp: (why: string) => void = () => {};
  const givenUp = new Promise<string>((resolve) => {
    giveUp = resolve;
  });
  const { key } = task;
  const trouble = { point, key, nth, act: "kill" } as const;
  const settings = { lane, troubles: [trouble], ...(quoteTtlMs === undefined ? undefined : { quoteTtlMs }) };
  await using worker = fixture.newWorker(settings, (report) => {
    if (report.type === "refused") giveUp(`${report.task.way} is refused with ${report.code}`);
    // What follows the outcome has its points too.
    if (report.type === "settled" && report.outcome.key === key) {
      setTimeout(giveUp, 1_500, `settled without getting to ${point}`);
    }
  });
  await worker.ready();
  worker.send(by === "run" ? { type: "do", tasks: [task] } : { type: "keep-recovering", everyMs: leaseMs / 4 });
  const late = setTimeout(giveUp, 15_000, `never got to ${point}`);
  const end = await Promise.race([worker.ended, givenUp]);
  clearTimeout(late);
  return end;
}

/** A new process recovers what is abandoned, and then does the task of every key. */
async function recoverAll(
  fixture: CrashFixture,
  lane: number,
  round: ReadonlyMap<string, CrashCase>,
  leaseMs: number,
): Promise<{ readonly problems: readonly string[]; readonly unexpected: ReadonlyMap<CrashCase, string> }> {
  const open = new Set(round.keys());
  const unexpected = new Map<CrashCase, string>();
  const stumbles: string[] = [];
  let allSettled = () => {};
  const settled = new Promise<void>((resolve) => {
    allSettled = resolve;
  });
  await using worker = fixture.newWorker({ lane }, (report) => {
    if (report.type === "refused")
      stumbles.push(`${report.task.key} ${report.task.way} is refused with ${report.code}`);
    if (report.type === "stumbled") stumbles.push(`${report.key} ${report.error}`.trim());
    if (report.type !== "settled" || report.by !== "run") return;
    const { key, status, reason = "" } = report.outcome;
    const one = round.get(key);
    if (one !== undefined && !one.ends.includes(status)) {
      const before = stumbles.filter((stumble) => stumble.includes(key));
      unexpected.set(one, [`${key}: ended as ${status}`, reason, ...before].join("; "));
    }
    open.delete(key);
    if (open.size === 0) allSettled();
  });
  await worker.ready();
  worker.send({ type: "keep-recovering", everyMs: leaseMs / 4 });
  await pause(leaseMs * 1.5);
  worker.send({ type: "do", tasks: [...round].map(([key, one]) => taskOf(key, one)) });
  const late = setTimeout(allSettled, 30_000);
  await Promise.race([settled, worker.ended]);
  clearTimeout(late);
  return { problems: [...open].map((key) => `${key}: not recovered`), unexpected };
}

export function describePoints(result: PointsResult): string {
  const { points, kills, unexpected, seconds } = result;
  const ends = `ended unexpectedly ${unexpected.size}, ${seconds.toFixed(1)} s`;
  return `points ${points}, kills ${kills}, ${describeLaws(result)}, ${ends}`;
}

async function main(): Promise<number> {
  const options = scriptOptions({ times: 50, lanes: 16, lease: 2000 });
  say(`journal ${options.kind}`);
  const result = await runPoints({ ...options, leaseMs: options.lease, onProgress: say });
  return sayAll(result, describePoints(result));
}

if (isScript(import.meta.url)) process.exitCode = await main();

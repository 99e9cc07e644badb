/**
 * A process dies at a named point, the wall clock is set back or forward by hours, and another process has to end its flow within a few
 * leases:
 *
 *     npx tsx test/crash/clocks.ts --times 10 --journal sqlite
 *     npx tsx test/crash/clocks.ts --times 10 --journal postgres
 */
import { setTimeout as pause } from "node:timers/promises";
import { type CrashCase, crashCases, surroundings } from "./crash-cases.js";
import { CrashFixture } from "./crash-fixture.js";
import type { JournalChoice } from "./journal-place.js";
import { describeLaws, isKept, type Verdict } from "./laws.js";
import { MachineClock } from "./machine-clock.js";
import { isScript, say, scriptOptions } from "./script-options.js";

/** SQLite reads the clock of the machine that its process runs on; PostgreSQL, that of the server's. */
export type SetClock = "journal" | "workers";

export interface ClocksOptions extends JournalChoice {
  readonly clock: SetClock;
  /** From the real time. */
  readonly jumpMs: number;
  readonly times: number;
  readonly lanes: number;
  readonly leaseMs: number;
  /** How long after the clock was set a flow may take. */
  readonly patienceMs: number;
}

export interface ClocksResult extends Verdict {
  /** The longest that a flow took after the clock was set, in milliseconds. */
  readonly longestMs: number;
  /** Flows that ended in another way than expected. That breaks no law. */
  readonly unexpected: readonly string[];
  readonly seconds: number;
}

/** Where an owner has the lease, and dies. */
const points = new Set([
  "plain begin:funds-requested:after",
  "plain take:after",
  "plain write:claimed:after",
  "plain dispatch:sent",
  "plain dispatch:response",
  "plain write:paid:before",
  "quote-confirm replace-quote:funds-requested:after",
  "quote-confirm take:after",
  "paymentFault-lost write:unknown:after",
  "paymentFault-refuse give-back:after",
]);

export async function runClocks(options: ClocksOptions): Promise<ClocksResult> {
  const startedMs = performance.now();
  const { kind, clock: which, jumpMs, leaseMs } = options;
  const cases = crashCases.filter(({ name }) => points.has(name));
  const byKey = new Map<string, CrashCase>();
  for (let time = 1; time <= options.times; time += 1) {
    for (const one of cases) byKey.set(`${one.name} #${time}`, one);
  }
  await using clock = await MachineClock.open();
  const isServers = kind === "postgres" && which === "journal";
  await using fixture = await CrashFixture.open({
    ...options,
    readBackDelayMs: 50,
    ...surroundings((key) => byKey.get(key), leaseMs),
    clock: isServers ? undefined : clock,
    ...(isServers ? { database: { environment: clock.environment } } : undefined),
  });
  const lanes = Array.from({ length: options.lanes }, (): string[] => []);
  for (const [index, key] of [...byKey.keys()].entries()) lanes[index % lanes.length]?.push(key);
  const missed = await Promise.all(lanes.map((keys, lane) => dieAll(fixture, lane, keys, byKey)));
  await clock.setBy(jumpMs);
  const ends = await Promise.all(lanes.map((keys, lane) => endAll(fixture, lane, keys, options)));
  const verdict = await fixture.judge(...lanes);
  const unexpected = ends.flatMap(({ statuses }) =>
    [...statuses]
      .filter(([key, status]) => byKey.get(key)?.ends.includes(status) !== true)
      .map(([key, s]) => `${key}: ${s}`),
  );
  return {
    ...verdict,
    violations: [...verdict.violations, ...missed.flat()],
    longestMs: Math.max(...ends.map(({ longestMs }) => longestMs)),
    unexpected,
    seconds: (performance.now() - startedMs) / 1000,
  };
}

/** Each flow in a process of its own, which dies. */
async function dieAll(
  fixture: CrashFixture,
  lane: number,
  keys: readonly string[],
  byKey: ReadonlyMap<string, CrashCase>,
): Promise<readonly string[]> {
  const problems: string[] = [];
  for (const key of keys) {
    const { crashes: [crash] = [], way = "run" } = byKey.get(key) ?? {};
    const { point = "", nth = 1 } = crash ?? {};
    await using owner = await fixture.newWorker({ lane, troubles: [{ point, key, nth, act: "kill" }] }).ready();
    owner.send({ type: "do", tasks: [{ key, way }] });
    const isDead = await Promise.race([owner.ended.then(() => true), pause(15_000).then(() => false)]);
    if (!isDead) problems.push(`${key}: never got to ${point}`);
  }
  return problems;
}

interface Ends {
  readonly statuses: ReadonlyMap<string, CrashCase["ends"][number]>;
  readonly longestMs: number;
}

/** By a process that works on what is abandoned, or by the sender's asking again, until all have an outcome or it takes too long. */
async function endAll(
  fixture: CrashFixture,
  lane: number,
  keys: readonly string[],
  { leaseMs, patienceMs }: ClocksOptions,
): Promise<Ends> {
  await using heir = await fixture.newWorker({ lane }).ready();
  const startedMs = performance.now();
  if (lane % 2 === 0) heir.send({ type: "work", everyMs: leaseMs / 4 });
  else heir.send({ type: "do", tasks: keys.map((key) => ({ key, way: "run" })) });
  const statuses = new Map<string, CrashCase["ends"][number]>();
  let longestMs = 0;
  while (statuses.size < keys.length && performance.now() - startedMs < patienceMs) {
    await pause(50);
    const outcomes = await heir.audit(fixture.journal(lane), keys);
    for (const [index, key] of keys.entries()) {
      const status = outcomes[index]?.status;
      if (status === undefined || statuses.has(key)) continue;
      statuses.set(key, status);
      longestMs = performance.now() - startedMs;
    }
  }
  return { statuses, longestMs };
}

export function describeClocks(result: ClocksResult): string {
  const { longestMs, unexpected, seconds } = result;
  const ends = `at most ${Math.round(longestMs)} ms after the clock was set, ended unexpectedly ${unexpected.length}`;
  return `${describeLaws(result)}, ${ends}, ${seconds.toFixed(1)} s`;
}

export const jumps: readonly (readonly [clock: SetClock, jumpMs: number])[] = [
  ["journal", -2 * 3_600_000],
  ["journal", 2 * 3_600_000],
  ["workers", -2 * 3_600_000],
  ["workers", 2 * 3_600_000],
];

async function main(): Promise<number> {
  const { kind, node, ...options } = scriptOptions({ times: 4, lanes: 6, lease: 1000, patience: 20_000 });
  let isRight = true;
  for (const [clock, jumpMs] of jumps) {
    // A SQLite file has no clock of its own.
    if (kind === "sqlite" && clock === "workers") continue;
    const times = { leaseMs: options.lease, patienceMs: options.patience };
    const result = await runClocks({ ...options, ...times, kind, node, clock, jumpMs });
    for (const violation of result.violations) say(`  ${violation}`);
    for (const text of result.unexpected) say(`  ${text}`);
    say(`${kind}, the clock of the ${clock} set by ${jumpMs / 3_600_000} h: ${describeClocks(result)}`);
    isRight &&= isKept(result);
  }
  return isRight ? 0 : 1;
}

if (isScript(import.meta.url)) process.exitCode = await main();

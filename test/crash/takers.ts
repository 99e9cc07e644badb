/**
 * Processes that live for less time than a flow has to wait, one after the other, as functions of a cloud do. Sooner or later each flow is
 * settled, or an operator is told of it:
 *
 *     npx tsx test/crash/takers.ts --flows 10 --lives 30 --journal sqlite
 *     npx tsx test/crash/takers.ts --life 8000 --pause 60000 --lease 30000 --read-back 10000 --lives 15 --flows 10
 *
 * The second one is a function of 8 s, once a minute, with the flow's own defaults. With `--set-back 7200000` the clock is set back by two
 * hours after the first life.
 */
import { setTimeout as pause } from "node:timers/promises";
import { type CrashCase, surroundings } from "./crash-cases.js";
import { CrashFixture } from "./crash-fixture.js";
import type { JournalChoice } from "./journal-place.js";
import { describeLaws, isKept, type Verdict } from "./laws.js";
import { MachineClock } from "./machine-clock.js";
import { isScript, say, scriptOptions } from "./script-options.js";

export interface TakersOptions extends JournalChoice {
  /** Of each kind of trouble. */
  readonly flows: number;
  /** How many processes live at most. */
  readonly lives: number;
  readonly lifeMs: number;
  /** Between two lives. */
  readonly pauseMs: number;
  readonly leaseMs: number;
  readonly readBackDelayMs: number;
  /** Every second process ends in order, and the others are killed; or all are killed. */
  readonly ends: "in order or killed" | "killed";
  /** By how much the journal's clock is set back after the first life. Default: not at all. */
  readonly setBackMs?: number;
  readonly onProgress?: (line: string) => void;
}

export interface TakersResult extends Verdict {
  /** How many processes it took until each flow was settled or listed. */
  readonly lived: number;
  /** Flows without an outcome of which an operator is told. */
  readonly listed: number;
  /** Flows without an outcome of which nobody is told. */
  readonly forgotten: readonly string[];
  readonly seconds: number;
}

/** What stops a flow, so that something has to be waited for. */
const troubles: Readonly<Record<string, Partial<CrashCase>>> = {
  "lost request": { paymentFault: "reset" },
  "lost response": { paymentFault: "lost" },
  refused: { paymentFault: "refuse" },
  throttled: { firstPaymentFault: "throttle" },
  "bank that fails once": { firstBankFault: "unavailable" },
};

export async function runTakers(options: TakersOptions): Promise<TakersResult> {
  const startedMs = performance.now();
  const { leaseMs, setBackMs } = options;
  const byKey = new Map<string, CrashCase>();
  for (const [name, trouble] of Object.entries(troubles)) {
    for (let index = 1; index <= options.flows; index += 1) {
      byKey.set(`${name} #${index}`, { name, crashes: [], ends: [], ...trouble });
    }
  }
  await using clock = setBackMs === undefined ? undefined : await MachineClock.open();
  await using fixture = await CrashFixture.open({
    ...options,
    ...surroundings((key) => byKey.get(key), leaseMs),
    ...(clock === undefined ? undefined : { clock, database: { environment: clock.environment } }),
  });
  const keys = [...byKey.keys()];
  let left: Left = { open: keys, forgotten: keys };
  let lived = 0;
  while (left.forgotten.length > 0 && lived < options.lives) {
    await live(fixture, options, lived === 0 ? keys : [], lived);
    lived += 1;
    if (lived === 1) await clock?.setBy(-(setBackMs ?? 0));
    left = await leftOf(fixture, keys);
    options.onProgress?.(
      `  life ${lived}: without an outcome ${left.open.length}, not listed ${left.forgotten.length}`,
    );
    await pause(options.pauseMs);
  }
  const verdict = await fixture.judge(keys);
  const { open, forgotten } = left;
  const seconds = (performance.now() - startedMs) / 1000;
  // What an operator is told of is settled by the operator.
  return { ...verdict, unsettled: forgotten.length, lived, listed: open.length - forgotten.length, forgotten, seconds };
}

/** One process, from its start to its end. */
async function live(
  fixture: CrashFixture,
  { lifeMs, ends }: TakersOptions,
  begun: readonly string[],
  nth: number,
): Promise<void> {
  await using taker = await fixture.newWorker().ready();
  const ended = pause(lifeMs);
  taker.send({ type: "do", tasks: begun.map((key) => ({ key, way: "run" })), once: true });
  taker.send({ type: "work", everyMs: Math.max(50, lifeMs / 20) });
  await Promise.race([ended, taker.ended]);
  if (ends === "killed" || nth % 2 === 1) return;
  taker.send({ type: "close" });
  // A function that does not end in order is ended.
  await Promise.race([taker.ended, pause(lifeMs)]);
}

interface Left {
  readonly open: readonly string[];
  readonly forgotten: readonly string[];
}

async function leftOf(fixture: CrashFixture, keys: readonly string[]): Promise<Left> {
  await using auditor = await fixture.newWorker().ready();
  const outcomes = await auditor.audit(fixture.journal(), keys);
  const listed = new Set(await auditor.listHeld(fixture.journal()));
  const open = keys.filter((_, index) => outcomes[index] === undefined);
  return { open, forgotten: open.filter((key) => !listed.has(key)) };
}

export function describeTakers(result: TakersResult): string {
  const { lived, listed, forgotten, seconds } = result;
  return `lives ${lived}, ${describeLaws(result)}, listed ${listed}, forgotten ${forgotten.length}, ${seconds.toFixed(1)} s`;
}

async function main(): Promise<number> {
  const options = scriptOptions({
    flows: 5,
    lives: 15,
    life: 1000,
    pause: 700,
    lease: 600,
    "read-back": 1500,
    "set-back": 0,
  });
  say(`journal ${options.kind}`);
  const result = await runTakers({
    ...options,
    lifeMs: options.life,
    pauseMs: options.pause,
    leaseMs: options.lease,
    readBackDelayMs: options["read-back"],
    ends: "in order or killed",
    ...(options["set-back"] === 0 ? undefined : { setBackMs: options["set-back"] }),
    onProgress: say,
  });
  for (const violation of result.violations) say(`  ${violation}`);
  for (const key of result.forgotten) say(`  ${key}: has no outcome, and nobody is told`);
  say(describeTakers(result));
  return isKept(result) ? 0 : 1;
}

if (isScript(import.meta.url)) process.exitCode = await main();

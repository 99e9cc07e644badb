/**
 * The disk fails at each write of the journal, once (EIO) and for as often as the flow tries (ENOSPC), with nothing stored and with all of
 * it stored:
 *
 *     npx tsx test/crash/failing-writes.ts --journal sqlite
 */

import { deferred } from "../support/deferred.js";
import { type CrashCase, crashCases, surroundings } from "./crash-cases.js";
import { CrashFixture } from "./crash-fixture.js";
import type { JournalChoice } from "./journal-place.js";
import { describeLaws, sayAll, type Verdict } from "./laws.js";
import { isScript, say, scriptOptions } from "./script-options.js";
import type { ServiceFault } from "./service.js";
import type { Task, Trouble } from "./worker-messages.js";

export interface FailingWritesOptions extends JournalChoice {
  readonly leaseMs: number;
}

export interface FailingWritesResult extends Verdict {
  /** Flows whose callers saw an error. What fails once is written again. */
  readonly errors: readonly string[];
  /** Flows whose callers have to see one: those whose write keeps failing, and those that the bank stops. */
  readonly expectedErrors: readonly string[];
}

interface Trial {
  readonly trouble: Trouble;
  readonly case: CrashCase;
}

export async function runFailingWrites(options: FailingWritesOptions): Promise<FailingWritesResult> {
  const all = trials();
  await using fixture = await CrashFixture.open({
    ...options,
    readBackDelayMs: 50,
    ...surroundings((key) => all.get(key)?.case, options.leaseMs),
  });
  const keys = [...all.keys()];
  const errors = await runAllOnce(fixture, all);
  const problems = await runAllAgain(fixture, all);
  const verdict = await fixture.judge(keys);
  const expectedErrors = [...all].filter(([, trial]) => isLoud(trial)).map(([key]) => key);
  return { ...verdict, violations: [...verdict.violations, ...problems], errors, expectedErrors };
}

function trials(): ReadonlyMap<string, Trial> {
  const all = new Map<string, Trial>();
  for (const one of crashCases) {
    const [crash, ...more] = one.crashes;
    if (crash === undefined || more.length > 0) continue;
    const { point, nth = 1 } = crash;
    if (one.way === "quote-twice" || !isWrite.test(point)) continue;
    for (const [act, times] of [
      ["EIO", 1],
      ["ENOSPC", tries],
    ] as const) {
      const key = `${one.name} ${act}`;
      all.set(key, { trouble: { point, key, nth, act, times }, case: one });
    }
  }
  return all;
}

const isWrite = /^(?:begin:[a-z-]+|replace-quote:[a-z-]+|write:[a-z-]+|renew|release):(?:before|after)$/;

/** How often a flow tries to write before it gives up. */
const tries = 3;

/** The heartbeat and the end of a lease fail silently. */
function isLoud({ trouble: { point, times }, case: { firstBankFault } }: Trial): boolean {
  return firstBankFault !== undefined || (times === tries && !/^(?:renew|release)/.test(point));
}

/** A write that failed once is tried again: the flow may go on as if nothing had happened. */
function endsOf({ ends, way, declined, intentFault, paymentFault = "none" }: CrashCase): CrashCase["ends"] {
  const untroubled = {
    none: "paid",
    lost: "paid",
    reset: "held",
    refuse: "rejected",
  } as const satisfies Partial<Record<ServiceFault, CrashCase["ends"][number]>>;
  if (declined === true || way === "quote-cancel") return [...ends, "declined"];
  if (intentFault === "refuse") return [...ends, "rejected"];
  return [...ends, Reflect.get(untroubled, paymentFault) ?? "paid"];
}

function tasksOf(all: ReadonlyMap<string, Trial>): Task[] {
  return [...all].map(
    ([
      key,
      {
        case: { way = "run" },
      },
    ]) => ({ key, way }),
  );
}

/** In the process whose disk fails. */
async function runAllOnce(fixture: CrashFixture, all: ReadonlyMap<string, Trial>): Promise<string[]> {
  const errors: string[] = [];
  let told = 0;
  const { promise: allTold, resolve: done } = deferred();
  const troubles = [...all.values()].map(({ trouble }) => trouble);
  await using worker = fixture.newWorker({ troubles }, (report) => {
    if (report.type === "stumbled") errors.push(report.key);
    if (report.type === "stumbled" || report.type === "settled") told += 1;
    if (told === all.size) done();
  });
  await worker.ready();
  worker.send({ type: "do", tasks: tasksOf(all), once: true });
  await Promise.race([allTold, worker.ended]);
  return errors;
}

/** In another process, whose disk works. */
async function runAllAgain(fixture: CrashFixture, all: ReadonlyMap<string, Trial>): Promise<string[]> {
  const open = new Set(all.keys());
  const problems: string[] = [];
  const { promise: allSettled, resolve: done } = deferred();
  await using worker = fixture.newWorker({}, (report) => {
    if (report.type !== "settled") return;
    const { key, status, reason = "" } = report.outcome;
    const ends = all.get(key)?.case;
    if (ends === undefined || !endsOf(ends).includes(status)) problems.push(`${key}: ended as ${status} ${reason}`);
    open.delete(key);
    if (open.size === 0) done();
  });
  await worker.ready();
  worker.send({ type: "do", tasks: tasksOf(all) });
  const late = setTimeout(done, 30_000);
  await Promise.race([allSettled, worker.ended]);
  clearTimeout(late);
  return [...problems, ...[...open].map((key) => `${key}: not settled`)];
}

export function describeFailingWrites(result: FailingWritesResult): string {
  return `failing writes: ${describeLaws(result)}, errors thrown ${result.errors.length}`;
}

async function main(): Promise<number> {
  const options = scriptOptions({ lease: 5000 });
  say(`journal ${options.kind}`);
  const result = await runFailingWrites({ ...options, leaseMs: options.lease });
  return sayAll(result, describeFailingWrites(result));
}

if (isScript(import.meta.url)) process.exitCode = await main();

/**
 * The disk fails at each write of the journal, with EIO and with ENOSPC, once with nothing stored and once with all of it stored:
 *
 *     npx tsx test/crash/failing-writes.ts --journal sqlite
 */
import { type CrashCase, crashCases, surroundings } from "./crash-cases.js";
import { CrashFixture } from "./crash-fixture.js";
import type { JournalChoice } from "./journal-place.js";
import type { Verdict } from "./laws.js";
import { isScript, say, scriptOptions } from "./script-options.js";
import type { ServiceFault } from "./service.js";
import type { Trouble } from "./worker-messages.js";

export interface FailingWritesOptions extends JournalChoice {
  readonly leaseMs: number;
}

export interface FailingWritesResult extends Verdict {
  /** Errors that the callers of `run` saw. What fails once is written again. */
  readonly errors: number;
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
    ...surroundings((key) => all.get(key)?.case),
  });
  const keys = [...all.keys()];
  const errors = await runAllOnce(fixture, all);
  const problems = await runAllAgain(fixture, all);
  const verdict = await fixture.judge(keys);
  return { ...verdict, violations: [...verdict.violations, ...problems], errors };
}

function trials(): ReadonlyMap<string, Trial> {
  const all = new Map<string, Trial>();
  for (const one of crashCases) {
    const [crash, ...more] = one.crashes;
    if (crash === undefined || more.length > 0) continue;
    const { point, nth = 1 } = crash;
    if (!/^(?:begin|write:[a-z-]+):(?:before|after)$/.test(point)) continue;
    for (const act of ["EIO", "ENOSPC"] as const) {
      const key = `${one.name} ${act}`;
      all.set(key, { trouble: { point, key, nth, act }, case: one });
    }
  }
  return all;
}

/** A write that failed once is tried again: the flow may go on as if nothing had happened. */
function endsOf({ ends, declined, intentFault, paymentFault = "none" }: CrashCase): CrashCase["ends"] {
  const untroubled = {
    none: "paid",
    lost: "paid",
    reset: "held",
    refuse: "rejected",
  } as const satisfies Partial<Record<ServiceFault, CrashCase["ends"][number]>>;
  if (declined === true) return [...ends, "declined"];
  if (intentFault === "refuse") return [...ends, "rejected"];
  return [...ends, Reflect.get(untroubled, paymentFault) ?? "paid"];
}

/** In the process whose disk fails. */
async function runAllOnce(fixture: CrashFixture, all: ReadonlyMap<string, Trial>): Promise<number> {
  let errors = 0;
  let told = 0;
  let done = () => {};
  const allTold = new Promise<void>((resolve) => {
    done = resolve;
  });
  const troubles = [...all.values()].map(({ trouble }) => trouble);
  await using worker = fixture.newWorker({ troubles }, ({ type }) => {
    if (type === "stumbled") errors += 1;
    if (type === "stumbled" || type === "settled") told += 1;
    if (told === all.size) done();
  });
  await worker.ready();
  for (const key of all.keys()) worker.send({ type: "run-once", key });
  await Promise.race([allTold, worker.ended]);
  return errors;
}

/** In another process, whose disk works. */
async function runAllAgain(fixture: CrashFixture, all: ReadonlyMap<string, Trial>): Promise<string[]> {
  const open = new Set(all.keys());
  const problems: string[] = [];
  let done = () => {};
  const allSettled = new Promise<void>((resolve) => {
    done = resolve;
  });
  await using worker = fixture.newWorker({}, (report) => {
    if (report.type !== "settled") return;
    const { key, status, reason = "" } = report.outcome;
    const ends = all.get(key)?.case;
    if (ends === undefined || !endsOf(ends).includes(status)) problems.push(`${key}: ended as ${status} ${reason}`);
    open.delete(key);
    if (open.size === 0) done();
  });
  await worker.ready();
  worker.send({ type: "run", keys: [...all.keys()] });
  const late = setTimeout(done, 30_000);
  await Promise.race([allSettled, worker.ended]);
  clearTimeout(late);
  return [...problems, ...[...open].map((key) => `${key}: not settled`)];
}

export function describeFailingWrites(result: FailingWritesResult): string {
  const { flows, errors, paid, declined, rejected, held, paidTwice, takenTwice, unsettled, violations } = result;
  return (
    `failing writes ${flows}, errors thrown ${errors}, paid ${paid}, declined ${declined}, rejected ${rejected}, held ${held}, ` +
    `paid twice ${paidTwice}, taken twice ${takenTwice}, unsettled ${unsettled}, other broken laws ${violations.length}`
  );
}

async function main(): Promise<number> {
  const options = scriptOptions({ lease: 5000 });
  say(`journal ${options.kind}`);
  const result = await runFailingWrites({ ...options, leaseMs: options.lease });
  for (const violation of result.violations) say(`  ${violation}`);
  say(describeFailingWrites(result));
  const { paidTwice, takenTwice, unsettled, violations } = result;
  return paidTwice + takenTwice + unsettled + violations.length === 0 ? 0 : 1;
}

if (isScript(import.meta.url)) process.exitCode = await main();

/**
 * How long a claim takes to be written, and how long a dead owner's flow waits for another process:
 *
 *     npx tsx test/crash/journal-figures.ts --journal sqlite --flows 1000
 */

import { deferred } from "../support/deferred.js";
import { CrashFixture } from "./crash-fixture.js";
import type { JournalChoice } from "./journal-place.js";
import { isScript, say, scriptOptions } from "./script-options.js";
import { measureTakeovers } from "./takeover.js";

/** Milliseconds of each claim's write, in a process that runs `concurrency` flows at a time. */
export async function measureClaims(
  options: JournalChoice & { readonly flows: number; readonly concurrency: number },
): Promise<readonly number[]> {
  await using fixture = await CrashFixture.open({
    ...options,
    leaseMs: 30_000,
    readBackDelayMs: 50,
    slowResponseMs: 0,
    slowCommitMs: () => 0,
    fault: () => "none",
    bank: { declines: () => false, fault: () => "none" },
  });
  const keys = Array.from({ length: options.flows }, (_, index) => `figure-${index}`);
  let settled = 0;
  const { promise: allSettled, resolve: done } = deferred();
  await using worker = fixture.newWorker({}, (report) => {
    if (report.type !== "settled") return;
    settled += 1;
    const key = keys.shift();
    if (key !== undefined) worker.send({ type: "do", tasks: [{ key, way: "run" }] });
    if (settled === options.flows) done();
  });
  await worker.ready();
  worker.send({
    type: "do",
    tasks: keys.splice(0, options.concurrency).map((key) => ({ key, way: "run" })),
  });
  await Promise.race([allSettled, worker.ended]);
  const times = worker.next("claim-times");
  worker.send({ type: "claim-times" });
  // The first ones include what a new process loads and compiles.
  return (await times).milliseconds.slice(options.concurrency);
}

export function percentile(values: readonly number[], percent: number): number {
  const sorted = [...values].sort((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor((sorted.length * percent) / 100))] ?? Number.NaN;
}

async function main(): Promise<void> {
  const options = scriptOptions({ flows: 1000, concurrency: 8, lease: 1000, times: 10 });
  const claims = await measureClaims(options);
  const ms = (value: number): string => value.toFixed(2);
  say(
    `${options.kind}: claim p50 ${ms(percentile(claims, 50))} ms, p99 ${ms(percentile(claims, 99))} ms ` +
      `(${claims.length} claims, ${options.concurrency} at a time)`,
  );
  const { byRunMs, byRecoverMs } = await measureTakeovers({ ...options, leaseMs: options.lease });
  for (const [name, times] of [
    ["run", byRunMs],
    ["recover", byRecoverMs],
  ] as const) {
    say(
      `${options.kind}: takeover by ${name} p50 ${Math.round(percentile(times, 50))} ms, at most ${Math.round(Math.max(...times))} ms ` +
        `after the owner's death (lease ${options.lease} ms)`,
    );
  }
}

if (isScript(import.meta.url)) await main();

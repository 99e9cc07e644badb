import { CrashFixture } from "./crash-fixture.js";
import type { JournalChoice } from "./journal-place.js";

/** Starts processes that open one journal at the same moment, `times` journals in all, and kills them; returns their errors. */
export async function openAtOnce(
  options: JournalChoice & { readonly processes: number; readonly times: number },
): Promise<readonly string[]> {
  await using fixture = await CrashFixture.open({
    ...options,
    leaseMs: 1000,
    readBackDelayMs: 50,
    slowResponseMs: 0,
    slowCommitMs: () => 0,
    fault: () => "none",
    bank: { declines: () => false, fault: () => "none" },
  });
  const problems: string[] = [];
  for (let lane = 0; lane < options.times; lane += 1) {
    // First a new file; then one whose last users were killed, so that its log has to be recovered.
    for (let round = 0; round < 2; round += 1) {
      const workers = Array.from({ length: options.processes }, () => fixture.newWorker({ lane }));
      const opened = await Promise.allSettled(workers.map((worker) => worker.ready()));
      for (const one of opened) if (one.status === "rejected") problems.push(String(one.reason));
      await Promise.all(workers.map((worker) => worker[Symbol.asyncDispose]()));
    }
  }
  return problems;
}

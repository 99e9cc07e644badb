import type { Reporter } from "../events/reporter.js";
import { nextDelayMs } from "../timing/backoff.js";
import { Deadline } from "../timing/deadline.js";
import { type Recovery, RecoveryRound, type ReportRecovered } from "./ownership/recovery.js";
import { isWaiting } from "./steps/asked-wait.js";

export interface FlowWork {
  /** Takes over every flow whose owner is gone, and reports each as it ends. */
  readonly takeOver: (report: ReportRecovered) => Promise<TakenOver>;
  readonly everyMs: number;
  readonly reporter: Reporter;
  readonly random: () => number;
}

export interface TakenOver {
  /** Resolves when all of them have ended. Never rejects. */
  readonly ended: Promise<void>;
}

/** One round of `work`. Resolves when nothing is left to be taken over. */
export async function takeOverAll(recovery: Recovery, report: ReportRecovered): Promise<TakenOver> {
  const round = new RecoveryRound(recovery, report);
  for (;;) {
    await round.takeOver();
    if (round.isOver) return { ended: round.ended() };
    await recovery.slots.left();
  }
}

/**
 * Recovers flows, again and again, until `stop` aborts. What fails goes to `on.error`; while nothing but failures comes of it, the
 * rounds come less often. A round does not wait for flows that take long: those after them have been left as well.
 */
export async function workFlows({ takeOver, everyMs, reporter, random }: FlowWork, stop: AbortSignal): Promise<void> {
  const deadline = new Deadline({ signal: stop });
  const running = new Set<Promise<void>>();
  let [failures, outcomes, fruitless] = [0, 0, 0];
  const fail = (error: unknown): void => {
    // A flow that waits for the service says nothing of the others: those of a process that crashed meanwhile are taken over at once.
    if (!(error instanceof Error && isWaiting(error.cause))) failures += 1;
    reporter.emit("error", error);
  };
  const report: ReportRecovered = ({ outcome, error }) => {
    if (outcome !== undefined) outcomes += 1;
    if (error !== undefined) fail(error);
  };
  while (deadline.ended === undefined) {
    [failures, outcomes] = [0, 0];
    try {
      const { ended } = await takeOver(report);
      running.add(ended);
      void ended.then(() => running.delete(ended));
      await atMost(everyMs, ended, stop);
    } catch (error) {
      fail(error);
    }
    fruitless = failures > 0 && outcomes === 0 ? fruitless + 1 : 0;
    // It throws nothing but the end of the deadline, at which the loop looks.
    await deadline.sleep(roundDelayMs(everyMs, fruitless, random)).catch(() => {});
  }
  await Promise.all(running);
}

/** Waits for work that may take long and never rejects, and no longer than this. */
async function atMost(timeoutMs: number, work: Promise<void>, signal: AbortSignal): Promise<void> {
  const deadline = new Deadline({ timeoutMs, signal });
  await deadline.race(work).catch(() => {});
  deadline.finish();
}

/** Between half of the time and all of it, so that the processes of a fleet don't ask the journal at the same moment. */
function roundDelayMs(everyMs: number, fruitless: number, random: () => number): number {
  return nextDelayMs(fruitless, random, { baseMs: everyMs, capMs: everyMs * longestFactor });
}

const longestFactor = 8;

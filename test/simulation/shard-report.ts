import type { SimulationReport } from "../../src/simulation/simulate-flows.js";
import { sumOfMarks } from "./mark-report.js";

export interface ShardReport extends SimulationReport {
  /** What the process used, its start included. */
  readonly cpuSeconds: number;
}

/** The counts of several reports together. Shares and speed are to be computed anew. */
export function addUp(reports: readonly ShardReport[]): ShardReport {
  const [first] = reports;
  if (first === undefined) throw new Error("there is no report");
  const sum: Record<string, number> = {};
  for (const report of reports) {
    for (const [name, value] of Object.entries(report))
      if (typeof value === "number") sum[name] = (sum[name] ?? 0) + value;
  }
  const marks = sumOfMarks(reports.map((report) => report.marks));
  const total = { ...first, ...sum, seed: first.seed, marks };
  return { ...total, heldShare: total.held / total.flows, needlessShare: total.needless / Math.max(1, total.possible) };
}

export function describeReport(report: ShardReport, seconds: number): string {
  const { schedules, flows, paid, held, heldThoughPaid, givenBack, errors, possible, needless, events, cpuSeconds } =
    report;
  const percent = (part: number, whole: number) => `${((100 * part) / Math.max(1, whole)).toFixed(1)} %`;
  return [
    `${schedules} schedules with ${flows} flows and ${events} events: no law was broken.`,
    `Flows: paid ${percent(paid, flows)}, given back ${percent(givenBack, flows)}, held for a person ${percent(held, flows)} (of those, paid ${percent(heldThoughPaid, held)}).`,
    `Errors: ${errors}, with effect possible ${percent(possible, errors)} (of those, needless, since nothing was ever sent: ${percent(needless, possible)}).`,
    `Speed: ${Math.round(schedules / seconds)} schedules a second, ${Math.round(schedules / cpuSeconds)} in a second of CPU.`,
  ].join("\n");
}

/** Schedules in so many parts at most: each schedule is in one of them, and no other is. */
export function partsOf(first: number, schedules: number, most: number) {
  const share = Math.ceil(schedules / most);
  return Array.from({ length: Math.ceil(schedules / share) }, (_, part) => ({
    first: first + part * share,
    schedules: Math.min(share, schedules - part * share),
  }));
}

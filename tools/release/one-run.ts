import type { ShardReport } from "../../test/simulation/shard-report.js";
import { addUp } from "../../test/simulation/shard-report.js";
import type { RunCommand } from "../../test/simulation/simulate-options.js";
import type { Proof } from "./proof.js";

/** What `npm run simulate -- --report-to FILE` writes. */
export interface SimulationRun {
  readonly asked: RunCommand;
  /** What was run, and when. */
  readonly sources: Pick<Proof, "version" | "commit" | "date">;
  readonly report: ShardReport;
}

/**
 * The run of which these are parts.
 *
 * @throws for parts of which no command would give the sum again.
 */
export function oneRun(parts: readonly SimulationRun[]): SimulationRun {
  const sorted = [...parts].sort((one, other) => one.asked.first - other.asked.first);
  const [first] = sorted;
  if (first === undefined) throw new Error("there is no report");
  let next = 0;
  for (const { asked, sources } of sorted) {
    const isAsByDefault = asked.flows === 3 && asked.processes === 3 && asked.profile === undefined;
    const isPlain = isAsByDefault && asked.choices === undefined && !asked.isGuided && !asked.hasFalseFacts;
    if (!isPlain) throw new Error("a report is of other schedules than those that are drawn by default");
    const isOfFirst = asked.seed === first.asked.seed && sources.commit === first.sources.commit;
    if (!isOfFirst) throw new Error("the reports are of different seeds or commits");
    if (asked.first !== next)
      throw new Error(`the schedules from ${next} to ${asked.first - 1} are in no report, or in two`);
    next += asked.schedules;
  }
  const asked = { ...first.asked, schedules: next };
  return { asked, sources: (sorted.at(-1) ?? first).sources, report: addUp(sorted.map(({ report }) => report)) };
}

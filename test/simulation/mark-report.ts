import { allCells, fundsMarks } from "../../src/simulation/marks.js";
import { ruleMark } from "./branches.js";
import { mutations } from "./mutations.js";
import { reasonFor } from "./unreached.js";

/** In how many schedules each mark was reached. */
export type MarkCounts = Readonly<Record<string, number>>;

export interface MarkReport {
  readonly all: number;
  readonly reached: number;
  /** The marks that fewest schedules reached, and how many did. */
  readonly rarest: { readonly marks: readonly string[]; readonly schedules: number };
  readonly explained: readonly string[];
  /** Reached by no schedule, and no reason is written down. */
  readonly unexplained: readonly string[];
  /** Steps that no flow may take. */
  readonly foreign: readonly string[];
}

export function sumOfMarks(all: readonly MarkCounts[]): MarkCounts {
  const sum: Record<string, number> = {};
  for (const one of all) {
    for (const [mark, count] of Object.entries(one)) sum[mark] = (sum[mark] ?? 0) + count;
  }
  return sum;
}

export function allMarks(): readonly string[] {
  return [...allCells(), ...Object.keys(fundsMarks), ...mutations.map(({ name }) => ruleMark(name))];
}

export function reportMarks(counts: MarkCounts): MarkReport {
  const all = allMarks();
  const known = new Set(all);
  const reached = all.filter((mark) => (counts[mark] ?? 0) > 0);
  const missing = all.filter((mark) => (counts[mark] ?? 0) === 0);
  const least = Math.min(...reached.map((mark) => counts[mark] ?? 0));
  return {
    all: all.length,
    reached: reached.length,
    rarest: { marks: reached.filter((mark) => counts[mark] === least), schedules: reached.length === 0 ? 0 : least },
    explained: missing.filter((mark) => reasonFor(mark) !== undefined),
    unexplained: missing.filter((mark) => reasonFor(mark) === undefined),
    foreign: Object.keys(counts).filter((mark) => !known.has(mark)),
  };
}

export function describeMarks(report: MarkReport): string {
  const { all, reached, rarest, explained, unexplained } = report;
  const [rare, ...others] = rarest.marks;
  const more = others.length === 0 ? "" : `, and ${others.length} more`;
  return [
    `Marks: ${reached} of ${all} were reached. The rarest in ${rarest.schedules}: ${rare ?? "none"}${more}.`,
    `Never reached: ${explained.length} with a written reason, ${unexplained.length} without one.`,
    ...unexplained.map((mark) => `  ${mark}`),
    ...describeForeign(report),
  ].join("\n");
}

/** A line for each, in every world: a run fails where there is one. */
export function describeForeign({ foreign }: MarkReport): readonly string[] {
  return foreign.map((mark) => `  no step of a flow: ${mark}`);
}

import { type Happening, happenings } from "../../src/simulation/marks.js";
import type { MarkCounts } from "../../test/simulation/mark-report.js";

/** Something that was shown, and as far as what. */
export interface Proof {
  readonly name: string;
  /** What holds, as a sentence. */
  readonly statement: string;
  /** What was tried, and what was not. */
  readonly bound: string;
  readonly figures: Readonly<Record<string, number | string>>;
  /** Run in the repository, it gives the figures again. */
  readonly command: string;
  /** What was tried: the version in `package.json`, and the commit. */
  readonly version: string;
  readonly commit: string;
  /** The day on which it was run, in UTC. */
  readonly date: string;
}

/** What a release carries as `proof.json`. */
export interface ProofFile {
  readonly format: 1;
  readonly proofs: readonly Proof[];
  /** In how many schedules each mark was reached, by the way in which they were made. */
  readonly marks: Readonly<Record<string, MarkCounts>>;
}

/** The page of the documentation. */
export function proofPage({ proofs, marks }: ProofFile): string {
  return [
    "# What was proved",
    "",
    "`npm run proof` writes this page, and the file `proof.json` that a release carries. [The simulator](simulation.md) says what the laws are, what",
    "is assumed, and what is not covered.",
    "",
    ...proofs.flatMap(sectionOf),
    "## What was reached",
    "",
    "A mark is a step of a flow: its phase, what had happened to the flow since the step before, and what it decided. Of the marks of each",
    "happening, so many were reached, and the rarest of them in so many schedules; or so many times, where",
    "requests met faults and where processes were killed.",
    "",
    ...markTable(marks),
    "",
  ].join("\n");
}

function sectionOf({ name, statement, bound, figures, command, version, commit, date }: Proof): readonly string[] {
  return [
    `## ${name}`,
    "",
    statement,
    "",
    `Bound: ${bound}`,
    "",
    ...Object.entries(figures).map(
      ([figure, value]) => `- ${figure}: ${typeof value === "number" ? inThousands(value) : value}`,
    ),
    "",
    `\`${command}\`, ${version} (${commit}), on ${date}.`,
    "",
  ];
}

function markTable(marks: ProofFile["marks"]): readonly string[] {
  const ways = Object.keys(marks);
  const rows = (Object.keys(happenings) as Happening[]).map((what) => {
    const cells = Object.values(marks).map((counts) => countsOf(counts, (mark) => mark.split(": ")[1] === what));
    return `| ${what} | ${cells.join(" | ")} |`;
  });
  const rules = Object.values(marks).map((counts) => countsOf(counts, (mark) => mark.startsWith("rule: ")));
  return [
    `| what happened | ${ways.join(" | ")} |`,
    `|---|${"---|".repeat(ways.length)}`,
    ...rows,
    `| a rule of the flow decides | ${rules.join(" | ")} |`,
  ];
}

function countsOf(counts: MarkCounts, isMeant: (mark: string) => boolean): string {
  const reached = Object.entries(counts).flatMap(([mark, count]) => (isMeant(mark) ? [count] : []));
  return reached.length === 0 ? "–" : `${reached.length}, in ${inThousands(Math.min(...reached))} at least`;
}

function inThousands(value: number): string {
  return value.toLocaleString("en-US", { maximumFractionDigits: 1 });
}

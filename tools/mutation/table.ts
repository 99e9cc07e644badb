import { countMutants, type Mutant } from "./mutants.js";
import { parts } from "./parts.js";

/** A source, and what became of the changes in it. */
export interface Row {
  readonly source: string;
  readonly noticed: number;
  readonly explained: number;
  /** Neither noticed nor explained. */
  readonly neither: number;
  readonly notTried: number;
}

export function rowsOf(mutants: readonly Mutant[]): Row[] {
  const sources = [...new Set(mutants.map(({ file }) => file))];
  return sources.map((source) => ({ source, ...countMutants(mutants.filter(({ file }) => file === source)) }));
}

const title =
  "| source | changes | noticed | explained | neither | not tried | noticed, % |\n|---|---|---|---|---|---|---|\n";

/** The Markdown table of `docs/mutation.md`: a row for each source, one for each folder, and one for all. */
export function toTable(rows: readonly Row[]): string {
  const sorted = [...rows].sort((one, other) => (one.source < other.source ? -1 : 1));
  const folders = [...new Set(sorted.map(({ source }) => folderOf(source)))];
  const lines = folders.flatMap((folder) => {
    const own = sorted.filter(({ source }) => folderOf(source) === folder);
    return [...own.map((row) => toLine(`\`${row.source}\``, row)), toLine(`all of \`${folder}\``, sumOf(own))];
  });
  return `${title}${[...lines, toLine("all", sumOf(rows))].join("\n")}\n`;
}

/** The folder of a part that a source is in, or else that of `src/`, at whatever depth. */
export function folderOf(source: string): string {
  const folders = parts.map(({ name }) => `src/${name}`);
  return folders.find((folder) => source.startsWith(`${folder}/`)) ?? source.split("/", 2).join("/");
}

/** The rows of the sources in a page that has such a table. */
export function readTable(page: string): Row[] {
  const lines = page.matchAll(/^\| `(src\/[^`]+)` \| \d+ \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|/gm);
  return Array.from(lines, ([, source = "", ...counts]) => {
    const [noticed = 0, explained = 0, neither = 0, notTried = 0] = counts.map(Number);
    return { source, noticed, explained, neither, notTried };
  });
}

/** The share of the tried changes that a test noticed, in per cent. */
export function shareOf(rows: readonly Row[]): number {
  const { noticed, explained, neither } = sumOf(rows);
  return (100 * noticed) / (noticed + explained + neither);
}

function sumOf(rows: readonly Row[]): Omit<Row, "source"> {
  const total = (name: Exclude<keyof Row, "source">) => rows.reduce((sum, row) => sum + row[name], 0);
  return {
    noticed: total("noticed"),
    explained: total("explained"),
    neither: total("neither"),
    notTried: total("notTried"),
  };
}

function toLine(name: string, { noticed, explained, neither, notTried }: Omit<Row, "source">): string {
  const tried = noticed + explained + neither;
  const share = tried === 0 ? "" : ((100 * noticed) / tried).toFixed(1);
  return `| ${name} | ${[tried, noticed, explained, neither, notTried, share].join(" | ")} |`;
}

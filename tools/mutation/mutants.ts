import { readFileSync, writeFileSync } from "node:fs";
import { knownSurvivors } from "./known-survivors.js";

/** One change of a source, and whether a test noticed. */
export interface Mutant {
  readonly file: string;
  readonly line: number;
  /** The line as it is, without what surrounds it. */
  readonly text: string;
  readonly kind: string;
  readonly original: string;
  readonly replacement: string;
  readonly status: string;
}

export interface Survivor extends Mutant {
  /** Why no test can notice it, or why none should; absent where nobody has said so yet. */
  readonly why: string | undefined;
}

interface Position {
  readonly line: number;
  readonly column: number;
}

/** What StrykerJS writes, as far as it is read here. */
interface Report {
  readonly files: Readonly<
    Record<
      string,
      {
        readonly source: string;
        readonly mutants: readonly {
          readonly mutatorName: string;
          readonly replacement?: string;
          readonly status: string;
          /** What the test that failed said. */
          readonly statusReason?: string;
          readonly location: { readonly start: Position; readonly end: Position };
        }[];
      }
    >
  >;
}

const noticed = new Set(["Killed", "Timeout"]);
const unnoticed = new Set(["Survived", "NoCoverage"]);

export function readMutants(path: string): Mutant[] {
  const { files } = JSON.parse(readFileSync(path, "utf8")) as Report;
  return Object.entries(files).flatMap(([file, { source, mutants }]) => {
    const lines = source.split("\n");
    return mutants.map(({ mutatorName, replacement = "", status, location: { start, end } }) => ({
      file,
      line: start.line,
      text: lines[start.line - 1]?.trim() ?? "",
      kind: mutatorName,
      original: textBetween(lines, start, end),
      replacement,
      status,
    }));
  });
}

/** Takes out of a report what counts as noticed because tests did not end, so that the next run tries it once more. */
export function forgetEndless(path: string): void {
  const report = JSON.parse(readFileSync(path, "utf8")) as Report;
  const files = Object.entries(report.files).map(([file, content]) => {
    const mutants = content.mutants.filter(({ status, statusReason = "" }) => !isEndless(status, statusReason));
    return [file, { ...content, mutants }] as const;
  });
  writeFileSync(path, JSON.stringify({ ...report, files: Object.fromEntries(files) }));
}

function isEndless(status: string, reason: string): boolean {
  return status === "Timeout" || /\btimed out\b/i.test(reason);
}

export function survivorsOf(mutants: readonly Mutant[]): Survivor[] {
  return mutants
    .filter(({ status }) => unnoticed.has(status))
    .map((mutant) => ({ ...mutant, why: explanationOf(mutant) }));
}

export function describeSurvivor({ file, line, text, kind, original, replacement, status }: Survivor): string {
  const title = `${file}:${line} ${kind}${status === "NoCoverage" ? ", which no test executes" : ""}`;
  return [title, `    ${text}`, `  - ${oneLine(original)}`, `  + ${oneLine(replacement)}`].join("\n");
}

/** How many of the changes were noticed, and what is said of the others. */
export function countMutants(mutants: readonly Mutant[]) {
  const survivors = survivorsOf(mutants);
  const noticedOnes = mutants.filter(({ status }) => noticed.has(status)).length;
  const explained = survivors.filter(({ why }) => why !== undefined).length;
  return {
    noticed: noticedOnes,
    explained,
    neither: survivors.length - explained,
    notTried: mutants.length - noticedOnes - survivors.length,
  };
}

function explanationOf(mutant: Mutant): string | undefined {
  return knownSurvivors.find(
    ({ file, line, original, replacement }) =>
      file === mutant.file &&
      line === mutant.text &&
      (original === undefined || original === oneLine(mutant.original)) &&
      replacement === oneLine(mutant.replacement),
  )?.why;
}

function textBetween(lines: readonly string[], start: Position, end: Position): string {
  const own = lines.slice(start.line - 1, end.line);
  const last = own.length - 1;
  return own
    .map((line, index) => line.slice(index === 0 ? start.column - 1 : 0, index === last ? end.column - 1 : undefined))
    .join("\n");
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, " ");
}

import { readdirSync, readFileSync } from "node:fs";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import type { Mutant } from "../../tools/mutation/mutants.js";
import { parts } from "../../tools/mutation/parts.js";
import { folderOf, type Row, readTable, rowsOf, shareOf, toTable } from "../../tools/mutation/table.js";

const change = (file: string, status: string): Mutant => ({
  file,
  line: 1,
  text: "a < b",
  kind: "EqualityOperator",
  original: "a < b",
  replacement: "a <= b",
  status,
});

const row = (source: string, noticed: number, neither: number): Row => ({
  source,
  noticed,
  explained: 0,
  neither,
  notTried: 0,
});

describe("the table of a run", () => {
  it("counts what a test noticed or did not end with, what survived, and what was not tried", () => {
    const statuses = ["Killed", "Timeout", "Survived", "NoCoverage", "Ignored", "CompileError"];
    expect(rowsOf(statuses.map((status) => change("src/a.ts", status)))).toEqual([
      { source: "src/a.ts", noticed: 2, explained: 0, neither: 2, notTried: 2 },
    ]);
  });

  it("has a row for each source in order, for its folder and for all, and is read back as it was", () => {
    const rows = [row("src/b/two.ts", 1, 3), row("src/a/one.ts", 9, 1), row("src/b/one.ts", 1, 0)];
    const table = toTable(rows);
    expect(table.split("\n").slice(2)).toEqual([
      "| `src/a/one.ts` | 10 | 9 | 0 | 1 | 0 | 90.0 |",
      "| all of `src/a` | 10 | 9 | 0 | 1 | 0 | 90.0 |",
      "| `src/b/one.ts` | 1 | 1 | 0 | 0 | 0 | 100.0 |",
      "| `src/b/two.ts` | 4 | 1 | 0 | 3 | 0 | 25.0 |",
      "| all of `src/b` | 5 | 2 | 0 | 3 | 0 | 40.0 |",
      "| all | 15 | 11 | 0 | 4 | 0 | 73.3 |",
      "",
    ]);
    expect(toTable(readTable(table))).toBe(table);
  });
});

describe("the table of docs/mutation.md", () => {
  const page = readFileSync("docs/mutation.md", "utf8");
  const rows = readTable(page);
  const partOf = (source: string) =>
    parts.find(({ sources }) => sources.includes(source)) ??
    parts.find(({ name }) => folderOf(source) === `src/${name}`);

  it("is whole: its sums are those of its rows", () => {
    expect(page).toContain(toTable(rows));
  });

  it("has a row for each source of the parts in which something can be changed, or says that it is newer than the table", () => {
    const folders = [...new Set(parts.flatMap(({ sources }) => sources.map(folderOf)))].filter(
      (folder) => !folder.startsWith("!"),
    );
    const sources = folders.flatMap((folder) =>
      readdirSync(folder, { recursive: true, encoding: "utf8" })
        .filter((name) => name.endsWith(".ts"))
        .map((name) => `${folder}/${name}`),
    );
    const counted = rows.map(({ source }) => source);
    expect([...counted, ...newerSources(page)].toSorted()).toEqual(sources.filter(canChange).toSorted());
  });

  it("has no change that no test notices and nobody has explained", () => {
    expect(rows.filter(({ neither }) => neither > 0)).toEqual([]);
  });

  const rowsIn = (part: string) => rows.filter(({ source }) => partOf(source)?.name === part);
  const tried = parts.map(({ name }) => name).filter((name) => rowsIn(name).length > 0);
  it.each(tried)("says of %s that tests notice at least 95 in a hundred", (name) => {
    expect(shareOf(rowsIn(name))).toBeGreaterThanOrEqual(95);
  });
});

/** Sources that the page names as newer than its table. */
function newerSources(page: string): readonly string[] {
  return [...page.matchAll(/^- `(src\/.*\.ts)`$/gm)].map(([, source = ""]) => source);
}

/** Nothing in them can be changed: they export what stands elsewhere, and a constant. */
const constant = [
  ...["src/flows/index.ts", "src/flows/journal.ts", "src/http/compiled-schemas.ts"],
  ...["src/reconcile/index.ts", "src/wire/version.ts"],
];

function canChange(source: string): boolean {
  const code = ts.transpile(readFileSync(source, "utf8"), { target: ts.ScriptTarget.ESNext, removeComments: true });
  return code.trim() !== "export {};" && !constant.includes(source);
}

import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { Mutant } from "../../mutation/mutants.js";
import { type Row, readTable, rowsOf, shareOf, toTable } from "../../mutation/table.js";

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

it("is whole in the page: its sums are those of its rows", () => {
  const page = readFileSync("docs/mutation.md", "utf8");
  const rows = readTable(page);
  expect(page).toContain(toTable(rows));
  expect(shareOf(rows)).toBeGreaterThan(90);
});

import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { oneRun, type SimulationRun } from "../../tools/release/one-run.js";
import { type Proof, type ProofFile, proofPage } from "../../tools/release/proof.js";
import { simulateCommand } from "../simulation/simulate-options.js";

const proof: Proof = {
  name: "A proof",
  statement: "Nothing broke.",
  bound: "two schedules.",
  figures: { schedules: 12_345, journal: "SQLite" },
  command: "npm run simulate",
  version: "1.2.3",
  commit: "abc1234",
  date: "2026-01-02",
};

it("writes each proof with its bound, its figures and its command", () => {
  const page = proofPage({ format: 1, proofs: [proof], marks: {} });
  expect(page).toContain(
    "## A proof\n\nNothing broke.\n\nBound: two schedules.\n\n- schedules: 12,345\n- journal: SQLite\n",
  );
  expect(page).toContain("`npm run simulate`, 1.2.3 (abc1234), on 2026-01-02.");
});

it("says how many marks of each happening were reached, and how often the rarest", () => {
  const marks = {
    here: { "claimed: the payment is lost: unknown": 7, "claimed: the payment is lost: paid": 3 },
    there: {},
  };
  const page = proofPage({ format: 1, proofs: [], marks });
  expect(page).toContain("| what happened | here | there |");
  expect(page).toContain("| the payment is lost | 2, in 3 at least | – |");
  expect(page).toContain("| nothing | – | – |");
});

it("is the page of the documentation, which nobody writes by hand", () => {
  const made = JSON.parse(readFileSync("tools/release/proof.json", "utf8")) as ProofFile;
  expect(readFileSync("docs/proof.md", "utf8")).toBe(proofPage(made));
  for (const { command, date, bound } of made.proofs) expect([command, date, bound]).not.toContain("");
});

/** A part of a run, and what it was asked for. */
function partOf(line: string, commit = "abc1234"): SimulationRun {
  const asked = simulateCommand(line.split(" "));
  if ("worlds" in asked) throw new TypeError("no schedules");
  const report = { schedules: asked.schedules, flows: 3 * asked.schedules, seed: asked.seed, marks: {} };
  return { asked, sources: { version: "1.2.3", commit, date: "2026-01-02" }, report: report as never };
}

it("adds up the parts of one run, in any order", () => {
  const parts = [partOf("--seed 7 --first 10 --schedules 5"), partOf("--seed 7 --schedules 10")];
  const { asked, report, sources } = oneRun(parts);
  expect(asked).toMatchObject({ first: 0, schedules: 15, seed: 7 });
  expect([report.flows, sources.commit]).toEqual([45, "abc1234"]);
});

it.each([
  ["a gap", ["--seed 7 --schedules 10", "--seed 7 --first 11 --schedules 5"], /from 10 to 10 are in no report/],
  ["one part twice", ["--seed 7 --schedules 10", "--seed 7 --schedules 10"], /are in no report, or in two/],
  ["two seeds", ["--seed 7 --schedules 10", "--seed 8 --first 10"], /different seeds/],
  ["a world of its own", ["--seed 7 --profile operators"], /other schedules/],
  ["fewer flows", ["--seed 7 --flows 1"], /other schedules/],
  ["guided schedules", ["--seed 7 --guided"], /other schedules/],
])("calls no sum of reports with %s a proof", (_, lines, message) => {
  expect(() => oneRun(lines.map((line) => partOf(line)))).toThrow(message);
});

it("calls no sum of what two commits did a proof", () => {
  const parts = [partOf("--seed 7 --schedules 10"), partOf("--seed 7 --first 10", "def5678")];
  expect(() => oneRun(parts)).toThrow(/different seeds or commits/);
});

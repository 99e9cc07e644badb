import { readFileSync } from "node:fs";
import { expect, it } from "vitest";
import { type Proof, type ProofFile, proofPage } from "../../tools/release/proof.js";

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

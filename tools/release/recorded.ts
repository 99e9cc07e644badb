import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import type { MarkCounts } from "../../test/simulation/mark-report.js";
import type { Proof } from "./proof.js";

/** What takes long, and is not run again for a release. */
export interface RecordedProof extends Proof {
  /** The column of the table of marks, if it counts what it reached. */
  readonly way?: "killed processes" | "fault matrix";
  readonly marks?: MarkCounts;
}

const file = "tools/release/recorded-proofs.json";

export function recordedProofs(): readonly RecordedProof[] {
  return JSON.parse(readFileSync(file, "utf8"));
}

/** Takes the place of what was recorded under the same name. */
export function record(proof: RecordedProof): void {
  const others = recordedProofs().filter(({ name }) => name !== proof.name);
  const all = [...others, proof].sort((one, other) => (one.name < other.name ? -1 : 1));
  writeFileSync(file, `${JSON.stringify(all, undefined, 2)}\n`);
}

/** The sources as they are now. */
export function whatIsProved(): Pick<Proof, "version" | "commit" | "date"> {
  const { version } = JSON.parse(readFileSync("package.json", "utf8"));
  const git = (...args: string[]) => execFileSync("git", args, { encoding: "utf8" }).trim();
  const changed = git("status", "--porcelain", "--", "src", "test", "spec") === "" ? "" : ", with changes";
  const commit = git("rev-parse", "--short", "HEAD") + changed;
  return { version, commit, date: new Date().toISOString().slice(0, "2026-01-31".length) };
}

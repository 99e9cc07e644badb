import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { listingsIn } from "./support/listings.js";
import { runBlock } from "./support/run-block.js";
import { some } from "./support/thorough.js";

/** A block of a document that says that it is run, and what the document says it prints. */
interface ExecutedBlock {
  readonly name: string;
  readonly code: string;
  readonly printed: string | undefined;
}

const files = ["README.md", ...readdirSync("docs").map((file) => join("docs", file))];
const blocks = files
  .filter((file) => file.endsWith(".md"))
  .flatMap((file) => blocksOf(file, readFileSync(file, "utf8")));

function blocksOf(file: string, text: string): ExecutedBlock[] {
  const run = listingsIn(text).filter(({ isRun }) => isRun);
  return run.map(({ setup, code, printed }, index) => ({ name: `${file}, ${index + 1}`, code: setup + code, printed }));
}

it("finds blocks that are run", () => {
  expect(blocks.length).toBeGreaterThan(0);
});

it.each(some(blocks, 3))("runs and prints what it says: $name", async ({ code, printed }) => {
  const { status, stdout, stderr } = await runBlock(code);
  expect(status, stdout + stderr).toBe(0);
  if (printed !== undefined) expect(stdout).toBe(printed);
});

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { runBlock } from "./support/run-block.js";
import { some } from "./support/thorough.js";

/** A block of a document that says that it is run, and what the document says it prints. */
interface ExecutedBlock {
  readonly name: string;
  readonly code: string;
  readonly printed: string | undefined;
}

const blocks = readdirSync("docs")
  .filter((file) => file.endsWith(".md"))
  .flatMap((file) => blocksOf(file, readFileSync(join("docs", file), "utf8")));

/** A block begins with `ts run`; a block of `text` right behind it is what it prints. */
function blocksOf(file: string, text: string): ExecutedBlock[] {
  const found = text.matchAll(/^```ts run\n([\s\S]*?)^```(?:\s*^```text\n([\s\S]*?)^```)?/gm);
  return [...found].map(([, code = "", printed], index) => ({ name: `${file}, ${index + 1}`, code, printed }));
}

it("finds blocks that are run", () => {
  expect(blocks.length).toBeGreaterThan(0);
});

it.each(some(blocks, 3))("runs and prints what it says: $name", async ({ code, printed }) => {
  const { status, stdout, stderr } = await runBlock(code);
  expect(status, stdout + stderr).toBe(0);
  if (printed !== undefined) expect(stdout).toBe(printed);
});

import { spawnSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";

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

it.each(blocks)("runs and prints what it says: $name", { timeout: 60_000 }, ({ code, printed }) => {
  // Below the project, so that the package's own name leads to its sources.
  const folder = mkdtempSync(join("test", "executed-block-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "block.ts");
  writeFileSync(file, code);
  const { status, stdout, stderr } = spawnSync(process.execPath, ["--import", "tsx", file], {
    encoding: "utf8",
    env: { ...process.env, NODE_OPTIONS: "", NODE_V8_COVERAGE: "", NO_COLOR: "1" },
  });
  expect(status, stdout + stderr).toBe(0);
  if (printed !== undefined) expect(stdout).toBe(printed);
});

import { execFile } from "node:child_process";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { onTestFinished } from "vitest";
import { compilePrograms } from "./build-programs.js";

/** Runs a block of a document, with the files that it imports beside it, in a process of its own. */
export async function runBlock(
  code: string,
  {
    files = {},
    env = {},
  }: { readonly files?: Readonly<Record<string, string>>; readonly env?: NodeJS.ProcessEnv } = {},
) {
  // Below the project, so that the package's own name leads to its sources.
  const folder = mkdtempSync(join("test", "executed-block-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const main = join(folder, "block.ts");
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, name), text);
  writeFileSync(main, code);
  await compilePrograms([main], folder);
  const clean = { ...process.env, NODE_OPTIONS: "", NODE_V8_COVERAGE: "", NO_COLOR: "1", ...env };
  return new Promise<{ status: unknown; stdout: string; stderr: string }>((resolve) => {
    execFile(process.execPath, [join(folder, main.replace(/ts$/, "js"))], { env: clean }, (error, stdout, stderr) =>
      resolve({ status: error === null ? 0 : error.code, stdout, stderr }),
    );
  });
}

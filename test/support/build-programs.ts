import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { type BuildOptions, build } from "esbuild";
import type { TestProject } from "vitest/node";

declare module "vitest" {
  export interface ProvidedContext {
    /** The folder of the compiled programs. */
    programs: string;
  }
}

/** What tests start as processes of their own. */
const programs = [
  "src/cli/cli.ts",
  "examples/*.ts",
  "examples/bank/server.ts",
  "examples/bank/migrate.ts",
  "examples/bank/add-user.ts",
];

/** Compiles them once, before the first test: the loader of sources would take a second in each process. */
export default async function buildPrograms(project: TestProject): Promise<() => void> {
  // Below the project, outside of node_modules, so that the package can be named.
  const folder = mkdtempSync(join("test", "built-programs-"));
  const compile = () => compilePrograms(programs, folder);
  project.provide("programs", folder);
  project.onTestsRerun(compile);
  await compile();
  return () => rmSync(folder, { recursive: true });
}

/** How the sources become a program that Node runs. */
export const programOptions: BuildOptions = {
  bundle: true,
  platform: "node",
  format: "esm",
  target: "node20",
  packages: "external",
  alias: { "#platform": "./src/platform/node.ts" },
  sourcemap: true,
  logLevel: "error",
};

/** Each goes to the path in the folder that it has in the project, with the ending `.js`. */
export async function compilePrograms(entryPoints: string[], outdir: string): Promise<void> {
  // Without this it is the directory in which the compiler was loaded, which need not be this one.
  const absWorkingDir = process.cwd();
  await build({ ...programOptions, absWorkingDir, entryPoints, outdir, outbase: ".", splitting: true });
  const [worker, outfile] = ["src/journals/sqlite-worker.ts", join(outdir, "sqlite-worker.js")];
  await build({ ...programOptions, absWorkingDir, entryPoints: [worker], outfile });
}

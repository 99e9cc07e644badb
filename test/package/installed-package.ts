import { execFileSync } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { inject } from "vitest";

const installation = inject("installation");
while (!existsSync(installation.ended)) await pause(50);
const failure = readFileSync(installation.ended, "utf8");
if (failure !== "") throw new Error(`The package could not be packed and installed: ${failure}`);

/** The user's project, in which the packed package is installed, and the tarball that it came from. */
export const { project, tarball } = installation;

interface Manifest {
  readonly name: string;
  readonly version: string;
  readonly exports: Readonly<Record<string, unknown>>;
  readonly imports: Readonly<Record<string, unknown>>;
  readonly dependencies: Readonly<Record<string, string>>;
}

/** The package.json of the installed package. */
export const manifest: Manifest = JSON.parse(
  readFileSync(join(project, "node_modules/cross-border-payments/package.json"), "utf8"),
);

/** What users import: `cross-border-payments`, `cross-border-payments/sandbox` and so on. */
export const entryPoints: readonly string[] = Object.keys(manifest.exports)
  .filter((path) => !path.endsWith(".json"))
  .map((path) => join(manifest.name, path));

/** Runs Node on a script of the user's, which is written to `file`; returns what it prints. */
export function run(file: string, script: string): string {
  const path = join(project, file);
  writeFileSync(path, script);
  return execFileSync(process.execPath, [path], { cwd: project, encoding: "utf8" }).trim();
}

/** The path of a tool of this repository. */
export function tool(name: string): string {
  return join(process.cwd(), "node_modules/.bin", name);
}

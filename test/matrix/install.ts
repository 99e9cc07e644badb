import { copyFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { afterAll } from "vitest";
import { tarball } from "../package/installed-package.js";
import { installTools, npm } from "../support/install-tools.js";

const here = fileURLToPath(new URL(".", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "cross-border-matrix-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

export interface Matrix {
  /** A user's project, with the packed package and the programs of this folder. */
  readonly project: string;
  /** The folder with the `node_modules` of this folder's package.json. It stays for the next time. */
  readonly tools: string;
}

const project = join(folder, "project");
cpSync(join(here, "programs"), project, { recursive: true });
mkdirSync(join(project, "prices"));
copyFileSync("examples/worker/prices-worker.ts", join(project, "prices/worker.ts"));
writeFileSync(join(project, "package.json"), '{ "name": "a-gateway", "private": true, "type": "module" }');
npm(project, "install", tarball);

export const matrix: Matrix = { project, tools: installTools(here, "matrix") };

/** The rows of the table of docs/runtimes.md that stands under a heading, without the two rows of its head. */
export function tableUnder(heading: string): readonly (readonly string[])[] {
  const [, section = ""] = readFileSync("docs/runtimes.md", "utf8").split(`${heading}\n`);
  const lines = section.split(/^## /m)[0]?.split("\n") ?? [];
  const rows = lines.filter((line) => line.startsWith("|")).slice(2);
  return rows.map((row) => row.split(/ *\| */).slice(1, -1));
}

const { dependencies }: { readonly dependencies: Readonly<Record<string, string>> } = JSON.parse(
  readFileSync("test/matrix/package.json", "utf8"),
);

/** The version of a tool. */
export function versionOf(name: string): string {
  return dependencies[name] ?? "missing";
}

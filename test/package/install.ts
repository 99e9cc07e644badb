import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { TestProject } from "vitest/node";

/** The package as a user gets it: packed, and installed from the tarball into an empty project. */
export interface Installation {
  /** The user's project. */
  readonly project: string;
  readonly tarball: string;
}

declare module "vitest" {
  export interface ProvidedContext {
    installation: Installation;
  }
}

/**
 * Packs and installs once, before the first test; the returned function removes everything after the last. Builds, unless
 * CBP_BUILT says that `dist` is what `npm run build` makes of these sources.
 */
export default function install({ provide }: TestProject): () => void {
  const root = fileURLToPath(new URL("../..", import.meta.url));
  const folder = mkdtempSync(join(tmpdir(), "cross-border-package-"));
  const flags = process.env.CBP_BUILT === undefined ? [] : ["--ignore-scripts"];
  execFileSync("npm", ["pack", ...flags, "--pack-destination", folder], { cwd: root, stdio: "pipe" });
  const name = readdirSync(folder).find((file) => file.endsWith(".tgz"));
  if (name === undefined) throw new Error("npm pack made no tarball");
  const tarball = join(folder, name);
  const project = join(folder, "project");
  mkdirSync(project);
  writeFileSync(join(project, "package.json"), '{ "name": "a-gateway", "private": true }');
  execFileSync("npm", ["install", "--no-audit", "--no-fund", "--ignore-scripts", tarball], {
    cwd: project,
    stdio: "pipe",
  });
  provide("installation", { project, tarball });
  return () => rmSync(folder, { recursive: true, force: true });
}

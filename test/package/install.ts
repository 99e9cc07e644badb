import { execFile } from "node:child_process";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import type { TestProject } from "vitest/node";

/** The package as a user gets it: packed, and installed from the tarball into an empty project. */
export interface Installation {
  /** The user's project. */
  readonly project: string;
  readonly tarball: string;
  /** A file that is there when both are: empty, or what went wrong. */
  readonly ended: string;
}

declare module "vitest" {
  export interface ProvidedContext {
    installation: Installation;
  }
}

/**
 * Packs and installs once, beside the tests of other projects; the returned function removes everything after the last test. Builds, unless
 * CBP_BUILT says that `dist` is what `npm run build` makes of these sources.
 */
export default function install({ provide }: TestProject): () => Promise<void> {
  const root = fileURLToPath(new URL("../..", import.meta.url));
  const { name, version } = JSON.parse(readFileSync(join(root, "package.json"), "utf8"));
  const folder = mkdtempSync(join(tmpdir(), "cross-border-package-"));
  const project = join(folder, "project");
  const tarball = join(folder, `${name}-${version}.tgz`);
  const ended = join(folder, "ended");
  const installing = packAndInstall(root, tarball, project).then(
    () => writeFileSync(ended, ""),
    (error) => writeFileSync(ended, `${error.message}\n${error.stdout}`),
  );
  provide("installation", { project, tarball, ended });
  return async () => {
    await installing;
    rmSync(folder, { recursive: true, force: true });
  };
}

async function packAndInstall(root: string, tarball: string, project: string): Promise<void> {
  const npm = (cwd: string, ...line: string[]) => promisify(execFile)("npm", line, { cwd });
  const flags = process.env.CBP_BUILT === undefined ? [] : ["--ignore-scripts"];
  await npm(root, "pack", ...flags, "--pack-destination", dirname(tarball));
  mkdirSync(project);
  writeFileSync(join(project, "package.json"), '{ "name": "a-gateway", "private": true }');
  await npm(project, "install", "--no-audit", "--no-fund", "--ignore-scripts", tarball);
}

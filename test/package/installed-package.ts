import { execFileSync } from "node:child_process";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/** The package as a user gets it: packed, and installed from the tarball into an empty project. */
export interface InstalledPackage {
  /** The user's project. */
  readonly folder: string;
  readonly tarball: string;
  /** Files of the tarball. */
  readonly files: readonly string[];
  /** Runs Node on a script of the user's; gives what it prints. */
  run(name: string, script: string, flags?: readonly string[]): string;
  remove(): void;
}

export function installPackage(): InstalledPackage {
  const root = fileURLToPath(new URL("../..", import.meta.url));
  const folder = mkdtempSync(join(tmpdir(), "cross-border-package-"));
  execFileSync("npm", ["pack", "--pack-destination", folder], { cwd: root, stdio: "pipe" });
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
  const list = execFileSync("tar", ["-tzf", tarball], { encoding: "utf8" });
  return {
    folder: project,
    tarball,
    files: list
      .trim()
      .split("\n")
      .map((file) => file.replace(/^package\//, ""))
      .sort(),
    run(file, script, flags = []) {
      writeFileSync(join(project, file), script);
      return execFileSync(process.execPath, [...flags, file], { cwd: project, encoding: "utf8" }).trim();
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

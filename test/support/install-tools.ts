import { execFileSync } from "node:child_process";
import { createHash } from "node:crypto";
import { copyFileSync, existsSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * Installs the tools of a folder's `package.json`, once for each version of its lock file.
 *
 * @returns the folder in which their `node_modules` are.
 */
export function installTools(folder: string, name: string): string {
  const lock = readFileSync(join(folder, "package-lock.json"));
  const hash = createHash("sha256").update(lock).digest("hex").slice(0, 12);
  const tools = join(tmpdir(), `cross-border-${name}-tools-${hash}`);
  if (existsSync(tools)) return tools;
  const fresh = mkdtempSync(`${tools}-`);
  mkdirSync(fresh, { recursive: true });
  for (const file of ["package.json", "package-lock.json"]) copyFileSync(join(folder, file), join(fresh, file));
  npm(fresh, "ci");
  try {
    renameSync(fresh, tools);
  } catch (error) {
    if (!existsSync(tools)) throw error;
    // Another process was faster.
    rmSync(fresh, { recursive: true });
  }
  return tools;
}

export function npm(folder: string, ...command: readonly string[]): void {
  const flags = ["--no-audit", "--no-fund", "--ignore-scripts"];
  execFileSync("npm", [...command, ...flags], { cwd: folder, stdio: "pipe" });
}

import { execFileSync } from "node:child_process";
import { existsSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A Node that has `node:sqlite`: the given one, this one, or one from the npm registry, which is kept for the next run. */
export function nodeWithSqlite(given: string | undefined): string {
  if (given !== undefined) return given;
  if (Number(process.versions.node.split(".")[0]) >= 24) return process.execPath;
  const folder = join(tmpdir(), "cbp-node-24");
  const name = `node-${process.platform}-${process.arch}`;
  const binary = join(folder, "node_modules", name, "bin", "node");
  if (!existsSync(binary)) {
    execFileSync("npm", ["install", "--prefix", folder, "--no-audit", "--no-fund", "--no-save", `${name}@24`]);
  }
  return binary;
}

import { execFileSync } from "node:child_process";
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** A Node that has `node:sqlite`: the one that is given, this one, or one from the npm registry. */
export function nodeWithSqlite(given: string | undefined): string {
  if (given !== undefined) return given;
  if (Number(process.versions.node.split(".")[0]) >= 24) return process.execPath;
  const folder = mkdtempSync(join(tmpdir(), "cbp-node-"));
  const name = `node-${process.platform}-${process.arch}`;
  execFileSync("npm", ["install", "--prefix", folder, "--no-audit", "--no-fund", "--no-save", `${name}@24`]);
  return join(folder, "node_modules", name, "bin", "node");
}

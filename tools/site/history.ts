import { execFileSync } from "node:child_process";

/** When each file of the repository was last changed, in milliseconds since 1970; nothing where there is no history. */
export function lastChanges(root: string, ...paths: readonly string[]): ReadonlyMap<string, number> {
  const changes = new Map<string, number>();
  let changedAtMs = 0;
  for (const line of log(root, paths).split("\n")) {
    if (/^@\d+$/.test(line)) changedAtMs = Number(line.slice(1)) * 1_000;
    else if (line !== "" && !changes.has(line)) changes.set(line, changedAtMs);
  }
  return changes;
}

/** Newest first: a line with the time of each change, and then its files. */
function log(root: string, paths: readonly string[]): string {
  try {
    const command = ["log", "--format=@%ct", "--name-only", "--", ...paths];
    return execFileSync("git", command, { cwd: root, encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] });
  } catch {
    return "";
  }
}

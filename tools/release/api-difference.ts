import { execFileSync } from "node:child_process";

/** Prints what changed in the published types and in `openapi.json` since the release before, as a patch. */
const git = (...command: readonly string[]) =>
  execFileSync("git", command, { encoding: "utf8", maxBuffer: 64 * 1024 * 1024 });

const [current = ""] = git("tag", "--points-at", "HEAD", "--list", "v*").split("\n");
const [before] = git("tag", "--merged", "HEAD", "--list", "v*", "--sort=-version:refname")
  .split("\n")
  .filter((tag) => tag !== "" && tag !== current);
/** Git's own name for a tree with nothing in it: everything is new in a first release. */
const nothing = git("hash-object", "-t", "tree", "/dev/null").trim();
const difference = git("diff", before ?? nothing, "HEAD", "--", "tools/api", "openapi.json");
process.stdout.write(difference === "" ? `Nothing has changed since ${before}.\n` : difference);

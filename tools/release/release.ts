import { execFileSync } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { nextVersion, releaseChangelog, releaseVersion } from "./release-changelog.js";

/**
 * `npm run release -- minor` (or major, patch, 1.2.3): the version in package.json, its lock file and the sources, and in the changelog
 * what is unreleased under it. It commits and tags nothing: it says what to do next.
 */
const [wanted = ""] = process.argv.slice(2);
/** Two, so that no file is shared which every import of the client would have to load. */
const versionFiles = ["src/opentelemetry/version.ts", "src/wire/open-transport.ts"];
const git = (...command: readonly string[]) => execFileSync("git", command, { encoding: "utf8" }).trim();

try {
  const changed = git("status", "--porcelain", "--untracked-files=no");
  if (changed !== "") throw new Error(`the working tree has changes:\n${changed}`);
  const { version: current } = JSON.parse(readFileSync("package.json", "utf8")) as { readonly version: string };
  const version = nextVersion(current, wanted);
  if (git("tag", "--list", `v${version}`) !== "") throw new Error(`there is a tag v${version}`);
  const changelog = releaseChangelog(readFileSync("CHANGELOG.md", "utf8"), version, today());
  const sources = versionFiles.map((file) => releaseVersion(readFileSync(file, "utf8"), current, version));
  execFileSync("npm", ["version", version, "--no-git-tag-version"], { stdio: "ignore" });
  for (const [index, file] of versionFiles.entries()) writeFileSync(file, sources[index] ?? "");
  writeFileSync("CHANGELOG.md", changelog);
  console.log(`This is ${version} now. Read the changelog, and then:

  git commit --all --message "Release ${version}"
  git tag v${version}
  git push --atomic origin main v${version}

The tag publishes it: see .github/workflows/release.yml.`);
} catch (error) {
  console.error(error instanceof Error ? error.message : error);
  process.exitCode = 1;
}

function today(): string {
  return new Date().toISOString().slice(0, "2026-01-31".length);
}

import { execFileSync, spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { changesOf, nextVersion, releaseChangelog, releaseVersion } from "../../tools/release/release-changelog.js";

/** The files that hold the version. */
const versionFiles = ["src/opentelemetry/version.ts", "src/wire/open-transport.ts"];

const changelog =
  "# Changelog\n\nIntroduction.\n\n## Unreleased\n\n### Added\n\n- Much.\n\n## 0.1.0 (2026-01-01)\n\n- All.\n";

it("puts what is unreleased under its version, and leaves room for what comes next", () => {
  const released = releaseChangelog(changelog, "0.2.0", "2026-02-03");
  expect(released).toBe(changelog.replace("## Unreleased\n", "## Unreleased\n\n## 0.2.0 (2026-02-03)\n"));
  expect(changesOf(released, "0.2.0")).toBe("### Added\n\n- Much.");
  expect(changesOf(released, "0.1.0")).toBe("- All.");
});

it("releases nothing twice, and nothing that has no changes", () => {
  expect(() => releaseChangelog(changelog, "0.1.0", "2026-02-03")).toThrow("has 0.1.0 already");
  const released = releaseChangelog(changelog, "0.2.0", "2026-02-03");
  expect(() => releaseChangelog(released, "0.3.0", "2026-02-03")).toThrow("nothing is unreleased");
  expect(() => releaseChangelog("# Changelog\n", "0.2.0", "2026-02-03")).toThrow('no "## Unreleased"');
  expect(() => changesOf(changelog, "0.2.0")).toThrow("says nothing of 0.2.0");
});

it("releases no source that has another version than the package", () => {
  expect(releaseVersion('const version = "0.1.0";', "0.1.0", "0.2.0")).toBe('const version = "0.2.0";');
  expect(() => releaseVersion('const version = "0.1.1";', "0.1.0", "0.2.0")).toThrow("another version than 0.1.0");
});

it.each([
  ["0.1.0", "minor", "0.2.0"],
  ["0.9.3", "patch", "0.9.4"],
  ["0.9.3", "major", "1.0.0"],
  ["0.9.3", "0.10.0", "0.10.0"],
])("goes from %s by %s to %s", (current, wanted, next) => {
  expect(nextVersion(current, wanted)).toBe(next);
});

it.each([
  ["0.2.0", "0.2.0", "not later"],
  ["0.10.0", "0.9.0", "not later"],
  ["0.1.0", "v0.2.0", "none of major, minor, patch"],
  ["0.1.0", "", "none of major, minor, patch"],
])("refuses to go from %s to %s", (current, wanted, why) => {
  expect(() => nextVersion(current, wanted)).toThrow(why);
});

/** A repository with the scripts of this one. */
function repository() {
  const folder = mkdtempSync(join(tmpdir(), "release-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const git = (...command: readonly string[]) =>
    execFileSync("git", ["-c", "user.name=a", "-c", "user.email=a@b.example", ...command], {
      cwd: folder,
      stdio: "pipe",
    });
  git("init", "--quiet");
  cpSync("tools/release", join(folder, "tools/release"), { recursive: true });
  symlinkSync(join(process.cwd(), "node_modules"), join(folder, "node_modules"));
  writeFileSync(join(folder, ".gitignore"), "node_modules\n");
  writeFileSync(join(folder, "package.json"), '{ "name": "a", "version": "0.1.0", "type": "module" }\n');
  writeFileSync(join(folder, "CHANGELOG.md"), changelog.replace(/\n## 0\.1\.0[\s\S]*/, "\n"));
  for (const file of versionFiles) {
    mkdirSync(join(folder, dirname(file)), { recursive: true });
    writeFileSync(join(folder, file), 'export const version = "0.1.0";\n');
  }
  mkdirSync(join(folder, "tools/api"));
  writeFileSync(join(folder, "tools/api/index.api.md"), "one\n");
  git("add", "--all");
  git("commit", "--quiet", "--message", "Begin");
  const run = (script: string, ...options: readonly string[]) =>
    spawnSync(process.execPath, ["--import", "tsx", `tools/release/${script}.ts`, ...options], {
      cwd: folder,
      encoding: "utf8",
    });
  const write = (file: string, text: string) => writeFileSync(join(folder, file), text);
  return { git, run, write, read: (file: string) => readFileSync(join(folder, file), "utf8") };
}

it("sets the version and the changelog by one command, in a clean tree only", () => {
  const { git, run, write, read } = repository();
  write("tools/api/index.api.md", "two\n");
  expect(run("release", "minor")).toMatchObject({ status: 1, stderr: expect.stringContaining("has changes") });
  git("checkout", "--quiet", ".");
  expect(run("release", "minor")).toMatchObject({ status: 0, stdout: expect.stringContaining("git tag v0.2.0") });
  expect(JSON.parse(read("package.json"))).toMatchObject({ version: "0.2.0" });
  for (const file of versionFiles) expect(read(file)).toBe('export const version = "0.2.0";\n');
  expect(read("CHANGELOG.md")).toMatch(/^## Unreleased\n\n## 0\.2\.0 \(\d{4}-\d\d-\d\d\)\n\n### Added$/m);
});

it("shows what changed in the published types since the release before", () => {
  const { git, run, write } = repository();
  expect(run("api-difference").stdout).toContain("+one");
  git("tag", "v0.1.0");
  write("tools/api/index.api.md", "two\n");
  git("commit", "--quiet", "--all", "--message", "Change");
  git("tag", "v0.2.0");
  const { stdout } = run("api-difference");
  expect(stdout).toContain("-one");
  expect(stdout).toContain("+two");
  git("commit", "--quiet", "--allow-empty", "--message", "Nothing");
  expect(run("api-difference").stdout).toBe("Nothing has changed since v0.2.0.\n");
});

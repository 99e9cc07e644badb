import { expect, it } from "vitest";
import { changesOf, nextVersion, releaseChangelog, releaseVersion } from "../../tools/release/release-changelog.js";

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

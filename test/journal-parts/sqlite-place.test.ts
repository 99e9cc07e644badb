import { spawnSync } from "node:child_process";
import { linkSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished, vi } from "vitest";
import { whyLogIsApart } from "../../src/journals/sqlite-place.js";
import { program } from "../support/program.js";

const canMount = spawnSync("unshare", ["--mount", "true"]).status === 0;

/** The kernel's list of mounts, as it is here or elsewhere. */
function withMounts(text: string | undefined): void {
  const spied = vi.spyOn(process.getBuiltinModule("node:fs"), "readFileSync").mockImplementation((...asked) => {
    expect(asked).toEqual(["/proc/self/mountinfo", "utf8"]);
    if (text === undefined) throw new Error("ENOENT");
    return text;
  });
  onTestFinished(() => spied.mockRestore());
}
const apart =
  "it is mounted by itself, and its log, which has the newest commits, stays behind with the container. Mount its folder";

it("reads the mounts of Linux, in which a space is written in octal", () => {
  withMounts("1 0 0:1 / / rw - ext4 /a rw\n2 1 0:1 /of /a\\040b\\134c rw - ext4 /d rw\n3 1 0:1 / /last rw - ext4 /e\n");
  const paths = ["/a b\\c", "/last", "/of", "/d", "/a", "", "undefined"];
  expect(paths.map(whyLogIsApart)).toEqual([apart, apart, ...Array.from({ length: 5 })]);
});

it("takes no file for mounted where there is no list of mounts", () => {
  withMounts(undefined);
  expect(whyLogIsApart("/a")).toBeUndefined();
});

it("counts the names of a file", () => {
  withMounts("");
  const folder = mkdtempSync(join(tmpdir(), "cross-border-names-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const file = join(folder, "payments.db");
  expect(whyLogIsApart(file)).toBeUndefined();
  writeFileSync(file, "");
  expect(whyLogIsApart(file)).toBeUndefined();
  linkSync(file, `${file}.other`);
  expect(whyLogIsApart(file)).toBe(
    "it has another name, a hard link, and each name has a log of its own. Leave it one name",
  );
});

it.skipIf(!canMount)("refuses a file that is mounted by itself: its log would stay behind with the container", () => {
  const folder = mkdtempSync(join(tmpdir(), "cross-border-mounts-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const [file, mounted] = [join(folder, "payments.db"), join(folder, "a container/payments.db")];
  mkdirSync(join(folder, "a container"));
  for (const path of [file, mounted]) writeFileSync(path, "");
  const found = spawnSync("unshare", [
    ...["--mount", "sh", "-c", 'mount --bind "$1" "$2" && exec "$3" "$4" "$2"', "sh", file, mounted],
    ...[process.execPath, ...program("test/journal-parts/why-log-is-apart.ts")],
  ]);
  expect(String(found.stdout)).toContain("mounted by itself");
  expect(whyLogIsApart(file)).toBeUndefined();
});

/**
 * Why the log of a file would not be the log of everybody who opens it: SQLite keeps it in the same folder, under the same name with `-wal` at its
 * end. Whoever knows the file by another name, or in another folder, has another log, and neither's commits reach the other.
 *
 * @param path absolute, and empty for a database without a file.
 */
export function whyLogIsApart(path: string): string | undefined {
  const fs = process.getBuiltinModule("node:fs");
  const { nlink = 1 } = fs.statSync(path, { throwIfNoEntry: false }) ?? {};
  if (nlink > 1) return "it has another name, a hard link, and each name has a log of its own. Leave it one name";
  if (mountPoints(fs).has(path)) {
    return "it is mounted by itself, and its log, which has the newest commits, stays behind with the container. Mount its folder";
  }
  return undefined;
}

/** Linux alone has this list. Spaces and backslashes in it are written in octal. */
function mountPoints(fs: typeof import("node:fs")): ReadonlySet<string | undefined> {
  try {
    const mounts = fs.readFileSync("/proc/self/mountinfo", "utf8").split("\n");
    return new Set(mounts.map((mount) => mount.split(" ")[4]?.replace(/\\(\d{3})/g, fromOctal)));
  } catch {
    return new Set();
  }
}

function fromOctal(_: string, digits: string): string {
  return String.fromCharCode(Number.parseInt(digits, 8));
}

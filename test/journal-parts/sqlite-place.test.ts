import { spawnSync } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { whyLogIsApart } from "../../src/journals/sqlite-place.js";
import { program } from "../support/program.js";

const canMount = spawnSync("unshare", ["--mount", "true"]).status === 0;

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

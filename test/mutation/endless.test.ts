import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it, onTestFinished } from "vitest";
import { forgetEndless } from "../../tools/mutation/mutants.js";

it("forgets of a run what was noticed only because tests did not end", () => {
  const folder = mkdtempSync(join(tmpdir(), "mutation-"));
  onTestFinished(() => rmSync(folder, { recursive: true }));
  const path = join(folder, "report.json");
  const killed = { status: "Killed", statusReason: "expected 1 to be 2" };
  const survived = { status: "Survived" };
  const endless = [{ status: "Timeout" }, { status: "Killed", statusReason: "Error: Test timed out in 10000ms." }];
  const report = { thresholds: {}, files: { "src/a.ts": { source: "a", mutants: [killed, ...endless, survived] } } };
  writeFileSync(path, JSON.stringify(report));
  forgetEndless(path);
  expect(JSON.parse(readFileSync(path, "utf8"))).toEqual({
    ...report,
    files: { "src/a.ts": { source: "a", mutants: [killed, survived] } },
  });
});

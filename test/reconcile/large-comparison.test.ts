import { spawnSync } from "node:child_process";
import { expect, it } from "vitest";
import { program } from "../support/program.js";

it("compares 100,000 entries with as many payments in a heap that could not hold them", () => {
  // Held in memory, these records take more than 200 MiB; what the process and its compiler need is about 30.
  // In less than this, Node 24 does little but collect garbage.
  const argv = ["--max-old-space-size=160", ...program("test/reconcile/large-comparison.ts"), "100000"];
  const { status, stdout, stderr } = spawnSync(process.execPath, argv, {
    encoding: "utf8",
    env: { ...process.env, NODE_OPTIONS: "", NODE_V8_COVERAGE: "" },
  });
  expect(status, stderr).toBe(0);
  const figures = JSON.parse(stdout);
  expect(figures.peakHeapMiB).toBeLessThan(120);
  expect(figures).toMatchObject({
    count: 100_000,
    found: { "missing-here": 100, "missing-there": 100, different: 100 },
  });
});

import { spawnSync } from "node:child_process";
import { describe, expect, it } from "vitest";
import { program } from "../support/program.js";
import { type ResponseShape, responseShapes } from "./response-shapes.js";

const mebibyte = 2 ** 20;
const script = program("test/http/response-costs-process.ts");

// Five times its size in memory, and 50 ms above `JSON.parse`; where that takes more than half a second, a tenth of it, since on a
// busy machine it is as slow. Five runs are timed and the fastest counts: other processes only add to it.
describe.each(responseShapes)("10 MiB: %s", (shape) => {
  it("takes little memory and little time besides JSON.parse", { timeout: 240_000 }, () => {
    const { heapBytes = 0 } = runProcess(shape, "parse", ["--expose-gc"]);
    const heapMiB = Math.ceil(heapBytes / mebibyte) + 5 * 10;
    const task = shape.startsWith("a refusal") ? "refusal" : "read";
    const { parseMs = 0, blockedMs } = runProcess(shape, task, [`--max-old-space-size=${heapMiB}`]);
    expect(blockedMs).toBeLessThan(Math.max(50, parseMs / 10));
  });
});

interface Cost {
  readonly heapBytes?: number;
  readonly parseMs?: number;
  readonly blockedMs?: number;
}

function runProcess(shape: ResponseShape, task: string, flags: readonly string[]): Cost {
  const { status, signal, stdout, stderr } = spawnSync(process.execPath, [...flags, ...script, shape, task], {
    encoding: "utf8",
    env: { ...process.env, NODE_OPTIONS: "", NODE_V8_COVERAGE: "" },
  });
  expect({ status, signal }, stderr.slice(0, 2000)).toEqual({ status: 0, signal: null });
  return JSON.parse(stdout) as Cost;
}

import { PassThrough } from "node:stream";
import { afterEach, expect, it } from "vitest";
import { showProgress } from "../../src/cli/lists/progress.js";
import type { Terminal } from "../../src/cli/terminal.js";
import { clock, setClock } from "../../src/timing/clock.js";

let nowMs = 5000;
afterEach(() => setClock(undefined));

function progressOf(showsProgress: boolean) {
  nowMs = 5000;
  setClock({ ...clock, monotonicMs: () => nowMs });
  const stderr = new PassThrough({ encoding: "utf8" });
  const progress = showProgress({ stderr, showsProgress } as Partial<Terminal> as Terminal);
  return { progress, written: (): string => stderr.read() ?? "" };
}

it("shows records and their rate in one line, at most ten times a second, and at last all of them", () => {
  const { progress, written } = progressOf(true);
  nowMs += 500;
  progress.show(1);
  expect(written()).toBe("\r1 record, 2 a second\x1b[K");
  nowMs += 99;
  progress.show(2);
  expect(written()).toBe("");
  nowMs += 1;
  progress.show(3);
  expect(written()).toBe("\r3 records, 5 a second\x1b[K");
  nowMs += 50;
  progress.show(13);
  expect(written()).toBe("");
  progress.end();
  expect(written()).toBe("\r13 records, 20 a second\x1b[K\n");
});

it("has a rate where no time has passed", () => {
  const { progress, written } = progressOf(true);
  progress.show(2);
  expect(written()).toBe("\r2 records, 2000 a second\x1b[K");
});

it("says nothing where progress is not shown", () => {
  const { progress, written } = progressOf(false);
  progress.show(1);
  progress.end();
  expect(written()).toBe("");
});

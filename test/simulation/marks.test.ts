import { expect, it } from "vitest";
import { Marks } from "../../src/simulation/marks.js";
import { simulateFlows } from "../../src/simulation/simulate-flows.js";
import { allMarks, describeMarks, reportMarks } from "./mark-report.js";
import { reasons } from "./unreached.js";

const key = "flow 1";

it("counts what happened to a flow with its next step, once", () => {
  const marks = new Marks();
  marks.owns("one", key);
  marks.happened(key, "the payment is lost");
  marks.happenedTo("one", "its process is paused");
  marks.happenedTo("another", "its process is killed");
  marks.decided({ key, from: "claimed", to: "unknown" });
  marks.decided({ key, from: "unknown", to: "unknown", effect: "possible" });
  expect(Object.fromEntries(marks.reached)).toEqual({
    "claimed: the payment is lost: unknown": 1,
    "claimed: its process is paused: unknown": 1,
    "unknown: nothing: goes on": 1,
  });
});

it("knows a step that failed, and another owner", () => {
  const marks = new Marks();
  marks.owns("one", key);
  marks.owns("another", key);
  marks.decided({
    key,
    from: "funds-requested",
    to: "funds-requested",
    effect: "possible",
    code: "unexpected_failure",
  });
  marks.decided({ key, from: "refused", to: "refused", effect: "possible" });
  expect([...marks.reached.keys()]).toEqual([
    "funds-requested: another process takes it over: fails",
    "refused: nothing: fails",
  ]);
});

it("leaves what happens to a settled flow's process to others", () => {
  const marks = new Marks();
  marks.owns("one", key);
  marks.decided({ key, from: "claimed", to: "paid" });
  marks.happenedTo("one", "its process is killed");
  expect(marks.isOpen(key)).toBe(false);
  expect([...marks.reached.keys()]).toEqual(["claimed: nothing: paid"]);
});

it("reports what was never reached, with a reason or without one, and what no flow may do", () => {
  const reached = Object.fromEntries(allMarks().map((mark) => [mark, 3]));
  const { "claimed: nothing: paid": _, "held: nothing: paid": __, ...counts } = reached;
  const report = reportMarks({ ...counts, "claimed: nothing: unknown": 1, "claimed: nothing: declined": 1 });
  expect(report).toMatchObject({
    reached: report.all - 2,
    rarest: { marks: ["claimed: nothing: unknown"], schedules: 1 },
    explained: ["held: nothing: paid"],
    unexplained: ["claimed: nothing: paid"],
    foreign: ["claimed: nothing: declined"],
  });
  expect(describeMarks(report)).toContain("  claimed: nothing: paid\n");
});

it("has no reason for what is always reached, and none that is needed by no cell", async () => {
  for (const { cells } of reasons)
    expect(allMarks().filter((mark) => cells.test(mark)).length, String(cells)).toBeGreaterThan(0);
  const { marks } = await simulateFlows({ schedules: 60, seed: 20 });
  expect(reportMarks(marks).foreign).toEqual([]);
  const often = Object.keys(marks).filter((mark) => (marks[mark] ?? 0) > 12);
  expect(often.length).toBeGreaterThan(5);
  expect(often.filter((mark) => reasons.some(({ cells }) => cells.test(mark)))).toEqual([]);
});

import { expect, it } from "vitest";
import { CrashMarks } from "../crash/crash-marks.js";
import { machineNowMs } from "../crash/machine-time.js";

const key = "order";

it("puts what processes report late in the order in which it happened", () => {
  const marks = new CrashMarks();
  marks.ofService("payments.create", key, "lost");
  const lostAtMs = machineNowMs();
  marks.decided("one", { key, from: "claimed", to: "unknown", effect: "possible" }, lostAtMs + 1);
  marks.decided("one", { key, from: "funds-requested", to: "claimed" }, lostAtMs - 1000);
  expect(marks.reached()).toEqual({
    "funds-requested: nothing: claimed": 1,
    "claimed: the payment's response is lost: unknown": 1,
  });
});

it("counts a killed process with what the next owner does", () => {
  const marks = new CrashMarks();
  const startMs = machineNowMs();
  marks.decided("one", { key, from: "funds-requested", to: "claimed" }, startMs - 2);
  marks.happenedTo("one", "its process is killed");
  marks.decided("two", { key, from: "claimed", to: "unknown", effect: "possible" }, startMs + 60_000);
  expect(marks.reached()).toEqual({
    "funds-requested: nothing: claimed": 1,
    "claimed: its process is killed: unknown": 1,
    "claimed: another process takes it over: unknown": 1,
  });
});

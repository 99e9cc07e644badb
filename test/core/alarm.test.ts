import { expect, it } from "vitest";
import { Alarm } from "../../src/core/deadline.js";

it("calls each listener once, however often it goes off", () => {
  const alarm = new Alarm();
  const calls: string[] = [];
  alarm.listen(() => calls.push("one"));
  alarm.listen(() => calls.push("two"));
  expect(calls).toEqual([]);
  alarm.goOff();
  alarm.goOff();
  expect(calls).toEqual(["one", "two"]);
});

it("calls who listens too late at once", () => {
  const alarm = new Alarm();
  alarm.goOff();
  let isCalled = false;
  alarm.listen(() => {
    isCalled = true;
  });
  expect(isCalled).toBe(true);
});

it("calls nobody who stopped listening", () => {
  const alarm = new Alarm();
  let isCalled = false;
  const stop = alarm.listen(() => {
    isCalled = true;
  });
  stop();
  alarm.goOff();
  expect(isCalled).toBe(false);
});

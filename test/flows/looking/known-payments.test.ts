import { beforeEach, expect, it, onTestFinished, vi } from "vitest";
import { KnownPayments } from "../../../src/flows/looking/known-payments.js";

const lagMs = 1000;
const skewMs = 60_000;
const startMs = Date.UTC(2030, 0, 1);
let known: KnownPayments;

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["Date", "performance"] });
  onTestFinished(() => void vi.useRealTimers());
  vi.advanceTimersByTime(1e6);
  vi.setSystemTime(startMs);
  known = new KnownPayments(lagMs, skewMs);
});

const pass = (ms: number) => vi.advanceTimersByTime(ms);
const at = (ms: number) => new Date(startMs + ms).toISOString();
const note = (id: string, createdAt = at(0)) => known.note({ id, createdAt });
/** Which it would demand, once all are old enough. */
function ids(): readonly unknown[] {
  pass(lagMs);
  return known.toBeListed().map(({ id, token }) => id ?? token);
}

it("demands what has been known for as long as a list may lag, and nothing younger", () => {
  expect(known.hasAny).toBe(false);
  note("a");
  expect(known.hasAny).toBe(true);
  pass(lagMs - 1);
  expect(known.toBeListed()).toEqual([]);
  pass(1);
  expect(known.toBeListed()).toMatchObject([{ id: "a" }]);
});

it("knows the newest eight", () => {
  for (let number = 1; number <= 10; number++) {
    note(`p-${number}`);
    pass(lagMs / 2);
  }
  expect(ids()).toEqual([3, 4, 5, 6, 7, 8, 9, 10].map((number) => `p-${number}`));
});

it("lets the last one give way while the one before it is young: of many in a row, some are old enough", () => {
  note("a");
  note("b");
  pass(lagMs / 2 - 1);
  note("c");
  pass(1);
  note("d");
  expect(ids()).toEqual(["a", "c", "d"]);
});

it("knows a payment once, by its id or its token, and none that has neither", () => {
  known.note({ pagingToken: "7", createdAt: at(0) });
  known.note({ id: "a", pagingToken: "7", createdAt: at(1) });
  known.note({ id: "", pagingToken: "", createdAt: at(1) });
  known.note({ createdAt: at(1) });
  pass(lagMs);
  note("b");
  note("b", at(1));
  expect(ids()).toEqual(["7", "b"]);
});

it.each([
  ["older than one that is known by more than clocks may differ", 0, -skewMs - 1, false],
  ["older by as much as clocks may differ", 0, -skewMs, true],
  ["much older than one whose clock is as far ahead as it may be", skewMs, -1, false],
  ["much older than one whose clock is further ahead than it may be", skewMs + 1, 0, true],
])("notes a payment or not that is %s", (_, knownMs, createdMs, isNoted) => {
  note("known", at(knownMs));
  pass(lagMs / 2);
  // Both are looked at by the clock of now.
  vi.setSystemTime(startMs);
  note("other", at(createdMs));
  expect(ids()).toEqual(isNoted ? ["known", "other"] : ["known"]);
});

it("notes a payment of which nobody knows when it was created", () => {
  note("known");
  known.note({ id: "timeless" });
  expect(ids()).toEqual(["known", "timeless"]);
});

import { expect, it, onTestFinished, vi } from "vitest";
import type { JournalEntry } from "../../../src/flows/journal.js";
import { LeaseObserver } from "../../../src/flows/ownership/lease-observer.js";

const lease = { epoch: 1, nonce: "n", revision: 2, leaseUntilMs: 9_000 };
const entry = (more: Partial<JournalEntry> = {}) =>
  ({ key: "k", ...lease, leaseMs: 1_000, isOverlong: true, ...more }) as JournalEntry;

function watch() {
  vi.useFakeTimers({ toFake: ["performance"] });
  onTestFinished(() => void vi.useRealTimers());
  vi.advanceTimersByTime(5_000);
  return new LeaseObserver();
}

it("finds a lease over that stayed as it is for its whole length, and no sooner", () => {
  const observer = watch();
  expect(observer.observed(entry())).toBeUndefined();
  vi.advanceTimersByTime(999);
  expect(observer.observed(entry())).toBeUndefined();
  vi.advanceTimersByTime(1);
  expect(observer.observed(entry())).toMatchObject(lease);
});

it.each<[string, Partial<JournalEntry>]>([
  ["taken", { epoch: 2 }],
  ["taken with another nonce", { nonce: "o" }],
  ["written", { revision: 3 }],
  ["renewed", { leaseUntilMs: 9_001 }],
  ["given back", { isOverlong: false }],
])("begins anew with one that was %s", (_, change) => {
  const observer = watch();
  observer.observed(entry());
  vi.advanceTimersByTime(1_000);
  expect(observer.observed(entry(change))).toBeUndefined();
  expect(observer.observed(entry())).toBeUndefined();
  vi.advanceTimersByTime(1_000);
  expect(observer.observed(entry())).toMatchObject(lease);
});

it("watches 10,000, and beyond that forgets the one that it has watched for longest", () => {
  const observer = watch();
  const keys = Array.from({ length: 10_000 }, (_, index) => `k${index}`);
  for (const key of keys) observer.observed(entry({ key }));
  // Begins anew, and so is the newest.
  observer.observed(entry({ key: "k1", epoch: 2 }));
  vi.advanceTimersByTime(1_000);
  const isOver = (key: string, more = {}) => observer.observed(entry({ key, ...more })) !== undefined;
  expect([isOver("k0"), isOver("k1", { epoch: 2 })]).toEqual([true, true]);
  observer.observed(entry({ key: "one more" }));
  expect([isOver("k2"), isOver("k1", { epoch: 2 }), isOver("k0")]).toEqual([true, true, false]);
});

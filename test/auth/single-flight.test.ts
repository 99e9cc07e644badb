import { afterEach, expect, it, vi } from "vitest";

const limitMs = 10_000;

afterEach(() => {
  vi.doUnmock("#platform");
  vi.resetModules();
  vi.useRealTimers();
});

/** @param outlived what a runtime was asked to keep alive; absent where runtimes end nothing. */
async function newWork<T>(outlived?: Promise<unknown>[]) {
  vi.resetModules();
  vi.useFakeTimers({ toFake: ["Date", "performance"] });
  vi.doMock("#platform", async (original) => ({
    ...(await original<typeof import("../../src/platform/platform.js")>()),
    waitUntil: outlived === undefined ? undefined : (work: Promise<unknown>) => void outlived.push(work),
  }));
  const { SingleFlight } = await import("../../src/auth/single-flight.js");
  return new SingleFlight<T>(limitMs);
}

/** Work that a runtime has dropped: it never settles. */
const dropped = () => new Promise<never>(() => {});

it("asks a runtime that ends work with its request to let this go on", async () => {
  const outlived: Promise<unknown>[] = [];
  const flight = await newWork<string>(outlived);
  const started = flight.join(async () => "done");
  expect(outlived).toEqual([started]);
});

it.each([
  ["not doubled where work goes on: an event loop that stood still has not read the response yet", undefined, false],
  ["started anew where the runtime has dropped it nevertheless, and not sooner", [], true],
])("is %s", async (_, outlived, isAnew) => {
  const flight = await newWork<string>(outlived);
  const first = flight.join(dropped);
  vi.advanceTimersByTime(limitMs - 1);
  expect(flight.current).toBe(first);
  vi.advanceTimersByTime(1);
  expect(flight.current).toBe(isAnew ? undefined : first);
});

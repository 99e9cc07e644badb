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
  const { JointWork } = await import("../../src/auth/joint-work.js");
  return new JointWork<T>(limitMs);
}

/** Work that a runtime has dropped: it never settles. */
const dropped = () => new Promise<never>(() => {});

it("is one piece of work for all that ask meanwhile, and another one for those after it", async () => {
  const joint = await newWork<number>();
  let started = 0;
  const work = async () => ++started;
  const both = [joint.join(work), joint.join(work)];
  expect(await Promise.all(both)).toEqual([1, 1]);
  expect(joint.current).toBeUndefined();
  expect(await joint.join(work)).toBe(2);
});

it("asks a runtime that ends work with its request to let this go on", async () => {
  const outlived: Promise<unknown>[] = [];
  const joint = await newWork<string>(outlived);
  const started = joint.start(async () => "done");
  expect(outlived).toEqual([started]);
});

it("is started anew where the runtime has dropped it nevertheless, and not sooner", async () => {
  const joint = await newWork<string>([]);
  const first = joint.start(dropped);
  vi.advanceTimersByTime(limitMs - 1);
  expect(joint.current).toBe(first);
  vi.advanceTimersByTime(1);
  expect(joint.current).toBeUndefined();
  expect(await joint.join(async () => "done")).toBe("done");
});

it("is never doubled where work goes on: an event loop that stood still has not read the response yet", async () => {
  const joint = await newWork<string>();
  const first = joint.start(dropped);
  vi.advanceTimersByTime(100 * limitMs);
  expect(joint.current).toBe(first);
});

it("is not ended by work that was given up before, and is done after all", async () => {
  const joint = await newWork<string>([]);
  let finish = (_result: string) => {};
  const late = joint.join(() => new Promise((resolve) => (finish = resolve)));
  vi.advanceTimersByTime(limitMs);
  const newer = joint.join(dropped);
  finish("late");
  expect(await late).toBe("late");
  expect(joint.current).toBe(newer);
});

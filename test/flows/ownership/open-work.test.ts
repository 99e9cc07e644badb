import { getEventListeners } from "node:events";
import { expect, it, onTestFinished, vi } from "vitest";
import { OpenWork } from "../../../src/flows/ownership/open-work.js";
import { sleep } from "../../../src/timing/clock.js";
import { deferred } from "../../support/deferred.js";
import { useFakeTime } from "./fake-time.js";

it("gives what the work gives, and throws what it throws", async () => {
  const work = new OpenWork();
  expect(await work.run(async () => "done")).toBe("done");
  const error = new Error("not done");
  await expect(work.run(() => Promise.reject(error))).rejects.toBe(error);
  expect(await work.close(1000)).toEqual({ pending: 0 });
});

it("starts nothing once it is closed", async () => {
  const work = new OpenWork();
  await work.close(1000);
  let ran = false;
  const late = work.run(async () => {
    ran = true;
  });
  await expect(late).rejects.toMatchObject({ code: "flow_closed", effect: "none", message: "the flow is closed" });
  expect([ran, work.isClosed]).toEqual([false, true]);
});

it("tells each work to stop, and waits for all of them", async () => {
  const work = new OpenWork();
  const ends = [deferred(), deferred()];
  const stopped: unknown[] = [];
  const running = ends.map((end) =>
    work.run(async (stop) => {
      stop.addEventListener("abort", () => stopped.push(stop.reason));
      await end.promise;
    }),
  );
  let isClosed = false;
  const closing = work.close(60_000).then((report) => {
    isClosed = true;
    return report;
  });
  expect(stopped).toMatchObject(Array(2).fill({ code: "flow_closed", message: "the flow was closed" }));
  ends[0]?.resolve();
  await running[0];
  await new Promise((resolve) => setImmediate(resolve));
  expect(isClosed).toBe(false);
  ends[1]?.resolve();
  expect(await closing).toEqual({ pending: 0 });
  await Promise.all(running);
});

it("tells no work to stop that has ended", async () => {
  const work = new OpenWork();
  const ended = await work.run(async (stop) => stop);
  await work.close(1000);
  expect(ended.aborted).toBe(false);
});

it.each([
  [10_000, 9000],
  [1000, 800],
])("within %i ms, tells work after %i ms to give up, and lets it store that", async (timeoutMs, giveUpMs) => {
  useFakeTime();
  const work = new OpenWork();
  const startedAt = Date.now();
  let gaveUpAfterMs: number | undefined;
  const running = work.run(async () => {
    await new Promise<void>((resolve) => {
      work.abandon.listen(resolve);
    });
    gaveUpAfterMs = Date.now() - startedAt;
    await sleep(100);
  });
  const closing = work.close(timeoutMs);
  await vi.advanceTimersByTimeAsync(timeoutMs - 1);
  expect(await closing).toEqual({ pending: 0 });
  expect(gaveUpAfterMs).toBe(giveUpMs);
  await running;
});

it("resolves when its time is over, and says how much is still pending", async () => {
  useFakeTime();
  const work = new OpenWork();
  const end = deferred();
  const running = work.run(() => end.promise);
  const onClosed = vi.fn();
  const closing = work.close(50).then(onClosed);
  await vi.advanceTimersByTimeAsync(49);
  expect(onClosed).not.toHaveBeenCalled();
  await vi.advanceTimersByTimeAsync(1);
  expect(onClosed).toHaveBeenCalledWith({ pending: 1 });
  end.resolve();
  await Promise.all([closing, running]);
});

it("leaves no timer behind, which would keep the process from ending", async () => {
  useFakeTime();
  const work = new OpenWork();
  const end = deferred();
  const running = work.run(() => end.promise);
  const closing = work.close(60_000);
  end.resolve();
  await Promise.all([closing, running]);
  expect(vi.getTimerCount()).toBe(0);
});

it("closes once: whoever calls it again waits for the same end", async () => {
  const work = new OpenWork();
  const end = deferred();
  const running = work.run(() => end.promise);
  const closings = [work.close(60_000), work.close(1)];
  end.resolve();
  expect(await Promise.all(closings)).toEqual([{ pending: 0 }, { pending: 0 }]);
  await running;
});

it("stops a work when its caller's signal aborts, with its reason, and leaves no listener behind", async () => {
  const work = new OpenWork();
  const caller = new AbortController();
  const reason = new Error("the customer left");
  const stopped = work.run(
    (stop) => new Promise((resolve) => stop.addEventListener("abort", () => resolve(stop.reason))),
    caller.signal,
  );
  caller.abort(reason);
  expect(await stopped).toBe(reason);
  expect(await work.run(async (stop) => stop.aborted, caller.signal)).toBe(true);
  const other = new AbortController();
  await work.run(async () => {}, other.signal);
  expect([caller, other].map(({ signal }) => getEventListeners(signal, "abort").length)).toEqual([0, 0]);
});

it("warns of no leak while very many are at work", async () => {
  const warnings: Error[] = [];
  const onWarning = (warning: Error) => warnings.push(warning);
  process.on("warning", onWarning);
  onTestFinished(() => void process.off("warning", onWarning));
  const work = new OpenWork();
  const end = deferred();
  const running = Array.from({ length: 1000 }, () =>
    work.run(async (stop) => {
      stop.addEventListener("abort", () => {});
      work.abandon.listen(() => {});
      await end.promise;
    }),
  );
  end.resolve();
  await Promise.all(running);
  await new Promise((resolve) => setImmediate(resolve));
  expect(warnings).toEqual([]);
});

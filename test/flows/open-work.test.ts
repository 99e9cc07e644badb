import { getEventListeners } from "node:events";
import { expect, it, onTestFinished } from "vitest";
import { OpenWork } from "../../src/flows/open-work.js";

function deferred<T = void>() {
  let resolve: (value: T) => void = () => {};
  const promise = new Promise<T>((settle) => {
    resolve = settle;
  });
  return { promise, resolve };
}

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
  await expect(late).rejects.toMatchObject({ code: "flow_closed", effect: "none" });
  expect([ran, work.isClosed]).toEqual([false, true]);
});

it("tells each work to stop, and waits for all of them", async () => {
  const work = new OpenWork();
  const ends = [deferred(), deferred()];
  const stopped: number[] = [];
  const running = ends.map((end, index) =>
    work.run(async (stop) => {
      stop.addEventListener("abort", () => stopped.push(index));
      await end.promise;
    }),
  );
  let isClosed = false;
  const closing = work.close(60_000).then((report) => {
    isClosed = true;
    return report;
  });
  expect(stopped).toEqual([0, 1]);
  ends[0]?.resolve();
  await running[0];
  await new Promise((resolve) => setImmediate(resolve));
  expect(isClosed).toBe(false);
  ends[1]?.resolve();
  expect(await closing).toEqual({ pending: 0 });
  await Promise.all(running);
});

it("tells work to give up shortly before its time is over, and lets it store that", async () => {
  const work = new OpenWork();
  let stored = false;
  const running = work.run(async () => {
    await new Promise<void>((resolve) => {
      work.abandon.listen(resolve);
    });
    await new Promise((resolve) => setImmediate(resolve));
    stored = true;
  });
  expect(await work.close(250)).toEqual({ pending: 0 });
  expect(stored).toBe(true);
  await running;
});

it("resolves when its time is over, and says how much is still pending", async () => {
  const work = new OpenWork();
  const end = deferred();
  const running = work.run(() => end.promise);
  expect(await work.close(50)).toEqual({ pending: 1 });
  end.resolve();
  await running;
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

import fc from "fast-check";
import { expect, it } from "vitest";
import { limitConcurrency } from "../../src/platform/limit-concurrency.js";

it("starts work that finds room in the caller's own tick", () => {
  const limited = limitConcurrency(1);
  let started = false;
  void limited(async () => {
    started = true;
  });
  expect(started).toBe(true);
});

it("passes on what the work resolves to and what it rejects with", async () => {
  const limited = limitConcurrency(2);
  const failure = new Error("failed");
  await expect(limited(async () => 7)).resolves.toBe(7);
  await expect(limited(() => Promise.reject(failure))).rejects.toBe(failure);
});

it("frees the place of work that throws before it returns a promise", async () => {
  const limited = limitConcurrency(1);
  const broken = limited(() => {
    throw new Error("at once");
  });
  await expect(broken).rejects.toThrow("at once");
  await expect(limited(async () => "next")).resolves.toBe("next");
});

it("does not pile up the stack when much waiting work throws before it returns a promise", async () => {
  const limited = limitConcurrency(1);
  const all = Array.from({ length: 50_000 }, () =>
    limited(() => {
      throw new Error("at once");
    }),
  );
  const settled = await Promise.allSettled(all);
  expect(settled.every((result) => result.status === "rejected" && result.reason.message === "at once")).toBe(true);
});

it("lets nobody overtake: a newcomer waits after those that waited before it", async () => {
  const limited = limitConcurrency(1);
  const order: string[] = [];
  const first = limited(async () => void order.push("first"));
  const second = limited(async () => void order.push("second"));
  const newcomer = first.then(() => limited(async () => void order.push("newcomer")));
  await Promise.all([first, second, newcomer]);
  expect(order).toEqual(["first", "second", "newcomer"]);
});

it("runs all, in order, and never more than the limit at once, whatever each of them takes and however it ends", async () => {
  const job = fc.record({ turns: fc.nat(5), fails: fc.boolean(), gap: fc.nat(2) });
  await fc.assert(
    fc.asyncProperty(fc.integer({ min: 1, max: 9 }), fc.array(job, { maxLength: 60 }), async (max, jobs) => {
      const limited = limitConcurrency(max);
      const started: number[] = [];
      let running = 0;
      let most = 0;
      const results: Promise<number>[] = [];
      for (const [index, { turns, fails, gap }] of jobs.entries()) {
        results.push(
          limited(async () => {
            started.push(index);
            running += 1;
            most = Math.max(most, running);
            await microtasks(turns);
            running -= 1;
            if (fails) throw new Error(String(index));
            return index;
          }),
        );
        results.at(-1)?.catch(() => {});
        await microtasks(gap);
      }
      const settled = await Promise.allSettled(results);
      expect(started).toEqual(jobs.map((_, index) => index));
      expect(settled.map(({ status }) => status === "rejected")).toEqual(jobs.map(({ fails }) => fails));
      expect(most).toBeLessThanOrEqual(max);
      expect(running).toBe(0);
    }),
  );
});

it("uses all of its room", async () => {
  const limited = limitConcurrency(8);
  let running = 0;
  const releases: (() => void)[] = [];
  const work = () =>
    limited(() => {
      running += 1;
      return new Promise<void>((resolve) => releases.push(resolve));
    });
  const all = Array.from({ length: 20 }, work);
  expect(running).toBe(8);
  for (let done = 0; done < 20; done += 1) {
    releases[done]?.();
    await microtasks(5);
    expect(running).toBe(Math.min(20, 9 + done));
  }
  await Promise.all(all);
});

async function microtasks(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await undefined;
}

import fc from "fast-check";
import { expect, it } from "vitest";
import { runs } from "../support/thorough.js";
import { busyWorld, listWorld, meet } from "./list-worlds.js";
import { withoutWaiting } from "./without-waiting.js";

withoutWaiting();

/** `CBP_LISTS=20000 npx vitest run --project unit test/paging/silent-cuts.test.ts` prints how so many lists ended. */
const lists = Number(process.env.CBP_LISTS ?? runs(4000));

it("cuts no list in silence, behind replicas, caches and empty pages, and while records move, leave and come late", async () => {
  const ends = { whole: 0, error: 0, cut: 0, repeated: 0 };
  for (const world of fc.sample(listWorld, { numRuns: lists, seed: 27 })) ends[await meet(world)] += 1;
  if (process.env.CBP_LISTS !== undefined) console.log(`of ${lists} lists: ${JSON.stringify(ends)}`);
  expect(ends).toMatchObject({ cut: 0, repeated: 0 });
  // Most of them are read all the same.
  expect(ends.whole).toBeGreaterThan(lists / 2);
});

it("shrinks a list that was cut to the smallest such world", async () => {
  await fc.assert(
    fc.asyncProperty(listWorld, async (world) => {
      expect(await meet(world)).not.toMatch(/cut|repeated/);
    }),
    { numRuns: runs(1000) },
  );
});

it("cuts no descending list to which several records come with each request, and ends in an error only where some move", async () => {
  for (const world of fc.sample(busyWorld, { numRuns: runs(2000), seed: 5 })) {
    const moves = world.traits.events.some(({ kind }) => kind === "grow");
    expect([await meet(world), world]).toEqual([moves ? expect.stringMatching(/whole|error/) : "whole", world]);
  }
});

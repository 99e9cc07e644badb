import fc from "fast-check";
import { expect, it } from "vitest";
import { runs } from "../support/thorough.js";
import { type ListWorld, listWorld, meet } from "./list-worlds.js";
import { withoutWaiting } from "./without-waiting.js";

withoutWaiting();

const lists = runs(2000);

const prefetched = listWorld.map((world): ListWorld => ({ ...world, query: { ...world.query, prefetch: true } }));

it("loses no record of a page that was requested ahead, while records move, leave and come late, and replicas lag", async () => {
  const ends = { whole: 0, error: 0, cut: 0, repeated: 0 };
  for (const world of fc.sample(prefetched, { numRuns: lists, seed: 6 })) ends[await meet(world)] += 1;
  expect(ends).toMatchObject({ cut: 0, repeated: 0 });
  expect(ends.whole).toBeGreaterThan(lists / 2);
});

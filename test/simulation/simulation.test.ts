import { expect, it } from "vitest";
import { defects } from "./defects.js";
import { simulate } from "./simulate.js";

/** `npm run simulate` runs more. */
const schedules = 150;
const seeds = Array.from({ length: schedules }, (_, index) => index + 1);

it(`breaks no law in ${schedules} schedules`, async () => {
  const ended = new Set<string>();
  for (const seed of seeds) {
    const { broken, log, phases } = await simulate(seed);
    expect(broken, `seed ${seed}\n${log.join("\n")}`).toEqual([]);
    for (const phase of phases) ended.add(phase);
  }
  expect([...ended]).toEqual(expect.arrayContaining(["paid", "held", "declined", "rejected"]));
});

it("replays a seed exactly", async () => {
  for (const seed of seeds.slice(0, 10)) expect(await simulate(seed)).toEqual(await simulate(seed));
});

it.each(Object.entries(defects))("finds the defect: %s", async (_name, defect) => {
  for (const seed of [defect.seed ?? 1, ...seeds]) {
    const { broken } = await simulate(seed, defect);
    if (broken.length > 0) return;
  }
  expect.unreachable("no schedule shows it");
});

import { expect, it } from "vitest";
import { clocksOf } from "../../../src/cli/probe/clocks.js";

const range = (fromMs: number, toMs: number) => ({ fromMs, toMs, setAtMs: 0 });

it("finds no more clocks than it takes, in whichever order responses come", () => {
  // Two clocks, 0 and 900 ms ahead; each second response fits both.
  const ranges = [range(-500, 600), range(500, 1600), range(-900, 200), range(800, 1900)];
  const orders = ranges.flatMap((_, at) => [[...ranges.slice(at), ...ranges.slice(0, at)], [...ranges].reverse()]);
  for (const order of orders) expect(clocksOf(order)).toHaveLength(2);
});

it("counts as apart what can't be one clock", () => {
  expect(clocksOf([range(0, 10), range(5, 15), range(10, 20)])).toEqual([{ fromMs: 10, toMs: 10, count: 3 }]);
  expect(clocksOf([range(11, 20), range(0, 10), range(0, 10)])).toHaveLength(2);
});

import { expect, it } from "vitest";
import { Choices, seedOf } from "../../src/simulation/choices.js";

const draw = (choices: Choices) => [
  choices.below(100),
  choices.chance(500),
  choices.of(["nothing", "pause", "kill"]),
  choices.weighted([
    ["usual", 90],
    ["rare", 10],
  ]),
];

it("draws the same from the same seed, and something else from another one", () => {
  const series = (seed: number) =>
    JSON.stringify(Array.from({ length: 20 }, () => 0).map(() => draw(Choices.fromSeed(seed))));
  expect(series(7)).toBe(series(7));
  const seeds = new Set(Array.from({ length: 1000 }, (_, index) => seedOf(1, index) | 0));
  expect(seeds.size).toBe(1000);
});

it("replays what was made, and goes on without a fault", () => {
  const first = Choices.fromSeed(3);
  const drawn = draw(first);
  const second = Choices.replay(first.made);
  expect(draw(second)).toEqual(drawn);
  expect(draw(second)).toEqual([0, false, "nothing", "usual"]);
});

it("draws each case as often as it should", () => {
  const choices = Choices.fromSeed(11);
  const rate = Array.from({ length: 20_000 }, () => choices.chance(250)).filter(Boolean).length / 20_000;
  expect(rate).toBeGreaterThan(0.23);
  expect(rate).toBeLessThan(0.27);
});

it("makes nothing go wrong once it is quiet, and draws nothing", () => {
  const choices = Choices.fromSeed(5);
  choices.quieten();
  expect([choices.chance(999), choices.below(9), choices.of(["a", "b"])]).toEqual([false, 0, "a"]);
  expect(choices.made).toEqual([]);
});

import { expect, it } from "vitest";
import { Choices } from "../../src/simulation/choices.js";
import { Guide } from "../../src/simulation/guide.js";

const always = () => true;

/** How many schedules it takes to choose a number below 20 six times in a row, where each of them is a mark. */
function schedulesUntilFound(next: () => Choices, learn: (choices: Choices, marks: readonly string[]) => void): number {
  for (let schedules = 1; schedules < 200_000; schedules++) {
    const choices = next();
    let depth = 0;
    while (depth < 6 && choices.below(1000) < 20) depth += 1;
    if (depth === 6) return schedules;
    learn(
      choices,
      Array.from({ length: depth + 1 }, (_, at) => `depth ${at}`),
    );
  }
  return 200_000;
}

it("finds what takes several rare choices in a row, which chance does not", () => {
  const guide = new Guide(7);
  const guided = schedulesUntilFound(
    () => guide.next(),
    (choices, marks) => guide.learn(choices, marks, always),
  );
  let made = 0;
  const atRandom = schedulesUntilFound(
    () => Choices.fromSeed(made++),
    () => {},
  );
  expect(guided).toBeLessThan(20_000);
  expect(atRandom).toBe(200_000);
});

it("draws the same again from the same seed", () => {
  const series = () => {
    const guide = new Guide(3);
    return Array.from({ length: 30 }, (_, index) => {
      const choices = guide.next();
      const drawn = Array.from({ length: 5 }, () => choices.below(1000));
      guide.learn(choices, [`mark ${index % 7}`], always);
      return drawn;
    });
  };
  expect(series()).toEqual(series());
});

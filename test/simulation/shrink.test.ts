import { expect, it } from "vitest";
import { shrink } from "../../src/simulation/shrink.js";

it("leaves of a long sequence what it takes to fail", async () => {
  const failing = Array.from({ length: 200 }, (_, index) => (index * 7919) % 1000);
  const isFailing = async (choices: readonly number[]) =>
    choices.some((choice, index) => choice >= 700 && choices.slice(index + 1).some((later) => later >= 300));
  expect(await isFailing(failing)).toBe(true);
  const shrunk = await shrink(failing, isFailing, 5000);
  expect(await isFailing(shrunk)).toBe(true);
  expect(shrunk).toHaveLength(2);
});

it("gives what it has when its tries are over", async () => {
  let tries = 0;
  const failing = Array.from({ length: 50 }, () => 9);
  const shrunk = await shrink(
    failing,
    async () => {
      tries += 1;
      return false;
    },
    10,
  );
  expect(tries).toBe(10);
  expect(shrunk).toEqual(failing);
});

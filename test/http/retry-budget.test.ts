import { expect, it } from "vitest";
import { RetryBudget } from "../../src/http/retry-budget.js";

it("holds no more than it began with, however often calls succeed", () => {
  const budget = new RetryBudget(5);
  for (let success = 0; success < 10; success++) budget.giveBack();
  expect(budget.take()).toBe(true);
  for (let success = 0; success < 4; success++) budget.giveBack();
  expect(budget.take()).toBe(false);
  budget.giveBack();
  expect(budget.take()).toBe(true);
});

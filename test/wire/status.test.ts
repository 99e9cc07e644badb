import { expect, it } from "vitest";
import { isPassingStatus, isRefusedQuestion, provesNothing } from "../../src/wire/status.js";

const statuses = Array.from({ length: 200 }, (_, index) => 400 + index);

it("knows of each status what it leaves open, whether it passes, and whether it refuses the question", () => {
  expect(statuses.filter(provesNothing)).toEqual([408, 409, 421, 425, 499]);
  expect(statuses.filter(isPassingStatus)).toEqual([408, 425, 429, ...statuses.slice(100)]);
  expect(statuses.filter(isRefusedQuestion)).toEqual([400, 422]);
});

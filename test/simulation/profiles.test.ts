import { expect, it } from "vitest";
import { simulateWith } from "../../src/simulation/simulate-flows.js";
import { runs } from "../support/thorough.js";
import { isProfileName, profiles } from "./profiles.js";

it.each(Object.entries(profiles))("breaks no law in the world of %s", async (_, emphasis) => {
  const schedules = runs(40);
  const report = await simulateWith(emphasis, { schedules });
  expect(report.flows, `seed ${report.seed}`).toBe(3 * schedules);
});

it("knows its worlds by name", () => {
  expect(isProfileName("lost entries")).toBe(true);
  expect(isProfileName("toString")).toBe(false);
});

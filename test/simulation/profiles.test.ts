import { expect, it } from "vitest";
import { simulateWith } from "../../src/simulation/simulate-flows.js";
import { isProfileName, profiles } from "./profiles.js";

it.each(Object.entries(profiles))("breaks no law in the world of %s", { timeout: 60_000 }, async (_, emphasis) => {
  const report = await simulateWith(emphasis, { schedules: 25 });
  expect(report.flows, `seed ${report.seed}`).toBe(75);
});

it("knows its worlds by name", () => {
  expect(isProfileName("lost entries")).toBe(true);
  expect(isProfileName("toString")).toBe(false);
});

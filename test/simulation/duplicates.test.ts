import { beforeAll, expect, it } from "vitest";
import { Choices } from "../../src/simulation/choices.js";
import { prepareClients } from "../../src/simulation/cluster.js";
import { drawProfile } from "../../src/simulation/profile.js";
import { runSchedule } from "../../src/simulation/run-schedule.js";

beforeAll(prepareClients);

it.each([
  ["at once", 0],
  ["and late", 1],
])("a proxy that sends a request twice, %s, makes two payments of it", async (_, choice) => {
  const sizes = { flows: 1, processes: 1, hasFalseFacts: false };
  const calm = drawProfile(Choices.replay([]), sizes);
  const { trace } = await runSchedule(
    Choices.from(() => choice),
    {
      ...sizes,
      funds: undefined,
      intent: {},
      keyOf: () => "flow 1",
      isTraced: true,
      fixed: { profile: { ...calm, duplicates: 1000, isSingleUse: false }, leases: 1 },
    },
  );
  expect(trace.filter((line) => line.includes("the service makes payment-"))).toHaveLength(2);
});

import { beforeAll, expect, it } from "vitest";
import { prepareClients } from "../../src/simulation/cluster.js";
import { recordSchedule } from "../spec/record-schedule.js";
import { profiles } from "./profiles.js";

beforeAll(prepareClients);

it.each(["", "restores", "failovers", "late writes", "quotes", "misplaced rows"] as const)(
  "records the same steps of the same schedules, for the specification: %s",
  async (world) => {
    const emphasis = world === "" ? undefined : profiles[world];
    let steps = 0;
    for (let schedule = 0; schedule < 8; schedule += 1) {
      const recorded = await recordSchedule(7, schedule, emphasis);
      expect(recorded.violation).toBeUndefined();
      expect(await recordSchedule(7, schedule, emphasis)).toEqual(recorded);
      steps += recorded.traces.flatMap((trace) => trace.steps).length;
    }
    expect(steps).toBeGreaterThan(50);
  },
);

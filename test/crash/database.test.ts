import { describe, expect, it } from "vitest";
import { kept, seed } from "./kept.js";
import { describe as describeKills, runKills } from "./kills.js";
import { describeLateWrites, lateCases, runLateWrites } from "./late-writes.js";
import { say } from "./script-options.js";

describe("a PostgreSQL server of the test's own", () => {
  it.each(["back end", "network"] as const)(
    "keeps what was told when the first copy of a write comes late, out of the %s",
    async (detour) => {
      const times = { times: 1, leaseMs: 4000, timeoutMs: 500 };
      const result = await runLateWrites({ ...times, detour, lanes: 5 });
      say(`${detour}: ${describeLateWrites(result)}`);
      expect(result).toMatchObject({ ...kept, flows: lateCases.length });
      // On a busy machine a lease can expire while its owner is alive. Once more, one at a time.
      const cases = [...result.unexpected.keys()];
      const again =
        cases.length === 0 ? result : await runLateWrites({ ...times, detour, lanes: 1, leaseMs: 8000, cases });
      expect([...again.unexpected.values()]).toEqual([]);
    },
  );

  it("pays nothing twice and settles everything while its back ends are stopped, its statements delayed, and it is killed", async () => {
    say(`seed ${seed}`);
    const counts = { flows: 60, kills: 5, stops: 2, backendStops: 4, delays: 6, serverKills: 2 };
    const bounds = { workers: 4, concurrency: 8, leaseMs: 1500, timeoutMs: 500, flowsPerRound: 60, parallel: 1 };
    const result = await runKills({ kind: "postgres", ...counts, ...bounds, seed });
    say(describeKills(result));
    expect(result).toMatchObject({ ...kept, ...counts });
  });
});

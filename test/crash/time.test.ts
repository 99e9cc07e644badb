import { describe, expect, it } from "vitest";
import { describeClocks, runClocks } from "./clocks.js";
import { journals, kept, seed } from "./kept.js";
import { describe as describeKills, runKills } from "./kills.js";
import { say } from "./script-options.js";
import { describeTakers, runTakers } from "./takers.js";

const hourMs = 3_600_000;

describe.each(journals)("with $kind", (journal) => {
  it("settles every flow, or tells an operator, where no process lives for as long as a flow has to wait", async () => {
    const settle = (slower: number) => {
      const times = { lifeMs: 1000 * slower, pauseMs: 700 * slower, leaseMs: 600 * slower };
      const bounds = { ...times, readBackDelayMs: 1500 * slower, flows: 2, lives: 15 };
      return runTakers({ ...journal, ...bounds, ends: "in order or killed" });
    };
    let result = await settle(1);
    // A busy machine makes little of the life of a second. Once more, with longer ones.
    if (result.forgotten.length > 0) {
      expect(result).toMatchObject({ ...kept, unsettled: result.forgotten.length });
      result = await settle(5);
    }
    say(`${journal.kind}: ${describeTakers(result)}`);
    expect(result).toMatchObject({ ...kept, forgotten: [] });
  });

  it("takes over the flows of dead processes within a few leases when the clock was set back by two hours", async () => {
    const bounds = { times: 1, lanes: 5, leaseMs: 1000, patienceMs: 30_000 };
    const result = await runClocks({ ...journal, ...bounds, clock: "journal", jumpMs: -2 * hourMs });
    say(`${journal.kind}: ${describeClocks(result)}`);
    expect(result).toMatchObject(kept);
  });

  it("pays nothing twice and settles everything while clocks jump by hours", async () => {
    say(`${journal.kind}: seed ${seed}`);
    const counts = { flows: 40, kills: 4, stops: 2, clockJumps: 6 };
    const bounds = { workers: 4, concurrency: 8, leaseMs: 500, flowsPerRound: 40, parallel: 1 };
    const result = await runKills({ ...journal, ...counts, ...bounds, seed });
    say(`${journal.kind}: ${describeKills(result)}`);
    expect(result).toMatchObject({ ...kept, ...counts });
  });
});

import { describe, expect, it } from "vitest";
import { crashCases, stopCases } from "./crash-cases.js";
import { describeFailingWrites, runFailingWrites } from "./failing-writes.js";
import { journals, kept, seed } from "./kept.js";
import { describe as describeKills, runKills } from "./kills.js";
import { openAtOnce } from "./opening.js";
import { describePoints, runPoints } from "./points.js";
import { describeRestored, runRestored } from "./restored.js";
import { say } from "./script-options.js";
import { describeStops, runStops } from "./stops.js";
import { measureTakeovers } from "./takeover.js";

describe.each(journals)("with $kind", (journal) => {
  it("opens one journal from many processes at once, new or left behind by killed ones", async () => {
    expect(await openAtOnce({ ...journal, processes: 5, times: 2 })).toEqual([]);
  });

  it("keeps every flow right when its process dies at any named point and another recovers it", async () => {
    // A quarter of the points with each journal, and the others in other runs; `points.ts` runs all of them.
    const some = crashCases.filter((_, index) => (index + seed) % 4 === journals.indexOf(journal) % 4);
    const result = await runPoints({ ...journal, times: 1, lanes: 16, leaseMs: 2000, cases: some });
    say(`${journal.kind}: ${describePoints(result)}`);
    expect(result).toMatchObject({ ...kept, flows: some.length });
    // On a busy machine a lease can expire while its owner is alive, and the flow is held, correctly. Once more, one at a time.
    const cases = [...result.unexpected.keys()];
    const again =
      cases.length === 0 ? result : await runPoints({ ...journal, times: 1, lanes: 1, leaseMs: 3000, cases });
    expect([...again.unexpected.values()]).toEqual([]);
  });

  it("keeps every flow right when its process is stopped at a named point, and goes on after another one took it over", async () => {
    const result = await runStops({ ...journal, times: 1, lanes: 8, leaseMs: 600 });
    say(`${journal.kind}: ${describeStops(result)}`);
    expect(result).toMatchObject({ ...kept, flows: stopCases.length });
    const cases = [...result.unexpected.keys()];
    const again =
      cases.length === 0 ? result : await runStops({ ...journal, times: 1, lanes: 1, leaseMs: 2000, cases });
    expect([...again.unexpected.values()]).toEqual([]);
  });

  it("pays nothing twice, takes nothing twice and settles everything while four processes are killed and stopped", async () => {
    say(`${journal.kind}: seed ${seed}`);
    const counts = { flows: 80, kills: 8, stops: 3, workers: 4, concurrency: 32 };
    const result = await runKills({ ...journal, ...counts, leaseMs: 400, seed, flowsPerRound: 80, parallel: 1 });
    say(`${journal.kind}: ${describeKills(result)}`);
    expect(result).toMatchObject({ ...kept, flows: 80, kills: 8, stops: 3 });
    expect(result.confirmedElsewhere).toBeGreaterThan(0);
  });

  it("pays nothing twice when the journal is restored to before the payments", async () => {
    const result = await runRestored({ ...journal, flows: 4, leaseMs: 1000 });
    say(`${journal.kind}: ${describeRestored(result)}`);
    expect(result).toMatchObject({ ...kept, flows: 20, forgotten: 20 });
    expect(Object.fromEntries(result.ends)).toEqual({
      // Its intent is another one now: the payment with this transaction's id may be this one, which only a person can tell.
      absent: new Set(["held"]),
      quoted: new Set(["paid"]),
      asked: new Set(["paid"]),
      taken: new Set(["paid"]),
      // The bank gave the money back, and takes none again.
      refused: new Set(["declined"]),
    });
  });

  it("loses nothing and does nothing twice when any write of the journal fails", async () => {
    const result = await runFailingWrites({ ...journal, leaseMs: 5000 });
    say(`${journal.kind}: ${describeFailingWrites(result)}`);
    expect(result).toMatchObject(kept);
    expect([...new Set(result.errors)].sort()).toEqual([...result.expectedErrors].sort());
  });

  it("has another process at work within a second of the lease's end", async () => {
    const leaseMs = 1000;
    const { byRunMs, byRecoverMs, verdict } = await measureTakeovers({ ...journal, leaseMs, times: 1 });
    const times = [...byRunMs, ...byRecoverMs];
    say(`${journal.kind}: takeovers after ${times.map(Math.round).join(", ")} ms, lease ${leaseMs} ms`);
    expect(Math.max(...times)).toBeLessThanOrEqual(leaseMs + 1000);
    expect(verdict).toMatchObject({ ...kept, paid: 2 });
  });
});

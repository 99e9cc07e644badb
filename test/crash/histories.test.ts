import { describe, expect, it } from "vitest";
import type { Defect } from "../testing/history/defects.js";
import { describeHistories, type HistoriesOptions, runHistories } from "./histories.js";
import { seed } from "./kept.js";
import { say } from "./script-options.js";

const nothingWrong = { unexplained: [], undecided: 0, sameIncarnations: 0 };
const few = { processes: 3, clients: 3, seed };
/** The slower a journal is, the longer its clients need to meet. */
const flowsMsOf = { sqlite: 150, log: 300, postgres: 600 };

describe("what processes are told has an order that explains it", () => {
  it.each([
    ["sqlite", { kills: 3, stops: 2, restores: 1 }],
    ["log", { kills: 3, stops: 2, restores: 1 }],
    ["postgres", { kills: 3, stops: 2, backendStops: 2, delays: 4, failovers: 1 }],
  ] as const)("over %s", async (kind, faults) => {
    const result = await runHistories({ kind, ...few, ...faults, seconds: 3, flowsMs: flowsMsOf[kind] });
    say(`${kind}, seed ${seed}: ${describeHistories(result)}`);
    expect(result).toMatchObject({ ...nothingWrong, ...faults });
    expect(result.operations).toBeGreaterThan(100);
  });
});

describe("histories of processes show", () => {
  const planted: readonly (readonly [
    kind: HistoriesOptions["kind"],
    defect: Defect | "reads of a server's replica",
  ])[] = [
    ["sqlite", "a write that compares no revisions, as in release 0.2.0"],
    ["log", "a write that compares epochs and revisions, and no nonces"],
    ["sqlite", "a write that is sent again, and applied twice"],
    ["postgres", "reads of a server's replica"],
  ];
  it.each(planted)("over %s %s", async (kind, wrong) => {
    const one = wrong === "reads of a server's replica" ? { kind, readsReplica: true } : { kind, defect: wrong };
    // On a busy machine few operations meet.
    for (let round = 1; round <= 20; round += 1) {
      const { unexplained } = await runHistories({
        ...one,
        ...few,
        seconds: 1.5,
        flowsMs: flowsMsOf[kind],
        seed: seed + round,
      });
      if (unexplained.length > 0) return;
    }
    expect.unreachable("it was not found");
  });
});

import { randomInt } from "node:crypto";
import { describe, expect, it } from "vitest";
import { runKills } from "./kills.js";
import { nodeWithSqlite } from "./node-with-sqlite.js";
import { say } from "./script-options.js";

/** Both journals, with a Node that can open them. */
const journals = [
  { kind: "sqlite", node: nodeWithSqlite(process.env.CBP_CRASH_NODE) },
  { kind: "postgres", node: process.execPath },
] as const;

const given = process.env.CBP_CRASH_SEED;
const seed = given === undefined ? randomInt(2 ** 31) : Number(given);
const kept = { unsettled: 0, violations: [] };
const bounds = { workers: 4, concurrency: 12, seed };

describe.each(journals)("with $kind", (journal) => {
  it("pays nothing twice, takes nothing twice and settles everything while four processes are killed and stopped", async () => {
    const counts = { flows: 160, kills: 30, stops: 6 };
    const result = await runKills({ ...journal, ...counts, ...bounds, troubles: 40, leaseMs: 1000 });
    say(`${journal.kind}, seed ${seed}: ${JSON.stringify(result)}`);
    expect(result).toMatchObject({ ...kept, ...counts });
    expect(Object.keys(result.points).length).toBeGreaterThan(2);
    expect(result.confirmedElsewhere).toBeGreaterThan(0);
  });
});

it("pays nothing twice and settles everything while a PostgreSQL server's back ends are stopped, and it is killed", async () => {
  const counts = { flows: 60, kills: 5, stops: 2, backendStops: 10, serverKills: 2 };
  const times = { concurrency: 8, leaseMs: 1500, timeoutMs: 500 };
  const result = await runKills({ kind: "postgres", ...bounds, ...counts, ...times, troubles: 6 });
  say(`seed ${seed}: ${JSON.stringify(result)}`);
  expect(result).toMatchObject({ ...kept, ...counts });
});

import { randomInt } from "node:crypto";
import { expect, it } from "vitest";
import { say } from "../crash/script-options.js";
import { runEngineKills } from "./engine-kills.js";

const {
  CBP_POSTGRES_URL: postgresUrl,
  CBP_REDIS_URL: redisUrl,
  CBP_ENGINES_SEED: givenSeed,
  CBP_ENGINES_FLOWS: flows = "40",
  CBP_ENGINES_KILLS: kills = "10",
} = process.env;
const seed = givenSeed === undefined ? randomInt(2 ** 31) : Number(givenSeed);

it.each(["dbos", "pg-boss", "bullmq"] as const)(
  "pays nothing twice and forgets nothing in %s while its workers are killed in the middle of the step",
  async (engine) => {
    if (postgresUrl === undefined || redisUrl === undefined) throw new Error("start it by npm run test:integration");
    say(`${engine}: seed ${seed}`);
    const counts = { flows: Number(flows), kills: Number(kills) };
    const result = await runEngineKills({ engine, postgresUrl, redisUrl, seed, ...counts });
    say(`${engine}: ${JSON.stringify({ ...result, stumbles: Object.fromEntries(result.stumbles) })}`);
    expect(result).toMatchObject({ forgotten: 0, violations: [] });
    const { take, send, look } = result.killsAt;
    expect(take + send + look).toBe(Number(kills));
    expect(result.flows).toBeGreaterThanOrEqual(Number(flows));
    expect(result.interrupted).toBeGreaterThanOrEqual(Number(kills));
  },
);

import { randomInt } from "node:crypto";
import { expect, it } from "vitest";
import { say } from "../crash/script-options.js";
import { runEngineKills } from "./engine-kills.js";

const { CBP_REDIS_URL: redisUrl, CBP_ENGINES_SEED: given } = process.env;
const seed = given === undefined ? randomInt(2 ** 31) : Number(given);

it.each(["dbos", "pg-boss", "bullmq"] as const)(
  "pays nothing twice and forgets nothing in %s while its workers are killed in the middle of the step",
  async (engine) => {
    if (redisUrl === undefined) throw new Error("start it by npm run test:integration");
    say(`${engine}: seed ${seed}`);
    const counts = { flows: 40, kills: 10 };
    const result = await runEngineKills({ engine, redisUrl, seed, ...counts });
    say(`${engine}: ${JSON.stringify(result)}`);
    expect(result).toMatchObject({ failed: 0, unsettled: 0, violations: [] });
    expect(result.kills).toBeGreaterThanOrEqual(counts.kills);
    expect(result.flows).toBeGreaterThanOrEqual(counts.flows);
  },
);

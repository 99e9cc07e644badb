import { parseArgs } from "node:util";
import { prepareClients } from "../../src/simulation/cluster.js";
import { isProfileName, profiles } from "../simulation/profiles.js";
import { OptionError, wholeOption } from "../support/whole-option.js";
import { recordSchedule } from "./record-schedule.js";
import type { Trace } from "./trace.js";
import { TraceTotals } from "./trace-totals.js";

/**
 * Holds schedules of the simulator against spec/flow.tla:
 *
 *     npx tsx test/spec/traces.ts --schedules 2000 --seed 1
 *
 * Every world of `test/simulation/profiles.ts` in turn, or one: `--profile "late writes"`; `any` is the one in which all things happen now and then.
 */

const { values } = parseArgs({
  options: {
    schedules: { type: "string", default: "150" },
    seed: { type: "string", default: String(Math.floor(Math.random() * 2 ** 31)) },
    first: { type: "string", default: "0" },
    batch: { type: "string", default: "400" },
    profile: { type: "string" },
  },
});
const { profile } = values;
if (profile !== undefined && profile !== "any" && !isProfileName(profile))
  throw new OptionError(`there is no such profile: ${profile}`);
const seed = wholeOption("seed", values.seed);
const count = wholeOption("schedules", values.schedules, 1);
const first = wholeOption("first", values.first, 0, 2 ** 32 - count);
const batchSize = wholeOption("batch", values.batch, 1);
console.log(`Seed ${seed}: schedules ${first} to ${first + count - 1}.`);
Error.stackTraceLimit = 0;
await prepareClients();
const names = Object.keys(profiles).filter(isProfileName);
const totals = new TraceTotals();
const batch: Trace[] = [];
let broken = 0;
for (let schedule = first; schedule < first + count; schedule++) {
  const world = profile ?? ["any", ...names][schedule % (names.length + 1)] ?? "any";
  const { traces, violation } = await recordSchedule(
    seed,
    schedule,
    isProfileName(world) ? profiles[world] : undefined,
  );
  if (violation !== undefined) {
    broken += 1;
    console.error(`Schedule ${schedule} in the world of ${world} breaks a law: ${violation}`);
  }
  batch.push(...traces.map((trace) => ({ ...trace, name: `${trace.name}, in the world of ${world}` })));
  if (batch.length >= batchSize || schedule === first + count - 1) await totals.check(batch.splice(0));
}
totals.print();
process.exitCode = totals.mismatches + broken === 0 ? 0 : 1;

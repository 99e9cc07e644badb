import { parseArgs } from "node:util";
import { prepareClients } from "../../src/simulation/cluster.js";
import { isProfileName, profiles } from "../simulation/profiles.js";
import { checkTraces, describeMismatch } from "./check-traces.js";
import { recordSchedule } from "./record-schedule.js";
import type { Trace } from "./trace.js";

/**
 * Holds schedules of the simulator against spec/flow.tla:
 *
 *     npx tsx test/spec/traces.ts --schedules 2000 --seed 1
 *
 * Every world of `test/simulation/profiles.ts` in turn, or one: `--profile "late writes"`.
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
const seed = Number(values.seed);
const [first, count] = [Number(values.first), Number(values.schedules)];
console.log(`Seed ${seed}: schedules ${first} to ${first + count - 1}.`);
Error.stackTraceLimit = 0;
await prepareClients();
const names = Object.keys(profiles).filter(isProfileName);
const total = { traces: 0, steps: 0, states: 0, mismatches: 0 };
let batch: Trace[] = [];
const startMs = performance.now();
for (let schedule = first; schedule < first + count; schedule++) {
  const world = values.profile ?? ["any", ...names][schedule % (names.length + 1)] ?? "any";
  const { traces, violation } = await recordSchedule(
    seed,
    schedule,
    isProfileName(world) ? profiles[world] : undefined,
  );
  if (violation !== undefined)
    console.error(`Schedule ${schedule} in the world of ${world} breaks a law: ${violation}`);
  batch.push(...traces.map((trace) => ({ ...trace, name: `${trace.name}, in the world of ${world}` })));
  if (batch.length >= Number(values.batch) || schedule === first + count - 1) await check();
}
const seconds = Math.round((performance.now() - startMs) / 1000);
console.log(
  `${total.traces} flows with ${total.steps} steps, ${total.states} states of TLC, ${seconds} s: ${total.mismatches === 0 ? "all are behaviours of spec/flow.tla" : `${total.mismatches} are no behaviour of spec/flow.tla`}.`,
);
process.exitCode = total.mismatches === 0 ? 0 : 1;

async function check(): Promise<void> {
  const { traces, steps, states, mismatches } = await checkTraces(batch);
  batch = [];
  total.traces += traces;
  total.steps += steps;
  total.states += states;
  total.mismatches += mismatches.length;
  for (const mismatch of mismatches) console.error(`\n${describeMismatch(mismatch)}`);
}

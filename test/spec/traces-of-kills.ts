import { parseArgs } from "node:util";
import { buildPatchedWorker } from "../crash/build-worker.js";
import { runKills } from "../crash/kills.js";
import { mutations, patchesOf } from "../simulation/mutations.js";
import { OptionError, wholeOption } from "../support/whole-option.js";
import { crashTraces } from "./crash-traces.js";
import { TraceTotals } from "./trace-totals.js";

/**
 * Holds flows of processes that are killed and stopped, over a real database, against spec/flow.tla:
 *
 *     npx tsx test/spec/traces-of-kills.ts --flows 10000 --kills 2000 --stops 500 --journal sqlite --seed 1
 *     npx tsx test/spec/traces-of-kills.ts --journal postgres
 *     npx tsx test/spec/traces-of-kills.ts --without "the claim is stored before it is sent"
 *
 * Each round is checked when it is over. `--without` takes a rule of `test/simulation/mutations.ts` out of the workers' sources.
 */
const { values } = parseArgs({
  options: {
    flows: { type: "string", default: "200" },
    kills: { type: "string", default: "40" },
    stops: { type: "string", default: "10" },
    round: { type: "string", default: "100" },
    lease: { type: "string", default: "400" },
    journal: { type: "string", default: "sqlite" },
    seed: { type: "string", default: String(Math.floor(Math.random() * 2 ** 31)) },
    without: { type: "string" },
  },
});
const { journal, without } = values;
const rule = mutations.find(({ name }) => name === without);
if (without !== undefined && rule === undefined) throw new OptionError(`there is no such rule: ${without}`);
if (journal !== "sqlite" && journal !== "postgres") throw new OptionError("--journal must be sqlite or postgres");
const whole = (name: "seed" | "lease" | "flows" | "kills" | "stops" | "round", least = 0) =>
  wholeOption(name, values[name], least);
const [seed, leaseMs] = [whole("seed"), whole("lease", 1)];
console.log(`Seed ${seed}, journal ${journal}.`);
let checked = Promise.resolve();
const totals = new TraceTotals();
await using script = await buildPatchedWorker(rule === undefined ? [] : patchesOf(rule));
const { violations } = await runKills({
  kind: journal,
  script,
  seed,
  leaseMs,
  flows: whole("flows", 1),
  kills: whole("kills"),
  stops: whole("stops"),
  flowsPerRound: whole("round", 1),
  workers: 4,
  concurrency: 16,
  parallel: 1,
  onProgress: (line) => console.log(line),
  onRecords: ({ records, states, readBackDelayMs, round }) => {
    const traces = crashTraces(records, states, { leaseMs, lagMs: readBackDelayMs });
    checked = checked.then(() =>
      totals.check(traces.map((trace) => ({ ...trace, name: `round ${round + 1}, ${trace.name}` }))),
    );
  },
});
await checked;
totals.print();
process.exitCode = totals.mismatches + violations.length === 0 ? 0 : 1;

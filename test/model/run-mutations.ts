import { explore } from "./explore.js";
import { mutatedNext } from "./mutated-core.js";
import { mutations } from "./mutations.js";
import { Model } from "./world.js";
import { worlds } from "./worlds.js";

// npm run model:mutations [-- WORDS]: takes out one rule after another. The search must find what breaks.
const words = process.argv.slice(2).join(" ");
const limits = { maxStates: 700_000, maxSeconds: 30 };
const maxFaults = 3;

for (const mutation of mutations) {
  if (!mutation.rule.includes(words)) continue;
  const { rule, loose, unneeded } = mutation;
  const next = await mutatedNext(mutation);
  let states = 0;
  let found: string | undefined;
  for (let faults = 0; faults <= maxFaults && found === undefined; faults++) {
    for (const world of mutation.worlds) {
      const options = { ...worlds[world], faults, ...(loose && { loose }) };
      const { broken, trace = [], ...report } = explore(new Model(options, next), limits);
      states += report.states;
      if (broken === undefined) continue;
      found = `found in ${world}, ${faults} faults, ${trace.length} steps: ${broken}`;
      break;
    }
  }
  const result = found ?? `not found${unneeded === undefined ? "" : `: ${unneeded}`}`;
  console.log(`${rule} | ${result} | ${states} states`);
  if ((found === undefined) !== (unneeded !== undefined)) process.exitCode = 1;
}

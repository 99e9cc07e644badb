import { explore } from "./explore.js";
import { Model } from "./model.js";
import { mutatedNext } from "./mutated-core.js";
import { type Mutation, mutations } from "./mutations.js";
import { worlds } from "./worlds.js";

// npm run model:mutations [-- PATTERN]: takes out one rule after another. The search must find what breaks.
const wanted = new RegExp(process.argv[2] ?? "");
let found = 0;
let rules = 0;

for (const mutation of mutations) {
  if (!wanted.test(mutation.rule)) continue;
  const { rule, unneeded } = mutation;
  const result = await search(mutation);
  console.log(`${rule} | ${result ?? `not found${unneeded === undefined ? "" : `: ${unneeded}`}`}`);
  if ((result === undefined) !== (unneeded !== undefined)) process.exitCode = 1;
  rules++;
  if (result !== undefined) found++;
}
console.log(`${found} of ${rules} mutations found, ${Math.round(process.cpuUsage().user / 1e6)} s of CPU`);

async function search(mutation: Mutation): Promise<string | undefined> {
  const { loose, unneeded } = mutation;
  const next = await mutatedNext(mutation);
  const [maxFaults, maxStates] = unneeded === undefined ? [3, 700_000] : [2, 100_000];
  for (let faults = 0; faults <= maxFaults; faults++) {
    for (const world of mutation.worlds) {
      const model = new Model({ ...worlds[world], faults, ...(loose && { loose }) }, next);
      const { broken, trace = [] } = explore(model, { maxStates });
      if (broken !== undefined) return `${world}, ${faults} faults, ${trace.length} steps: ${broken}`;
    }
  }
  return undefined;
}

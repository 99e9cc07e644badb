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
  const result = await search(mutation);
  console.log(`${mutation.rule} | ${result ?? "not found"}`);
  if (result === undefined) process.exitCode = 1;
  rules++;
  if (result !== undefined) found++;
}
console.log(`${found} of ${rules} mutations found, ${Math.round(process.cpuUsage().user / 1e6)} s of CPU`);

async function search(mutation: Mutation): Promise<string | undefined> {
  const { loose } = mutation;
  const next = await mutatedNext(mutation);
  for (let faults = 0; faults <= 3; faults++) {
    for (const world of mutation.worlds) {
      const model = new Model({ ...worlds[world], faults, ...(loose && { loose }) }, next);
      const { broken, trace } = explore(model, 700_000);
      if (broken !== undefined) return `${world}, ${faults} faults, ${trace.length} steps: ${broken}`;
    }
  }
  return undefined;
}

import { contenders } from "../contenders.mjs";

/** Time for a whole list over a link: `link.mjs NAME ORIGIN PATH LINK-ORIGIN RECORDS SIZE RUNS`. */
const [, , name, origin, path, linkOrigin, records, size, runs] = process.argv;

async function run(contender) {
  const from = performance.now();
  let seen = 0;
  await contender.records(Number(size), () => ++seen < Number(records));
  if (seen !== Number(records)) throw new Error(`${seen} records`);
  return performance.now() - from;
}

// Compiled, and the pages made, before the clock starts; then with a token and a connection over the link.
await run(await contenders[name](origin + path));
const contender = await contenders[name](linkOrigin + path);
await contender.get();
const times = [];
for (let turn = 0; turn < Number(runs); turn++) times.push(await run(contender));
process.stdout.write(`${JSON.stringify(times)}\n`, () => process.exit());

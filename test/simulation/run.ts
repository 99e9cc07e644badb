import { simulate } from "./simulate.js";

// npm run simulate -- [--schedules 1000] [--seed 1]. The seed of a schedule that breaks a law replays it: --schedules 1 --seed N.
const { argv } = process;
const option = (name: string): string | undefined => argv[argv.indexOf(`--${name}`) + 1 || argv.length];
const first = Number(option("seed") ?? 1);
const schedules = Number(option("schedules") ?? 1000);
const startedMs = performance.now();
const phases = new Map<string, number>();

for (let seed = first; seed < first + schedules; seed += 1) {
  const { broken, log, phases: ended } = await simulate(seed);
  for (const phase of ended) phases.set(phase, (phases.get(phase) ?? 0) + 1);
  if (broken.length > 0) process.exitCode = 1;
  if (broken.length > 0) console.log(`seed ${seed}: ${broken.join("; ")}`);
  if (broken.length > 0 && schedules === 1) console.log(log.join("\n"));
}
const seconds = ((performance.now() - startedMs) / 1000).toFixed(1);
console.log(`${schedules} schedules from seed ${first}, ${seconds} s:`, Object.fromEntries(phases));

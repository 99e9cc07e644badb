import { explore } from "./explore.js";
import { Model } from "./model.js";
import { type WorldName, worlds } from "./worlds.js";

// npm run model -- [--faults 2] [--states 100000] [--world PATTERN]. A world with more states is explored in part.
const { argv } = process;
const option = (name: string): string | undefined => argv[argv.indexOf(`--${name}`) + 1 || argv.length];
const faults = Number(option("faults") ?? 2);
const maxStates = Number(option("states") ?? 100_000);
const only = new RegExp(option("world") ?? "");
let states = 0;
let seconds = 0;
for (const name of Object.keys(worlds) as WorldName[]) {
  if (!only.test(name)) continue;
  const { broken, trace, ...report } = explore(new Model({ ...worlds[name], faults }), maxStates);
  states += report.states;
  seconds += report.cpuSeconds;
  const result = broken ?? (report.isWhole ? "whole" : "in part");
  console.log(
    `${name.padEnd(24)}${String(report.states).padStart(10)} states ${report.cpuSeconds.toFixed(1).padStart(7)} s  ${result}`,
  );
  if (broken === undefined) continue;
  process.exitCode = 1;
  console.log(trace.join("\n"));
}
console.log(`${states} states, ${seconds.toFixed(0)} s of CPU, ${faults} faults`);

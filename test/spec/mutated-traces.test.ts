import { execFile } from "node:child_process";
import { expect, it } from "vitest";
import { bundleSimulation } from "../simulation/bundle-simulation.js";
import { mutations, patchesOf } from "../simulation/mutations.js";
import { some } from "../support/thorough.js";

const program = "test/spec/traces.ts";

const rules = [
  ["a write names the revision that it replaces", /"store"/],
  ["after a definite no the payment is looked for before the money is given back", /phase \|-> "refused"/],
  ["that look waits longer than the listing lags", /phase \|-> "(refused|funds-requested)"/],
  ["a flow that was taken over looks before its first claim", /phase \|-> "claimed"/],
] as const;

it.each(some(rules, 2))("finds flows that are no behaviour of the specification without: %s", async (name, step) => {
  const mutation = mutations.find((known) => known.name === name);
  if (mutation === undefined) throw new Error(`there is no such mutation: ${name}`);
  const { file, remove } = await bundleSimulation(patchesOf(mutation), { program });
  try {
    const output = await run(file, mutation.profile ?? "any");
    expect(output).toMatch(/no behaviour of spec\/flow\.tla/);
    expect(output.split("\n").find((line) => line.startsWith("* "))).toMatch(step);
  } finally {
    remove();
  }
});

function run(file: string, profile: string): Promise<string> {
  const script = [file, "--schedules", "20", "--seed", "1", "--profile", profile];
  return new Promise((resolve) => {
    execFile(process.execPath, script, { maxBuffer: 2 ** 26 }, (_, stdout, stderr) => resolve(stdout + stderr));
  });
}

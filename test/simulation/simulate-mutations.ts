import { execFile } from "node:child_process";
import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { OptionError, wholeOption } from "../support/whole-option.js";
import { bundleSimulation } from "./bundle-simulation.js";
import { type Mutation, mutations, patchesOf } from "./mutations.js";
import { isProfileName } from "./profiles.js";

/**
 * `npm run simulate:mutations`: takes one rule out after another, and counts the schedules until a broken law shows it, each in the world
 * that it names.
 */

const { values } = parseArgs({
  options: {
    schedules: { type: "string", default: "50000" },
    seed: { type: "string", default: "1" },
    only: { type: "string", default: "" },
    profile: { type: "string" },
    guided: { type: "boolean", default: false },
    cores: { type: "string", default: String(availableParallelism()) },
  },
});

interface Found {
  readonly schedules: number | undefined;
  readonly law: string;
}

const results = new Map<Mutation, Found>();
const pending = mutations.filter(({ name }) => new RegExp(values.only).test(name));
if (pending.length === 0) throw new OptionError(`no rule is called so: ${values.only}`);
if (values.profile !== undefined && !isProfileName(values.profile)) throw new OptionError("there is no such profile");
wholeOption("schedules", values.schedules, 1);
wholeOption("seed", values.seed);
await Promise.all(Array.from({ length: wholeOption("cores", values.cores, 1, 256) }, () => work()));

console.log("| rule that was taken out | world | schedules until found | law that shows it |");
console.log("|---|---|---|---|");
for (const mutation of mutations) {
  const found = results.get(mutation);
  if (found === undefined) continue;
  const { schedules = `not in ${values.schedules}`, law } = found;
  console.log(`| ${mutation.name} | ${worldOf(mutation) ?? "any"} | ${schedules} | ${law} |`);
}
process.exitCode = [...results.values()].every(({ schedules }) => schedules !== undefined) ? 0 : 1;

function worldOf({ profile }: Mutation): string | undefined {
  return values.profile ?? profile;
}

async function work(): Promise<void> {
  for (let mutation = pending.shift(); mutation !== undefined; mutation = pending.shift()) {
    const startMs = performance.now();
    const found = await simulate(mutation);
    results.set(mutation, found);
    const seconds = Math.round((performance.now() - startMs) / 1000);
    console.error(`${found.schedules ?? "NOT FOUND"}: ${mutation.name} (${seconds} s)`);
  }
}

async function simulate(mutation: Mutation): Promise<Found> {
  const { file, remove } = await bundleSimulation(patchesOf(mutation), { marksBranches: values.guided });
  try {
    const output = await run(file, worldOf(mutation));
    const [, law = ""] = /^Broken: (.*)\.$/m.exec(output) ?? [];
    const [, schedule] = /^seed \d+, schedule (\d+),/m.exec(output) ?? [];
    if (schedule === undefined && !output.includes("no law was broken")) throw new Error(output.slice(0, 4000));
    return { schedules: schedule === undefined ? undefined : Number(schedule) + 1, law };
  } finally {
    remove();
  }
}

function run(file: string, profile: string | undefined): Promise<string> {
  const { schedules, seed } = values;
  const world = profile === undefined ? [] : ["--profile", profile];
  const guided = values.guided ? ["--guided"] : [];
  const script = [file, ...guided, "--cores", "1", "--as-found", "--schedules", schedules, "--seed", seed, ...world];
  return new Promise((resolve) => {
    // A broken law is what is looked for: it ends with 1.
    execFile(process.execPath, script, { maxBuffer: 2 ** 26 }, (_, stdout, stderr) => resolve(stdout + stderr));
  });
}

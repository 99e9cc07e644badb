import { fork } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { Guide } from "../../src/simulation/guide.js";
import { type Observer, type SimulateFlowsOptions, simulateWith } from "../../src/simulation/simulate-flows.js";
import { SimulationError } from "../../src/simulation/simulation-error.js";
import { branchesName, rulesFile } from "./branches.js";
import { describeForeign, describeMarks, reportMarks } from "./mark-report.js";
import { isProfileName, type ProfileName, profiles } from "./profiles.js";
import type { RuleBranches } from "./rule-branches.js";
import { addUp, describeReport, type ShardReport } from "./shard-report.js";
import { describeEnumeration, type Enumeration, enumerate, isSmallWorldName, smallWorlds } from "./small-worlds.js";

/** `npm run simulate`: many schedules on all cores. See docs/simulation.md. */

interface Shard extends SimulateFlowsOptions {
  readonly schedules: number;
  readonly first: number;
  readonly seed: number;
  /** What happens more often. */
  readonly profile: ProfileName | undefined;
  /** Whether schedules that reached something new are changed in places. */
  readonly isGuided: boolean;
}

type Message = { readonly report: ShardReport } | { readonly violation: string };

const shardText = process.env.CBP_SIMULATION_SHARD;
if (shardText === undefined) process.exitCode = await runAll();
else await runShard(JSON.parse(shardText) as Shard);

async function runAll(): Promise<number> {
  const { values } = parseArgs({
    options: {
      schedules: { type: "string", default: "20000" },
      seed: { type: "string" },
      first: { type: "string", default: "0" },
      flows: { type: "string", default: "3" },
      processes: { type: "string", default: "3" },
      cores: { type: "string" },
      "as-found": { type: "boolean", default: false },
      choices: { type: "string" },
      profile: { type: "string" },
      enumerate: { type: "string" },
      faults: { type: "string", default: "1" },
      guided: { type: "boolean", default: false },
      "all-marks": { type: "boolean", default: false },
      "report-to": { type: "string" },
      "false-facts": { type: "boolean", default: false },
    },
  });
  if (values.enumerate !== undefined)
    return runSmallWorld(values.enumerate, Number(values.faults), values["report-to"]);
  const { profile } = values;
  if (profile !== undefined && !isProfileName(profile)) {
    console.error(`--profile is one of: ${Object.keys(profiles).join(", ")}`);
    return 1;
  }
  const seed = Number(values.seed ?? Math.floor(Math.random() * 2 ** 31));
  const schedules = Number(values.schedules);
  const first = Number(values.first);
  const cores = Math.min(Number(values.cores ?? availableParallelism()), values.choices === undefined ? schedules : 1);
  const world = profile === undefined ? "" : ` in the world of ${profile}`;
  if (values.choices === undefined) {
    console.log(
      `Seed ${seed}: schedules ${first} to ${first + schedules - 1}${world}, on ${cores} ${cores === 1 ? "core" : "cores"}.`,
    );
  }
  const startMs = performance.now();
  const share = Math.ceil(schedules / cores);
  const shards: Shard[] = Array.from({ length: cores }, (_, core) => ({
    seed,
    first: first + core * share,
    schedules: Math.max(1, Math.min(share, schedules - core * share)),
    profile,
    isGuided: values.guided,
    flows: Number(values.flows),
    processes: Number(values.processes),
    hasFalseFacts: values["false-facts"],
    shrinks: !values["as-found"],
    choices: values.choices === undefined ? undefined : (JSON.parse(values.choices) as number[]),
  }));
  const messages = await Promise.all(shards.map(runInProcess));
  const violations = messages.flatMap((message) => ("violation" in message ? [message.violation] : []));
  for (const violation of violations) console.error(`\n${violation}`);
  if (violations.length > 0) {
    const options = [
      `--flows ${values.flows} --processes ${values.processes}`,
      ...(profile === undefined ? [] : [`--profile "${profile}"`]),
      ...(values["false-facts"] ? ["--false-facts"] : []),
    ];
    console.error(
      `\nTo see one of them again: npm run simulate -- ${options.join(" ")} --choices '[…]', with its choices.`,
    );
  }
  if (violations.length > 0) return 1;
  const reports = messages.flatMap((message) => ("report" in message ? [message.report] : []));
  const total = addUp(reports);
  console.log(describeReport(total, (performance.now() - startMs) / 1000));
  const marks = reportMarks(total.marks);
  for (const line of profile === undefined ? [describeMarks(marks)] : describeForeign(marks)) console.log(line);
  writeReport(values["report-to"], total);
  const isIncomplete = values["all-marks"] && marks.unexplained.length > 0;
  if (isIncomplete || marks.foreign.length > 0) return 1;
  return 0;
}

/** `--enumerate NAME`, or `all`: every schedule of a small world with so many faults at most. */
async function runSmallWorld(name: string, faults: number, reportTo: string | undefined): Promise<number> {
  const isAll = name === "all";
  if (!isAll && !isSmallWorldName(name)) {
    console.error(`--enumerate is all, or one of: ${Object.keys(smallWorlds).join(", ")}`);
    return 1;
  }
  // Thousands of errors are thrown, and nobody reads where.
  Error.stackTraceLimit = 0;
  const results: Enumeration[] = [];
  for (const [known, world] of Object.entries(smallWorlds)) {
    if (!isAll && known !== name) continue;
    const result = await enumerate(world, faults);
    console.log(describeEnumeration(world, faults, result));
    if (result.broken !== undefined) return 1;
    results.push(result);
  }
  writeReport(reportTo, results);
  return 0;
}

/** What a program reads, beside what a person does. */
function writeReport(file: string | undefined, report: unknown): void {
  if (file !== undefined) writeFileSync(file, `${JSON.stringify(report)}\n`);
}

function runInProcess(shard: Shard): Promise<Message> {
  return new Promise((resolve, reject) => {
    const env = { ...process.env, CBP_SIMULATION_SHARD: JSON.stringify(shard) };
    const child = fork(fileURLToPath(import.meta.url), { env });
    child.on("message", (message) => resolve(message as Message));
    child.on("exit", (code) => reject(new Error(`a process of the simulation ended with ${code}`)));
  });
}

async function runShard(shard: Shard): Promise<void> {
  try {
    const { profile, isGuided, ...options } = shard;
    const emphasis = profile === undefined ? undefined : profiles[profile];
    const observer = observerOf(isGuided ? new Guide(shard.seed + shard.first) : undefined);
    const { marks, ...report } = await simulateWith(emphasis, options, observer);
    const { user, system } = process.cpuUsage();
    send({ report: { ...report, marks: { ...marks, ...observer.rules }, cpuSeconds: (user + system) / 1e6 } });
  } catch (error) {
    if (!(error instanceof SimulationError)) throw error;
    send({ violation: error.message });
  }
}

/** Counts the schedules that reached each rule, and lets a guide look for new marks, new pairs of them, and new branches. */
function observerOf(guide: Guide | undefined): Observer & { readonly rules: Readonly<Record<string, number>> } {
  const ofRules = Object.entries(readRules());
  const rules: Record<string, number> = {};
  const taken = new Set<string>();
  Reflect.set(globalThis, branchesName, taken);
  return {
    rules,
    next() {
      taken.clear();
      return guide?.next();
    },
    learn(choices, marks) {
      for (const [rule, branches] of ofRules) {
        if (branches.some((branch) => taken.has(branch))) rules[rule] = (rules[rule] ?? 0) + 1;
      }
      guide?.learn(choices, [...marks.keys(), ...taken], (mark) => marks.has(mark));
    },
  };
}

function readRules(): RuleBranches {
  const file = new URL(rulesFile, import.meta.url);
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as RuleBranches) : {};
}

function send(message: Message): void {
  process.send?.(message, () => process.disconnect());
}

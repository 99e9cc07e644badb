import { fork } from "node:child_process";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { Guide } from "../../src/simulation/guide.js";
import { type Observer, type SimulateFlowsOptions, simulateWith } from "../../src/simulation/simulate-flows.js";
import { SimulationError } from "../../src/simulation/simulation-error.js";
import { whatIsProved } from "../../tools/release/recorded.js";
import { OptionError } from "../support/whole-option.js";
import { branchesName, rulesFile } from "./branches.js";
import { describeForeign, describeMarks, reportMarks } from "./mark-report.js";
import { profiles } from "./profiles.js";
import type { RuleBranches } from "./rule-branches.js";
import { addUp, describeReport, partsOf, type ShardReport } from "./shard-report.js";
import { type EnumerateCommand, type RunCommand, simulateCommand } from "./simulate-options.js";
import { describeEnumeration, type Enumeration, enumerate, type Part, smallWorlds, wholeOf } from "./small-worlds.js";

/** `npm run simulate`: many schedules on all cores. See docs/simulation.md. */

/** What one process runs: schedules at random, or a part of small worlds. */
type Task = Shard | WorldsPart;

interface WorldsPart extends Pick<EnumerateCommand, "worlds" | "faults"> {
  readonly part: Part;
}

interface Shard extends SimulateFlowsOptions {
  readonly schedules: number;
  readonly first: number;
  readonly seed: number;
  readonly profile: RunCommand["profile"];
  readonly isGuided: boolean;
}

type Message = { readonly report: ShardReport } | { readonly violation: string };

const taskText = process.env.CBP_SIMULATION_TASK;
if (taskText === undefined) process.exitCode = await runCommand();
else await runTask(JSON.parse(taskText) as Task);

async function runCommand(): Promise<number> {
  try {
    const command = simulateCommand(process.argv.slice(2));
    return await ("worlds" in command ? runSmallWorlds(command) : runAll(command));
  } catch (error) {
    if (!(error instanceof OptionError)) throw error;
    console.error(error.message);
    return 1;
  }
}

async function runAll(command: RunCommand): Promise<number> {
  const { schedules, first, seed, profile, flows, processes, choices, hasFalseFacts } = command;
  const shards = shardsOf(command);
  if (choices === undefined) {
    const world = profile === undefined ? "" : ` in the world of ${profile}`;
    const cores = shards.length === 1 ? "1 core" : `${shards.length} cores`;
    console.log(`Seed ${seed}: schedules ${first} to ${first + schedules - 1}${world}, on ${cores}.`);
  }
  const startMs = performance.now();
  const messages = await Promise.all(shards.map((shard) => inProcess<Message>(shard)));
  const violations = messages.flatMap((message) => ("violation" in message ? [message.violation] : []));
  for (const violation of violations) console.error(`\n${violation}`);
  if (violations.length > 0) {
    const options = [
      `--flows ${flows} --processes ${processes}`,
      ...(profile === undefined ? [] : [`--profile "${profile}"`]),
      ...(hasFalseFacts ? ["--false-facts"] : []),
    ];
    console.error(
      `\nTo see one of them again: npm run simulate -- ${options.join(" ")} --choices '[…]', with its choices.`,
    );
    return 1;
  }
  const reports = messages.flatMap((message) => ("report" in message ? [message.report] : []));
  const total = addUp(reports);
  console.log(describeReport(total, (performance.now() - startMs) / 1000));
  const marks = reportMarks(total.marks);
  for (const line of profile === undefined ? [describeMarks(marks)] : describeForeign(marks)) console.log(line);
  if (command.reportTo !== undefined)
    writeReport(command.reportTo, { asked: command, sources: whatIsProved(), report: total });
  const isIncomplete = command.needsAllMarks && marks.unexplained.length > 0;
  return isIncomplete || marks.foreign.length > 0 ? 1 : 0;
}

function shardsOf(command: RunCommand): readonly Shard[] {
  const { schedules, first, cores, choices, seed, profile, isGuided, flows, processes, hasFalseFacts, shrinks } =
    command;
  const shared = { seed, profile, isGuided, flows, processes, hasFalseFacts, shrinks, choices };
  return partsOf(first, choices === undefined ? schedules : 1, cores).map((part) => ({ ...shared, ...part }));
}

async function runSmallWorlds({ worlds, faults, cores, reportTo }: EnumerateCommand): Promise<number> {
  const parts = Array.from({ length: cores }, (_, at) => ({ at, of: cores }));
  const found = await Promise.all(parts.map((part) => inProcess<readonly Enumeration[]>({ worlds, faults, part })));
  const results = worlds.map((name, index) => {
    const result = wholeOf(found.flatMap((ofPart) => ofPart[index] ?? []));
    console.log(describeEnumeration(smallWorlds[name], faults, result));
    return result;
  });
  if (results.some(({ broken }) => broken !== undefined)) return 1;
  writeReport(reportTo, results);
  return 0;
}

/** What a program reads, beside what a person does. */
function writeReport(file: string | undefined, report: unknown): void {
  if (file !== undefined) writeFileSync(file, `${JSON.stringify(report)}\n`);
}

/** What a process of its own found. */
function inProcess<Result>(task: Task): Promise<Result> {
  return new Promise((resolve, reject) => {
    const env = { ...process.env, CBP_SIMULATION_TASK: JSON.stringify(task) };
    const child = fork(fileURLToPath(import.meta.url), { env });
    child.on("message", (message) => resolve(message as Result));
    child.on("exit", (code) => reject(new Error(`a process of the simulation ended with ${code}`)));
  });
}

async function runTask(task: Task): Promise<void> {
  send("worlds" in task ? await enumerateWorlds(task) : await runShard(task));
}

async function enumerateWorlds({ worlds, faults, part }: WorldsPart): Promise<readonly Enumeration[]> {
  // Thousands of errors are thrown, and nobody reads where.
  Error.stackTraceLimit = 0;
  const found: Enumeration[] = [];
  for (const name of worlds) found.push(await enumerate(smallWorlds[name], faults, part));
  return found;
}

async function runShard(shard: Shard): Promise<Message> {
  try {
    const { profile, isGuided, ...options } = shard;
    const emphasis = profile === undefined ? undefined : profiles[profile];
    const observer = observerOf(isGuided ? new Guide(shard.seed + shard.first) : undefined);
    const { marks, ...report } = await simulateWith(emphasis, options, observer);
    const { user, system } = process.cpuUsage();
    return { report: { ...report, marks: { ...marks, ...observer.rules }, cpuSeconds: (user + system) / 1e6 } };
  } catch (error) {
    if (!(error instanceof SimulationError)) throw error;
    return { violation: error.message };
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

function send(result: Message | readonly Enumeration[]): void {
  process.send?.(result, () => process.disconnect());
}

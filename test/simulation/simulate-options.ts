import { availableParallelism } from "node:os";
import { parseArgs } from "node:util";
import { OptionError, wholeOption } from "../support/whole-option.js";
import { isProfileName, type ProfileName, profiles } from "./profiles.js";
import { isSmallWorldName, type SmallWorldName, smallWorlds } from "./small-worlds.js";

/** What `npm run simulate` was asked for. */
export type SimulateCommand = RunCommand | EnumerateCommand;

/** Schedules of a seed, or one that is given by its choices. */
export interface RunCommand {
  readonly schedules: number;
  readonly first: number;
  readonly seed: number;
  readonly flows: number;
  readonly processes: number;
  readonly cores: number;
  /** Of one schedule, which is run in place of those of the seed. */
  readonly choices: readonly number[] | undefined;
  /** What happens more often. */
  readonly profile: ProfileName | undefined;
  /** Whether schedules that reached something new are changed in places. */
  readonly isGuided: boolean;
  readonly hasFalseFacts: boolean;
  readonly shrinks: boolean;
  readonly needsAllMarks: boolean;
  readonly reportTo: string | undefined;
}

/** Every schedule of small worlds with so many faults at most. */
export interface EnumerateCommand {
  readonly worlds: readonly SmallWorldName[];
  readonly faults: number;
  readonly cores: number;
  readonly reportTo: string | undefined;
}

const flag = { type: "boolean" } as const;
const text = { type: "string" } as const;

const world = { flows: text, processes: text, profile: text, "false-facts": flag };
const random = { schedules: text, seed: text, first: text, cores: text, guided: flag, "as-found": flag };
const report = { "all-marks": flag, "report-to": text };
const enumeration = { faults: text, cores: text, "report-to": text };
const options = { ...world, ...random, ...report, ...enumeration, choices: text, enumerate: text };

/** @throws {OptionError} for an option that is not there, is not what it has to be, or would change nothing. */
export function simulateCommand(args: readonly string[]): SimulateCommand {
  const values = parsed(args);
  const { enumerate, choices, profile, "report-to": reportTo } = values;
  const whole =
    (name: "schedules" | "first" | "flows" | "processes" | "cores" | "faults", byDefault: number) =>
    (least: number, most?: number) =>
      wholeOption(name, values[name] ?? String(byDefault), least, most);
  const cores = () => whole("cores", availableParallelism())(1, 256);
  if (enumerate !== undefined) {
    assertOnly(values, "enumerate", enumeration);
    return { worlds: worldsOf(enumerate), faults: whole("faults", 1)(0, 9), cores: cores(), reportTo };
  }
  if (choices === undefined) assertOnly(values, undefined, { ...world, ...random, ...report });
  else assertOnly(values, "choices", world);
  if (profile !== undefined && !isProfileName(profile)) {
    throw new OptionError(`--profile is one of: ${Object.keys(profiles).join(", ")}`);
  }
  const schedules = whole("schedules", 20_000)(1);
  return {
    schedules,
    first: whole("first", 0)(0, 2 ** 32 - schedules),
    seed: wholeOption("seed", values.seed ?? String(Math.floor(Math.random() * 2 ** 31))),
    flows: whole("flows", 3)(1, 20),
    processes: whole("processes", 3)(1, 20),
    cores: choices === undefined ? cores() : 1,
    choices: choices === undefined ? undefined : choicesOf(choices),
    profile,
    isGuided: values.guided === true,
    hasFalseFacts: values["false-facts"] === true,
    shrinks: values["as-found"] !== true,
    needsAllMarks: values["all-marks"] === true,
    reportTo,
  };
}

function parsed(args: readonly string[]) {
  try {
    return parseArgs({ args: [...args], options }).values;
  } catch (error) {
    throw new OptionError(error instanceof Error ? error.message : String(error));
  }
}

/** What is given and means nothing beside another option would be thought to have been done. */
function assertOnly(values: object, beside: string | undefined, known: object): void {
  for (const name of Object.keys(values)) {
    if (name === beside || Object.hasOwn(known, name)) continue;
    throw new OptionError(
      `--${name} means nothing ${beside === undefined ? "without --enumerate" : `beside --${beside}`}`,
    );
  }
}

function worldsOf(name: string): readonly SmallWorldName[] {
  if (name === "all") return Object.keys(smallWorlds).filter(isSmallWorldName);
  if (isSmallWorldName(name)) return [name];
  throw new OptionError(`--enumerate is all, or one of: ${Object.keys(smallWorlds).join(", ")}`);
}

function choicesOf(given: string): readonly number[] {
  const choices = parsedJson(given);
  if (Array.isArray(choices) && choices.every((choice) => Number.isSafeInteger(choice) && choice >= 0)) return choices;
  throw new OptionError("--choices must be a JSON list of whole numbers, as a broken law shows it: '[0,1]'");
}

function parsedJson(given: string): unknown {
  try {
    return JSON.parse(given);
  } catch {
    return undefined;
  }
}

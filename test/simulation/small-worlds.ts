import { type ChoiceRange, Choices } from "../../src/simulation/choices.js";
import { prepareClients } from "../../src/simulation/cluster.js";
import { drawProfile, type Profile } from "../../src/simulation/profile.js";
import { runSchedule, type ScheduleOptions } from "../../src/simulation/run-schedule.js";
import { sumOfMarks } from "./mark-report.js";

/** A world so small that all its schedules with a few faults can be run. */
export interface SmallWorld {
  /** What it is, as the middle of a sentence. */
  readonly about: string;
  readonly profile: Partial<Profile>;
  /** For how many leases things go wrong at least. */
  readonly leases: number;
}

const sometimes = 1;

/** What loses something for good, or lets it come when nobody expects it any more. */
const few: Partial<Profile> = {
  kills: sometimes,
  pauses: sometimes,
  journalFailsAfter: sometimes,
  journalIsLate: sometimes,
  bankFailsAfter: sometimes,
  lostRequests: sometimes,
  lostResponses: sometimes,
  lateRequests: sometimes,
  foreignRefusals: sometimes,
};

const many: Partial<Profile> = {
  ...few,
  suspends: sometimes,
  clockJumps: sometimes,
  journalFailsBefore: sometimes,
  journalIsSlow: sometimes,
  journalRepeats: sometimes,
  bankFailsBefore: sometimes,
  bankIsSlow: sometimes,
  declines: sometimes,
  duplicates: sometimes,
  refusals: sometimes,
  passingRefusals: sometimes,
  listFailures: sometimes,
  cachedLists: sometimes,
  unsent: sometimes,
  listLagMs: 300,
};

const always = 1000;

/** Each has one key and two processes. */
export const smallWorlds = {
  payment: { about: "one caller, and every kind of fault", profile: many, leases: 3 },
  callers: { about: "two callers, and every kind of fault", profile: { ...many, repeats: always }, leases: 3 },
  quote: {
    about: "a quote that is confirmed, and every kind of fault",
    profile: { ...many, quotes: always },
    leases: 3,
  },
  "payment, few kinds": { about: "one caller, and nine kinds of faults", profile: few, leases: 2 },
  "callers, few kinds": {
    about: "two callers, and nine kinds of faults",
    profile: { ...few, repeats: always },
    leases: 2,
  },
  "quote, few kinds": {
    about: "a quote that is confirmed, and nine kinds of faults",
    profile: { ...few, quotes: always },
    leases: 2,
  },
} as const satisfies Readonly<Record<string, SmallWorld>>;

export type SmallWorldName = keyof typeof smallWorlds;

export interface Enumeration {
  readonly schedules: number;
  /** How many points of the schedule without faults have something that can go otherwise. */
  readonly points: number;
  /** In how many schedules each mark was reached. */
  readonly marks: Readonly<Record<string, number>>;
  /** Of the first schedule that breaks a law: its choices, and what happened step by step. */
  readonly broken: { readonly choices: readonly number[]; readonly trace: readonly string[] } | undefined;
  readonly seconds: number;
}

/** One of so many parts, counted from 0. Each schedule is in one of them. */
export interface Part {
  readonly at: number;
  readonly of: number;
}

/**
 * Runs every schedule of a small world that differs from the one in which nothing goes wrong in so many places at most. A place is a fault,
 * or a choice that goes otherwise, such as which process a call reaches. How long a fault lasts is part of it: the shortest time and the longest
 * are tried. Parts take the first faults in turn, each with what follows it; the first part has the schedule without a fault, too.
 */
export async function enumerate(
  { profile, leases }: SmallWorld,
  mostFaults: number,
  part: Part = { at: 0, of: 1 },
): Promise<Enumeration> {
  await prepareClients();
  const startMs = performance.now();
  const calm = drawProfile(Choices.replay([]), { flows: 1, processes: 2, hasFalseFacts: false });
  const options: ScheduleOptions = {
    flows: 1,
    processes: 2,
    hasFalseFacts: false,
    funds: undefined,
    intent: {},
    keyOf: () => "flow 1",
    isTraced: false,
    fixed: { profile: { ...calm, latencyMs: 1, slowMs: 1.5 * calm.leaseMs, ...profile }, leases },
  };
  const marks: Record<string, number> = {};
  let schedules = 0;
  let points = 0;
  const stack: Prefix[] = [unfaulted];
  for (let prefix = stack.pop(); prefix !== undefined; prefix = stack.pop()) {
    const choices = Choices.replay(prefix.choices);
    const { violation, marks: reached } = await runSchedule(choices, options);
    const isFirst = prefix === unfaulted;
    if (!isFirst || part.at === 0) {
      schedules += 1;
      for (const mark of reached.keys()) marks[mark] = (marks[mark] ?? 0) + 1;
    }
    if (violation !== undefined) {
      const { trace } = await runSchedule(Choices.replay(choices.made), { ...options, isTraced: true });
      const broken = { choices: choices.made, trace };
      return { schedules, points, marks, broken, seconds: secondsSince(startMs) };
    }
    const next = further(prefix, choices, mostFaults);
    if (isFirst) points = choices.made.length;
    stack.push(...(isFirst ? next.filter((_, index) => index % part.of === part.at) : next));
  }
  return { schedules, points, marks, broken: undefined, seconds: secondsSince(startMs) };
}

/** What the parts of a world come to. */
export function wholeOf(parts: readonly Enumeration[]): Enumeration {
  const [first] = parts;
  if (first === undefined) throw new Error("there is no part");
  return {
    schedules: parts.reduce((sum, { schedules }) => sum + schedules, 0),
    points: first.points,
    marks: sumOfMarks(parts.map(({ marks }) => marks)),
    broken: parts.find(({ broken }) => broken !== undefined)?.broken,
    seconds: Math.max(...parts.map(({ seconds }) => seconds)),
  };
}

export function describeEnumeration({ about }: SmallWorld, mostFaults: number, result: Enumeration): string {
  const { schedules, points, seconds, broken } = result;
  const faults = mostFaults === 1 ? "one fault" : `${mostFaults} faults`;
  const ran = `${schedules} schedules, ${Math.round(seconds)} s`;
  if (broken === undefined) {
    return `No schedule of at most ${faults}, with one key and two processes (${about}), breaks a law: ${ran}. Without a fault it has ${points} places where one can be.`;
  }
  return [
    `A schedule of at most ${faults} breaks a law (${ran}):`,
    JSON.stringify(broken.choices),
    ...broken.trace,
  ].join("\n");
}

export function isSmallWorldName(name: string): name is SmallWorldName {
  return Object.hasOwn(smallWorlds, name);
}

/** The beginning of a schedule, which goes on without a fault. */
interface Prefix {
  readonly choices: readonly number[];
  readonly faults: number;
}

const unfaulted: Prefix = { choices: [], faults: 0 };

/** Every schedule that begins as this one does, and has one choice more that goes otherwise. */
function further(prefix: Prefix, { made, ranges }: Choices, mostFaults: number): readonly Prefix[] {
  const next: Prefix[] = [];
  for (let at = prefix.choices.length; at < made.length; at++) {
    const isPart = isPartOfFault(made, ranges, at);
    const faults = prefix.faults + (isPart ? 0 : 1);
    if (faults > mostFaults) {
      // What belongs to the last fault follows it at once.
      if (!isPart) break;
      continue;
    }
    const range = ranges[at];
    for (const value of range === undefined ? [] : othersOf(range)) {
      next.push({ choices: [...made.slice(0, at), value], faults });
    }
  }
  return next;
}

/** Whether a choice says how a fault happens that was chosen just before. */
function isPartOfFault(made: readonly number[], ranges: readonly ChoiceRange[], at: number): boolean {
  const here = ranges[at];
  if (here === undefined || here.happensFrom < here.count) return false;
  for (let before = at - 1; before >= 0; before--) {
    const range = ranges[before];
    if (range === undefined) return false;
    if (range.happensFrom < range.count) return (made[before] ?? 0) >= range.happensFrom;
  }
  return false;
}

/** Besides 0: that it happens, or the last of the numbers. */
function othersOf({ count, happensFrom }: ChoiceRange): readonly number[] {
  if (happensFrom < count) return happensFrom > 0 ? [count - 1] : [];

  return [count - 1];
}

function secondsSince(startMs: number): number {
  return (performance.now() - startMs) / 1000;
}

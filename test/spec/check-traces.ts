import { spawn } from "node:child_process";
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Facts, Step, Trace } from "./trace.js";

/** Recorded steps that are no behaviour of the specification. */
export interface Mismatch {
  readonly trace: Trace;
  /** The law that breaks, where it is not the step that is none of the specification's. */
  readonly law: string | undefined;
  /** How many of its steps are those of the specification. */
  readonly steps: number;
  /** How many of the changes of its journal. */
  readonly changes: number;
  readonly log: string;
}

export interface TraceReport {
  readonly traces: number;
  readonly steps: number;
  readonly states: number;
  readonly mismatches: readonly Mismatch[];
}

/** Lets TLC hold traces against spec/flow.tla, in as few runs as there are different promises of the service. */
export async function checkTraces(traces: readonly Trace[]): Promise<TraceReport> {
  const groups = new Map<string, Trace[]>();
  for (const trace of traces) {
    const name = JSON.stringify(trace.facts);
    groups.set(name, [...(groups.get(name) ?? []), trace]);
  }
  const mismatches: Mismatch[] = [];
  let states = 0;
  for (const group of groups.values()) {
    const log = await runTlc(group, []);
    states += statesIn(log);
    const law = lawIn(log);
    const broken = law === undefined ? undefined : group[lastNumberOf("t", log) - 1];
    if (broken !== undefined) mismatches.push({ trace: broken, law, ...takenIn(log), log: lastState(log) });
    else if (!log.includes("No error has been found")) throw new Error(`TLC failed:\n${log.slice(-4000)}`);
    else await addUnreached(mismatches, group, log);
  }
  return { traces: traces.length, steps: traces.reduce((sum, { steps }) => sum + steps.length, 0), states, mismatches };
}

/** Adds the traces of which some step is none of the specification's; with the state before it, for the first of all. */
async function addUnreached(mismatches: Mismatch[], group: readonly Trace[], log: string): Promise<void> {
  const reached = group.map(() => ({ steps: 0, changes: 0 }));
  for (const [, trace, i, j] of log.matchAll(/^<<"reached", (\d+), (\d+), (\d+)>>$/gm))
    reached[Number(trace) - 1] = { steps: Number(i) - 1, changes: Number(j) - 1 };
  for (const [index, trace] of group.entries()) {
    const { steps = 0, changes = 0 } = reached[index] ?? {};
    if (steps === trace.steps.length && changes === (trace.stored?.length ?? 0)) continue;
    const before = mismatches.length > 0 ? "" : lastState(await runTlc([trace], ["IsBefore"], steps + changes + 1));
    mismatches.push({ trace, law: undefined, steps, changes, log: before });
  }
}

function statesIn(log: string): number {
  return Number([...log.matchAll(/^(\d+) states generated, .* left on queue\.$/gm)].at(-1)?.[1] ?? 0);
}

function lawIn(log: string): string | undefined {
  return /Invariant (\w+) is violated/.exec(log)?.[1];
}

function lastState(log: string): string {
  return log.slice(log.lastIndexOf("\nState "), log.lastIndexOf(" states generated"));
}

function takenIn(log: string): Pick<Mismatch, "steps" | "changes"> {
  return { steps: lastNumberOf("i", log) - 1, changes: lastNumberOf("j", log) - 1 };
}

function lastNumberOf(variable: string, log: string): number {
  return Number(new RegExp(`^/\\\\ ${variable} = (\\d+)$`, "m").exec(lastState(log))?.[1]);
}

/** What is to be seen of a mismatch. */
export function describeMismatch({ trace, law, steps, changes, log }: Mismatch): string {
  const shown = [...shownUpTo(trace.stored ?? [], changes), ...shownUpTo(trace.steps, steps)];
  const why = law === undefined ? "the last step is none of the specification's" : `the law ${law} breaks`;
  return [`${trace.name}: ${why}`, ...shown.slice(-40), log.trim()].join("\n");
}

function shownUpTo(steps: readonly Step[], taken: number): readonly string[] {
  return steps.slice(0, taken + 1).map((step, index) => `${index === taken ? "*" : " "} ${toTla(step)}`);
}

/** @param stop the step before which the invariants `also` hold. */
async function runTlc(group: readonly Trace[], also: readonly string[], stop = 0): Promise<string> {
  const folder = mkdtempSync(join(tmpdir(), "cbp-traces-"));
  try {
    for (const name of ["flow.tla", "trace.tla"]) copyFileSync(join("spec", name), join(folder, name));
    const [first] = group;
    if (first === undefined) throw new TypeError("there is no trace");
    writeFileSync(join(folder, "trace.cfg"), settings(first.facts, also));
    const list = (steps: readonly Step[]) => `<<\n${steps.map(toTla).join(",\n")} >>`;
    const traces = group.map(
      ({ steps, stored = [] }) =>
        `[steps |-> ${list(steps)}, stored |-> ${list(stored)}, ends |-> ${toTla(endsOf(steps, stored))}]`,
    );
    writeFileSync(
      join(folder, "data.tla"),
      `---- MODULE data ----\nEXTENDS Naturals\nStop == ${stop}\nTraces == <<\n${traces.join(",\n")}\n>>\n====\n`,
    );
    return await new Promise((resolve, reject) => {
      const child = spawn("bash", ["test/spec/tlc.sh", "run", folder, "trace"]);
      let log = "";
      for (const stream of [child.stdout, child.stderr]) stream.on("data", (text) => (log += String(text)));
      child.on("error", reject);
      child.on("close", () => resolve(log));
    });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** For each owner, the last step that may be one of its own: while it waits for what became of a write, what its process does is none. */
function endsOf(steps: readonly Step[], stored: readonly Step[]): readonly number[] {
  const owners = [...steps, ...stored].filter(({ op }) => op === "begin" || op === "replace" || op === "acquire");
  const ends = owners.map(() => 0);
  const waiting = new Set<number>();
  for (const [index, { op, o, os = [], looks = [] }] of steps.entries()) {
    const looking = isList(looks) ? looks.map((look) => Number(Reflect.get(Object(look), "o"))) : [];
    const ofProcess = [...(isList(os) ? os.map(Number) : []), ...looking];
    // A release that it ordered before arrives at the bank all the same.
    const may = op === "give" ? ofProcess : ofProcess.filter((owner) => !waiting.has(owner));
    for (const owner of [Number(o ?? 0), ...may]) if (owner > 0) ends[owner - 1] = index + 1;
    if (op === "hand") waiting.add(Number(o));
    if (op === "learn") waiting.delete(Number(o));
  }
  return ends;
}

function settings({ singleUse, listedWithin }: Facts, also: readonly string[]): string {
  const constants = {
    MostOwners: "1",
    MostClaims: "1",
    MostRestores: "1000",
    MostDecisions: "1",
    Quotes: "TRUE",
    Unseen: "FALSE",
    SingleUse: toTla(singleUse),
    ListedWithin: toTla(listedWithin),
    Without: "{}",
  };
  const lines = Object.entries(constants).map(([name, value]) => `  ${name} = ${value}`);
  return [
    "SPECIFICATION TraceSpec",
    "VIEW Seen",
    "CONSTANTS",
    ...lines,
    `INVARIANTS ${["Once", "NeverBoth", "NothingLost", "AllTrue", "Reached", ...also].join(" ")}`,
    "",
  ].join("\n");
}

function toTla(value: Step[string]): string {
  if (typeof value === "boolean") return value ? "TRUE" : "FALSE";
  if (typeof value === "number") return String(value);
  if (typeof value === "string") return JSON.stringify(value);
  if (isList(value)) return `<<${value.map(toTla).join(", ")}>>`;
  return `[${Object.entries(value)
    .map(([name, part]) => `${name} |-> ${toTla(part)}`)
    .join(", ")}]`;
}

function isList(value: Step[string]): value is readonly Step[string][] {
  return Array.isArray(value);
}

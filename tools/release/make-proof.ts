import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { reportMarks, sumOfMarks } from "../../test/simulation/mark-report.js";
import { type Enumeration, smallWorlds } from "../../test/simulation/small-worlds.js";
import { wholeOption } from "../../test/support/whole-option.js";
import { oneRun, type SimulationRun } from "./one-run.js";
import { type Proof, type ProofFile, proofPage } from "./proof.js";
import { type RecordedProof, recordedProofs, whatIsProved } from "./recorded.js";

/**
 * `npm run proof`: runs the simulator and its small worlds, adds what is recorded in `recorded-proofs.json`, and writes `proof.json` and
 * the page of the documentation. `--to FILE` writes the file alone, elsewhere. `--reports FILE`, as often as there are files, takes what
 * `npm run simulate -- --report-to FILE` wrote of schedules that were run in parts, one after another, and runs none at random.
 */
const file = "tools/release/proof.json";
const page = "docs/proof.md";

const { values } = parseArgs({
  options: {
    schedules: { type: "string", default: "20000" },
    seed: { type: "string", default: "31" },
    faults: { type: "string", default: "1" },
    to: { type: "string" },
    reports: { type: "string", multiple: true },
  },
});

wholeOption("schedules", values.schedules, 1);
wholeOption("seed", values.seed);
wholeOption("faults", values.faults, 0, 9);
const run = whatIsProved();

const simulated =
  values.reports === undefined
    ? simulate<SimulationRun>(`--schedules ${values.schedules} --seed ${values.seed}`).result
    : oneRun(values.reports.map((file): SimulationRun => JSON.parse(readFileSync(file, "utf8"))));
const enumerated = simulate<readonly Enumeration[]>(`--enumerate all --faults ${values.faults}`);
const recorded = recordedProofs();
const proof: ProofFile = {
  format: 1,
  proofs: [ofSimulation(simulated), ofSmallWorlds(enumerated), ...recorded.map(({ way, marks, ...proof }) => proof)],
  marks: {
    "schedules at random": simulated.report.marks,
    "small worlds": sumOfMarks(enumerated.result.map(({ marks }) => marks)),
    "fault matrix": marksBy("fault matrix"),
    "killed processes": marksBy("killed processes"),
  },
};
writeFileSync(values.to ?? file, `${JSON.stringify(proof, undefined, 2)}\n`);
if (values.to === undefined) writeFileSync(page, proofPage(proof));

function marksBy(meant: RecordedProof["way"]) {
  return sumOfMarks(recorded.flatMap(({ way, marks = {} }) => (way === meant ? [marks] : [])));
}

interface Run<Result> {
  readonly command: string;
  readonly result: Result;
}

/** @throws when a law is broken. */
function simulate<Result>(options: string): Run<Result> {
  const folder = mkdtempSync(join(tmpdir(), "proof-"));
  try {
    const report = join(folder, "report.json");
    const command = `npm run simulate -- ${options}`;
    execFileSync("npm", ["run", "--silent", "simulate", "--", ...options.split(" "), "--report-to", report], {
      stdio: ["ignore", "inherit", "inherit"],
    });
    return { command, result: JSON.parse(readFileSync(report, "utf8")) };
  } finally {
    rmSync(folder, { recursive: true });
  }
}

function ofSimulation({ asked, sources, report }: SimulationRun): Proof {
  const { schedules, seed } = asked;
  const { flows, events, paid, givenBack, held, marks } = report;
  const { all, reached, explained, unexplained, rarest } = reportMarks(marks);
  return {
    name: "Schedules at random",
    statement: "No schedule broke a law.",
    bound: `${schedules} schedules of seed ${seed}, each of three flows and three processes. What they did not reach is in the table below.`,
    figures: {
      seed,
      schedules,
      flows,
      events,
      "flows that were paid": paid,
      "flows whose money was given back": givenBack,
      "flows that were held for a person": held,
      marks: all,
      "marks that were reached": reached,
      "marks that were not, with a written reason": explained.length,
      "marks that were not, without one": unexplained.length,
      "schedules that reached the rarest mark": rarest.schedules,
    },
    command: `npm run simulate -- --schedules ${schedules} --seed ${seed}`,
    ...sources,
  };
}

function ofSmallWorlds({ command, result }: Run<readonly Enumeration[]>): Proof {
  const names = Object.keys(smallWorlds);
  return {
    name: "Small worlds",
    statement: "No schedule of these worlds with so few faults breaks a law: all of them were run.",
    bound: `one key, two processes, at most ${values.faults === "1" ? "one fault" : `${values.faults} faults`}. A fault lasts for the shortest time or the longest one.`,
    figures: Object.fromEntries(
      result.map(({ schedules }, index) => [`schedules of the world “${names[index]}”`, schedules]),
    ),
    command,
    ...run,
  };
}

import { spawnSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join, matchesGlob } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { installTools } from "../../test/support/install-tools.js";
import { describeSurvivor, forgetEndless, readMutants, type Survivor, survivorsOf } from "./mutants.js";
import { parts } from "./parts.js";
import { type Row, readTable, rowsOf, toTable } from "./table.js";

/**
 * `npm run mutate -- [PART…]`: changes the sources of each part, one place after another, and runs the tests that execute that place.
 *
 * What was found is kept in `tools/mutation/reports`, so that the next run tries only what may have changed since. It prints the survivors that
 * `known-survivors.ts` doesn't explain, and a table, whose rows take the place of those in `docs/mutation.md`. Needs Node 22 or newer.
 */
const here = fileURLToPath(new URL(".", import.meta.url));
const root = join(here, "../..");
const reports = join(here, "reports");

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    /** Tries everything, whatever earlier runs found. */
    force: { type: "boolean", default: false },
    /** Runs nothing: prints what earlier runs found. */
    report: { type: "boolean", default: false },
    /** Tries once more what earlier runs counted as noticed because tests did not end: on a quiet machine, to see whether they do. */
    again: { type: "boolean", default: false },
    /** Only these sources of the parts, a pattern: the rows of the others stay as they are. */
    only: { type: "string" },
    cores: { type: "string", default: String(availableParallelism()) },
  },
});

const chosen = positionals.length === 0 ? parts : positionals.map(partNamed);
if (!values.report) {
  const tools = installMutator();
  for (const { name } of chosen) {
    if (values.again && existsSync(reportOf(name))) forgetEndless(reportOf(name));
    mutate(tools, name);
  }
}

const found = chosen
  .filter(({ name }) => existsSync(reportOf(name)))
  .flatMap(({ name }) => read(name))
  // Of other sources an earlier run that was interrupted may have left a part.
  .filter(({ file }) => values.only === undefined || matchesGlob(file, values.only));
for (const survivor of survivorsOf(found).filter(({ why }) => why === undefined)) tell(survivor);
const rows = rowsOf(found);
process.stdout.write(toTable(rows));
// The report of a run that was interrupted holds only some of the changes.
if (!values.report) writeRows(rows);

function partNamed(name: string) {
  const part = parts.find((candidate) => candidate.name === name);
  if (part === undefined) throw new Error(`There is no part "${name}": ${parts.map((one) => one.name).join(", ")}`);
  return part;
}

function reportOf(name: string): string {
  return join(reports, `${fileNameOf(name)}.json`);
}

function fileNameOf(name: string): string {
  return name.replaceAll("/", "-");
}

function read(name: string) {
  return readMutants(reportOf(name));
}

function tell(survivor: Survivor): void {
  process.stdout.write(`${describeSurvivor(survivor)}\n\n`);
}

/** Writes the rows of these sources, and keeps those of others that are still there. */
function writeRows(own: readonly Row[]): void {
  const page = join(root, "docs/mutation.md");
  const place = /(<!-- table: .* -->\n)[\s\S]*(<!-- end of the table -->)/;
  const text = readFileSync(page, "utf8");
  const kept = readTable(text).filter(
    ({ source }) => existsSync(join(root, source)) && !own.some((row) => row.source === source),
  );
  const table = toTable([...kept, ...own]);
  writeFileSync(
    page,
    text.replace(place, (_, start: string, end: string) => start + table + end),
  );
}

/** The mutator runs the tests by the project's own Vitest: there may be only one in a process. */
function installMutator(): string {
  const [major = 0] = process.versions.node.split(".").map(Number);
  if (major < 22) throw new Error(`StrykerJS needs Node 22 or newer; this is ${process.version}`);
  const tools = join(installTools(here, "mutation"), "node_modules");
  const vitest = join(tools, "vitest");
  rmSync(vitest, { recursive: true, force: true });
  symlinkSync(join(root, "node_modules/vitest"), vitest, "junction");
  return tools;
}

function mutate(tools: string, name: string): void {
  const { sources, isolated = false } = partNamed(name);
  const temporary = join(here, ".stryker-tmp", fileNameOf(name));
  const options = {
    mutate: values.only === undefined ? sources : [values.only],
    testRunner: "vitest",
    plugins: [join(tools, "@stryker-mutator/vitest-runner/dist/src/index.js")],
    vitest: { configFile: "tools/mutation/vitest.config.ts", related: false },
    coverageAnalysis: "perTest",
    // What is evaluated while a module is loaded needs every test for each mutant, and a module that is loaded anew: elsewhere the
    // table counts it as not tried.
    ignoreStatic: !isolated,
    incremental: true,
    incrementalFile: reportOf(name),
    force: values.force,
    concurrency: Number(values.cores),
    // Beside half as much again as the tests took: on a busy machine a change must not pass for one with which they don't end.
    timeoutMS: 20_000,
    dryRunTimeoutMinutes: 30,
    reporters: ["progress"],
    ignorePatterns: ["/tools/mutation/reports", "/tools/mutation/.stryker-tmp"],
    tempDirName: temporary,
    allowConsoleColors: false,
  };
  mkdirSync(reports, { recursive: true });
  const config = join(reports, `${fileNameOf(name)}.config.json`);
  writeFileSync(config, JSON.stringify(options));
  const stryker = join(tools, "@stryker-mutator/core/bin/stryker.js");
  // What a change prevents never comes.
  const env = { ...process.env, MUTATED_PART: name, CBP_PATIENCE_MS: "20000" };
  const { status } = spawnSync(process.execPath, [stryker, "run", config], { cwd: root, env, stdio: "inherit" });
  rmSync(temporary, { recursive: true, force: true });
  if (status !== 0) throw new Error(`The run of ${name} ended with status ${status}`);
}

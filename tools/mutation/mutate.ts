import { spawnSync } from "node:child_process";
import { mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { availableParallelism } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { parseArgs } from "node:util";
import { installTools } from "../../test/support/install-tools.js";
import { parts } from "./parts.js";

/**
 * `npm run mutate -- [PART…]`: changes the sources of each part, one place after another, and runs the tests that execute that place. It
 * prints the changes that no test noticed, and fails if a part's score is below the threshold. Reports are kept in
 * `tools/mutation/reports`, so that the next run tries only what may have changed since. Needs Node 22 or later.
 */
const here = fileURLToPath(new URL(".", import.meta.url));
const root = join(here, "../..");
const reports = join(here, "reports");
const threshold = 95;

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    /** Tries everything, whatever earlier runs found. */
    force: { type: "boolean", default: false },
    /** Only these sources of the parts, a pattern. */
    only: { type: "string" },
    cores: { type: "string", default: String(availableParallelism()) },
  },
});

const tools = installMutator();
for (const name of positionals.length === 0 ? parts.map((part) => part.name) : positionals) mutate(name);

/** StrykerJS runs the tests by the project's own Vitest: there may be only one in a process. */
function installMutator(): string {
  const [major = 0] = process.versions.node.split(".").map(Number);
  if (major < 22) throw new Error(`StrykerJS needs Node 22 or later; this is ${process.version}`);
  const modules = join(installTools(here, "mutation"), "node_modules");
  const vitest = join(modules, "vitest");
  rmSync(vitest, { recursive: true, force: true });
  symlinkSync(join(root, "node_modules/vitest"), vitest, "junction");
  return modules;
}

function mutate(name: string): void {
  const part = parts.find((candidate) => candidate.name === name);
  if (part === undefined) throw new Error(`There is no part "${name}": ${parts.map((one) => one.name).join(", ")}`);
  const file = name.replaceAll("/", "-");
  const temporary = join(here, ".stryker-tmp", file);
  const options = {
    mutate: values.only === undefined ? part.sources : [values.only],
    testRunner: "vitest",
    plugins: [join(tools, "@stryker-mutator/vitest-runner/dist/src/index.js")],
    vitest: { configFile: "tools/mutation/vitest.config.ts", related: false },
    coverageAnalysis: "perTest",
    // What is evaluated while a module loads needs every test for each change, and a module that is loaded again.
    ignoreStatic: part.isolated !== true,
    incremental: true,
    incrementalFile: join(reports, `${file}.json`),
    force: values.force,
    concurrency: Number(values.cores),
    timeoutMS: 4000,
    dryRunTimeoutMinutes: 30,
    reporters: ["progress", "clear-text"],
    thresholds: { high: 100, low: threshold, break: threshold },
    ignorePatterns: ["/tools/mutation/reports", "/tools/mutation/.stryker-tmp"],
    tempDirName: temporary,
    allowConsoleColors: false,
  };
  mkdirSync(reports, { recursive: true });
  const config = join(reports, `${file}.config.json`);
  writeFileSync(config, JSON.stringify(options));
  const stryker = join(tools, "@stryker-mutator/core/bin/stryker.js");
  // What a change prevents never comes.
  const env = { ...process.env, MUTATED_PART: name, CBP_PATIENCE_MS: "4000" };
  const { status } = spawnSync(process.execPath, [stryker, "run", config], { cwd: root, env, stdio: "inherit" });
  rmSync(temporary, { recursive: true, force: true });
  if (status !== 0) process.exitCode = 1;
}

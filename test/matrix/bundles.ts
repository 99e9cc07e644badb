import { execFile } from "node:child_process";
import { copyFileSync, existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";
import type { Matrix } from "./install.js";
import { bunBinary } from "./runtimes.js";

const run = promisify(execFile);

/** How a bundler makes a program into files that need no packages. */
export interface Bundle {
  /** Its package. */
  readonly bundler: string;
  readonly format: "CommonJS for Node" | "ES module for Node" | "page" | "Worker";
  /** What the command line has besides the usual. */
  readonly needs: string;
  readonly program: string;
  /** Writes `program` into `folder`: the file of that name is the one to run. */
  build(matrix: Matrix, program: string, folder: string): Promise<unknown>;
}

/** See docs/bundling.md. */
const banner = 'import { createRequire } from "node:module"; const require = createRequire(import.meta.url);';

type Build = Bundle["build"];

const rows: readonly (readonly [bundler: string, format: Bundle["format"], build: Build, needs?: string])[] = [
  ["esbuild", "CommonJS for Node", esbuild("--platform=node")],
  ["esbuild", "ES module for Node", esbuild("--platform=node", "--format=esm", `--banner:js=${banner}`), "a banner"],
  ["esbuild", "page", esbuild("--format=esm")],
  ["esbuild", "Worker", esbuild("--format=esm", "--conditions=workerd,worker,browser"), "the condition `workerd`"],
  ["rolldown", "ES module for Node", rolldown("node")],
  ["rolldown", "page", rolldown("browser")],
  ["vite", "page", vite],
  ["webpack", "CommonJS for Node", webpack("node20")],
  ["webpack", "page", webpack("web")],
  ["bun", "ES module for Node", bun("node")],
  ["bun", "page", bun("browser")],
];

export const bundles: readonly Bundle[] = rows.map(([bundler, format, build, needs = ""]) => {
  const program = format === "page" ? "page.js" : format === "Worker" ? "worker.js" : "process.js";
  return { bundler, format, build, needs, program };
});

function esbuild(...flags: readonly string[]): Build {
  return (matrix, program, folder) =>
    tool(matrix, "esbuild", program, "--bundle", "--minify", `--outdir=${folder}`, "--log-level=warning", ...flags);
}

function rolldown(platform: string): Build {
  return (matrix, program, folder) =>
    tool(matrix, "rolldown", program, "--dir", folder, "--format", "esm", "--platform", platform, "--minify");
}

/** From the page, as vite has it. */
function vite(matrix: Matrix, _program: string, folder: string): Promise<unknown> {
  return tool(matrix, "vite", "build", "--outDir", folder, "--emptyOutDir", "--logLevel", "error");
}

function bun(target: string): Build {
  return ({ project, tools }, program, folder) =>
    run(bunBinary(tools), ["build", program, `--target=${target}`, "--minify", `--outdir=${folder}`], { cwd: project });
}

/** Runs the command of a tool in the user's project. */
function tool({ project, tools }: Matrix, name: string, ...flags: readonly string[]): Promise<unknown> {
  return run(join(tools, "node_modules/.bin", name), flags, { cwd: project });
}

/** webpack has no command of its own. What is meant for Node stays as it is: undici takes its minifier ten seconds. */
function webpack(target: string): Build {
  return ({ project, tools }, program, folder) => {
    const config = {
      mode: "production",
      context: project,
      entry: `./${program}`,
      target,
      performance: false,
      optimization: { minimize: target === "web" },
      output: { path: folder, filename: program },
    };
    const script = `
      require("webpack")(${JSON.stringify(config)}, (error, stats) => {
        if (error !== null || stats.hasErrors()) throw error ?? new Error(stats.toString("errors-only"));
      });`;
    return run(process.execPath, ["--eval", script], { cwd: tools });
  };
}

/** Makes the folder of a bundle one that Node and pages can load it from. */
export function finish({ format }: Bundle, { project }: Matrix, folder: string): void {
  const type = format === "CommonJS for Node" ? "commonjs" : "module";
  writeFileSync(join(folder, "package.json"), JSON.stringify({ type }));
  if (format === "page" && !existsSync(join(folder, "index.html")))
    copyFileSync(join(project, "index.html"), join(folder, "index.html"));
}

import { execFileSync } from "node:child_process";
import { copyFileSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type BuildOptions, build as buildByEsbuild } from "esbuild";
import { expect, it, onTestFinished } from "vitest";
import { nodeWithSqlite } from "../crash/node-with-sqlite.js";
import { project } from "./installed-package.js";

const node = nodeWithSqlite(process.env.CBP_NODE);

/** Writes one flow, and closes nothing: the journal's thread must not keep the process alive. */
const work = `SqliteJournal.open(process.argv[2]).then((journal) =>
  journal.begin("k", { service: "s", gateway: "g" }, { phase: "paid", settled: true, data: "{}" },
    { owner: "o", leaseMs: 1000, nonce: "n" })).then(({ created }) => console.log("created", created));`;
const esModule = `import { SqliteJournal } from "cross-border-payments/journal/sqlite"; ${work}`;
const commonJs = `const { SqliteJournal } = require("cross-border-payments/journal/sqlite"); ${work}`;

function newFolder(): string {
  const folder = mkdtempSync(join(tmpdir(), "cross-border-thread-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

function expectToRun(program: string): void {
  const told = execFileSync(node, [program, join(newFolder(), "payments.db")], { encoding: "utf8", stdio: "pipe" });
  expect(told).toBe("created true\n");
}

/** The path of a program in the user's project. */
function programIn(name: string, script: string): string {
  const path = join(project, name);
  writeFileSync(path, script);
  return path;
}

it("runs as the package's ES module", () => expectToRun(programIn("thread.mjs", esModule)));

it("runs as the package's CommonJS module", () => expectToRun(programIn("thread.cjs", commonJs)));

/** What the error of a bundle without the file says. */
function copyWorker(folder: string): void {
  copyFileSync(
    join(project, "node_modules/cross-border-payments/dist/sqlite-worker.js"),
    join(folder, "sqlite-worker.js"),
  );
}

it.each<[string, BuildOptions]>([
  ["an ES module", { format: "esm" }],
  ["a minified CommonJS module with names kept", { format: "cjs", minify: true, keepNames: true }],
])("runs in a bundle of esbuild's, with its file beside it: %s", async (_, options) => {
  const folder = newFolder();
  const outfile = join(folder, options.format === "cjs" ? "app.cjs" : "app.mjs");
  writeFileSync(join(folder, "package.json"), '{ "type": "module" }');
  copyWorker(folder);
  const stdin = { contents: esModule, resolveDir: project };
  await buildByEsbuild({ stdin, bundle: true, platform: "node", outfile, logLevel: "silent", ...options });
  expectToRun(outfile);
});

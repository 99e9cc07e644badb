import { execFile } from "node:child_process";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { type BuildOptions, build } from "esbuild";
import { describe, expect, it } from "vitest";
import { newFile, nodeSqlite } from "../journals/sqlite-fixture.js";

const run = promisify(execFile);

/** A program that writes one flow and does not close the journal, bundled with the sources. */
const program = `
  import { SqliteJournal } from "./sqlite-journal.js";
  const state = { phase: "paid", settled: true, data: "{}" };
  SqliteJournal.open(process.argv[2]).then((journal) =>
    journal.begin("k", { service: "s", gateway: "g" }, state, { owner: "o", leaseMs: 1000, nonce: "n" })
  ).then(({ created }) => console.log("created", created), ({ message }) => console.log(message));`;

describe.skipIf(nodeSqlite === undefined)("the journal's thread in a bundle", () => {
  it.each<[string, BuildOptions]>([
    ["app.mjs", { format: "esm" }],
    ["app.cjs", { format: "cjs", minify: true, keepNames: true }],
  ])("says what to copy beside %s, and runs there; the process ends after the reply", async (name, options) => {
    const folder = dirname(newFile());
    const app = join(folder, name);
    const common: BuildOptions = { bundle: true, platform: "node", logLevel: "silent", target: "node20" };
    const stdin = { resolveDir: "src/journals", contents: program };
    await build({ ...common, ...options, stdin, outfile: app });
    const worker = join(folder, "sqlite-worker.js");
    const { stdout: lost } = await run(process.execPath, [app, newFile()]);
    expect(lost).toMatch(/program of its thread is missing.*dist\/sqlite-worker\.js to/);
    expect(lost).toContain(worker);
    await build({ ...common, entryPoints: ["src/journals/sqlite-worker.ts"], format: "cjs", outfile: worker });
    const { stdout, stderr } = await run(process.execPath, [app, newFile()]);
    expect([stdout, stderr]).toEqual(["created true\n", ""]);
  });
});

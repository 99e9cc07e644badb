import { execFile } from "node:child_process";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { type BuildOptions, build } from "esbuild";
import { describe, expect, it } from "vitest";
import { newFile, nodeSqlite } from "../journals/sqlite-fixture.js";

const run = promisify(execFile);

/** A program that writes one flow and does not close the journal, bundled with the sources. */
async function bundled(options: BuildOptions, name: string): Promise<string> {
  const path = join(dirname(newFile()), name);
  await build({
    stdin: {
      resolveDir: "src/journals",
      contents: `
        import { SqliteJournal } from "./sqlite-journal.js";
        const state = { phase: "paid", settled: true, data: "{}", evidence: "{}" };
        SqliteJournal.open(process.argv[2]).then((journal) =>
          journal.begin("k", { service: "s", gateway: "g" }, state, { owner: "o", leaseMs: 1000, nonce: "n" })
        ).then(({ created }) => console.log("created", created));`,
    },
    bundle: true,
    platform: "node",
    outfile: path,
    logLevel: "silent",
    ...options,
  });
  return path;
}

describe.skipIf(nodeSqlite === undefined)("the journal's thread in a bundle", () => {
  it.each<[string, BuildOptions, string]>([
    ["an ES module", { format: "esm" }, "app.mjs"],
    ["CommonJS", { format: "cjs" }, "app.cjs"],
    ["a minified module", { format: "esm", minify: true }, "app.mjs"],
    ["a minified one with names kept", { format: "esm", minify: true, keepNames: true }, "app.mjs"],
    ["CommonJS with names kept, for an old target", { format: "cjs", keepNames: true, target: "es2017" }, "app.cjs"],
  ])("runs in %s; the process ends by itself, after the reply", async (_, options, name) => {
    const program = await bundled(options, name);
    const { stdout, stderr } = await run(process.execPath, [program, newFile()]);
    expect([stdout, stderr]).toEqual(["created true\n", ""]);
  });
});

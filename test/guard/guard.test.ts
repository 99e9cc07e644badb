import { execFileSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { gzipSync } from "node:zlib";
import { build } from "esbuild";
import { expect, it } from "vitest";

/**
 * What the built package costs, in counts: they show a regression on a noisy machine, where times don't. A change that is
 * worth more than its budget raises the number in `budget.json`, in the same commit.
 */
type Budget = Readonly<Record<string, number>>;

const budget = JSON.parse(readFileSync(new URL("budget.json", import.meta.url), "utf8")) as Budget;
const allowance = 1.15;
const dist = new URL("../../dist/", import.meta.url).href;

const withoutCompilersAndCollections = [
  "--expose-gc",
  "--no-opt",
  "--no-maglev",
  "--no-sparkplug",
  "--min-semi-space-size=64",
  "--max-semi-space-size=64",
];

function measure(script: string, flags: readonly string[] = []): Budget {
  const path = new URL(script, import.meta.url).pathname;
  const printed = execFileSync(process.execPath, [...flags, path, dist], { encoding: "utf8" });
  return JSON.parse(printed) as Budget;
}

function expectWithinBudget(found: Budget): void {
  const over = Object.entries(found).filter(([name, value]) => !(value <= (budget[name] ?? 0) * allowance));
  expect(over.map(([name, value]) => `${name}: ${value}, the budget is ${budget[name] ?? "missing"}`)).toEqual([]);
}

it("loads few files: on import, and up to the first response", () => {
  expectWithinBudget(measure("loaded-files.mjs"));
});

it("allocates little for each call and for each record of a page", () => {
  expectWithinBudget(measure("allocations.mjs", withoutCompilersAndCollections));
});

it("has a small main entry, without its dependencies and without what is loaded later", async () => {
  const { outputFiles, metafile } = await build({
    entryPoints: ["src/index.ts"],
    bundle: true,
    minify: true,
    format: "esm",
    platform: "node",
    packages: "external",
    splitting: true,
    outdir: ".",
    metafile: true,
    write: false,
  });
  const chunks = Object.values(metafile.outputs).map((chunk, index) => ({ ...chunk, ...outputFiles[index] }));
  const loaded = new Set(chunks.filter(({ entryPoint }) => entryPoint === "src/index.ts"));
  for (const { imports } of loaded) {
    const names = imports.filter(({ kind }) => kind === "import-statement").map(({ path }) => path);
    for (const chunk of chunks) if (names.some((name) => chunk.path?.endsWith(`/${name}`))) loaded.add(chunk);
  }
  const sizes = [...loaded].map(({ contents = "" }) => gzipSync(contents, { level: 9 }).length);
  expectWithinBudget({
    mainEntryGzipBytes: sizes.reduce((sum, size) => sum + size, 0),
    mainEntryModules: [...loaded].reduce((sum, { inputs }) => sum + Object.keys(inputs).length, 0),
  });
});

import { readdirSync, readFileSync } from "node:fs";
import { posix } from "node:path";
import { expect, it } from "vitest";
import { type ImportTable, importProblems, unimportedFiles } from "./import-problems.js";
import { importTable } from "./imports.js";
import { readImports } from "./read-imports.js";

const sources = new Map(
  readdirSync("src", { recursive: true, encoding: "utf8" })
    .filter((path) => path.endsWith(".ts"))
    .map((path) => [path.replaceAll("\\", "/"), readFileSync(posix.join("src", path), "utf8")]),
);
const subpaths = new Map([["#platform", ["node", "web", "workerd"].map((on) => `platform/${on}.ts`)]]);
const problems = importProblems(sources, importTable, subpaths);

it("finds nothing in src that the table does not allow, and nothing in the table that src does not use", () => {
  expect(sources.size).toBeGreaterThan(50);
  expect(problems).toEqual([]);
});

it("keeps the contract suite apart from the client's sources", () => {
  const imported = readdirSync("test/contract").flatMap((file) =>
    readImports(readFileSync(`test/contract/${file}`, "utf8")).map(({ specifier }) => `${file}: ${specifier}`),
  );
  const allowed =
    /: (?:cross-border-payments(?:\/\w+)?|vitest|msw(?:\/node)?|node:\w+|\.\/[\w.-]+|\.\.\/support\/[\w-]+\.js)$/;
  expect(imported.length).toBeGreaterThan(20);
  expect(imported.filter((text) => !allowed.test(text))).toEqual([]);
});

/** What begins elsewhere: the CLI, and declarations. */
const begins = ["cli/cli.ts", "platform/cloudflare-workers.d.ts"];

it("finds no file in src that nothing imports, such as a command that is not among the commands", () => {
  const { paths } = JSON.parse(readFileSync("tsconfig.json", "utf8")).compilerOptions;
  const entries = Object.values<string[]>(paths).flatMap((files) => files.map((file) => file.replace("./src/", "")));
  const unimported = unimportedFiles(sources, subpaths).filter((path) => !entries.includes(path));
  expect(unimported.sort()).toEqual(begins.sort());
});

/** What has a time of its own: the sandbox (its option `now`), what a person or a socket waits for while a simulation replaces the clock, and a thread that stands alone. */
const ownTime = ["core/clock.ts", "sandbox/", "cli/sandbox/", "platform/undici-agent.ts", "journals/sqlite-worker.ts"];

it("takes the time from the clock of src/core", () => {
  const bypasses = /\b(?:Date\.now\(|performance\.now\(|new Date\(\)|(?<!\.)set(?:Timeout|Interval)\()/;
  const found = [...sources].filter(([, text]) => bypasses.test(text)).map(([path]) => path);
  expect(found.filter((path) => !ownTime.some((each) => path.startsWith(each)))).toEqual([]);
  expect(ownTime.filter((each) => !found.some((path) => path.startsWith(each)))).toEqual([]);
});

const table: ImportTable = {
  layers: { low: [], middle: ["low"], high: ["middle/published.ts"], "index.ts": ["high"] },
  packages: { zod: ["low/schema.ts"] },
};
const files = {
  "low/schema.ts": 'import "zod/v4/core";',
  "middle/published.ts": 'import "../low/schema.js";',
  "high/top.ts": 'import "../middle/published.js";',
  "index.ts": 'export * from "./high/top.js";',
};
const notAllowed = "The table doesn't allow it.";

it.each<[string, Readonly<Record<string, string>>, readonly string[], Partial<ImportTable>?]>([
  ["nothing wrong", {}, []],
  [
    "an import of an upper layer",
    { "low/a.ts": '\nimport type { A } from "../high/top.js";' },
    [`src/low/a.ts:2 imports ../high/top.js. ${notAllowed}`],
  ],
  [
    "a file that its folder does not publish",
    { "middle/private.ts": "", "high/other.ts": 'import "../middle/private.js";' },
    [`src/high/other.ts:1 imports ../middle/private.js. ${notAllowed}`],
  ],
  ["a #name", { "low/a.ts": 'import "#middle";' }, [`src/low/a.ts:1 imports #middle. ${notAllowed}`]],
  ["an unknown package", { "low/a.ts": 'import "@a/b/c";' }, [`src/low/a.ts:1 imports @a/b/c. ${notAllowed}`]],
  ["a computed name", { "low/a.ts": "import(a);" }, [`src/low/a.ts:1 imports a computed name. ${notAllowed}`]],
  ["no such file", { "low/a.ts": 'import "./b.js";' }, ["src/low/a.ts:1 imports ./b.js: there is no src/low/b.ts."]],
  ["entries without use", { "low/schema.ts": "" }, ["The table lets low/schema.ts import zod, but no file does."]],
  ["a folder that is not listed", { "new/file.ts": "" }, ["src/new is not in the table."]],
  [
    "a folder that is only listed",
    {},
    ["The table lists src/gone, which is not there."],
    { layers: { ...table.layers, gone: [] } },
  ],
  [
    "a table that goes upwards",
    {},
    ["The table lets middle import low, which is not a lower layer."],
    {
      layers: { middle: ["low"], low: [], high: ["middle/published.ts"], "index.ts": ["high"] },
    },
  ],
  [
    "a circle of files",
    { "low/a.ts": 'import type { B } from "./b.js";', "low/b.ts": 'import "./c.js";', "low/c.ts": 'import("./a.js")' },
    ["These files import each other in a circle: low/a.ts -> low/b.ts -> low/c.ts -> low/a.ts."],
  ],
])("sees %s", (_, changed, expected, changedTable) => {
  const texts = new Map(Object.entries({ ...files, ...changed }));
  const found = importProblems(texts, { ...table, ...changedTable }, new Map([["#middle", ["middle/published.ts"]]]));
  expect(found).toEqual(expected);
});

it("reads every way to name a module, with its line", () => {
  const text = `
import a from "a";
import "b";
import type { C } from "c";
export { d } from "d";
import e = require("e");
type F = import("f").F | typeof import("g");
const h = await import("h");
require("i"); createRequire(import.meta.url)("j");
globalThis.process?.getBuiltinModule?.("l");
declare module "m" {}
export const n = "n";
const text = 'import "o"'; // import "p"
`;
  const found = readImports(text).map(({ specifier, line }) => `${line} ${specifier}`);
  expect(found.sort()).toEqual(
    ["2 a", "3 b", "4 c", "5 d", "6 e", "7 f", "7 g", "8 h", "9 i", "9 j", "10 l", "11 m"].sort(),
  );
});

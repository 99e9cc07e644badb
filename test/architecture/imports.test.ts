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
    readImports(file, readFileSync(`test/contract/${file}`, "utf8")).map(({ specifier }) => `${file}: ${specifier}`),
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

/** What these files, put beside the real ones, add to the problems. */
function problemsOf(planted: Record<string, string>): string[] {
  const all = importProblems(new Map([...sources, ...Object.entries(planted)]), importTable, subpaths);
  return all.filter((problem) => !problems.includes(problem));
}

it.each([
  ["an import", 'import { planted } from "../http/planted.js";'],
  ["an import of a type", 'import type { Planted } from "../http/planted.js";'],
  ["a re-export", 'export { planted } from "../http/planted.js";'],
  ["a re-export of everything", 'export * from "../http/planted.js";'],
  ["a dynamic import", 'export const load = () => import("../http/planted.js");'],
  ["a type query", 'export type Planted = typeof import("../http/planted.js");'],
])("sees %s from the sandbox into the call engine", (_, text) => {
  expect(problemsOf({ "sandbox/planted.ts": `\n${text}`, "http/planted.ts": "" })).toEqual([
    expect.stringMatching(
      /^src\/sandbox\/planted\.ts:2 imports \.\.\/http\/planted\.js\. src\/sandbox may import only: /,
    ),
  ]);
});

it("sees a package outside of the one file that may import it", () => {
  expect(problemsOf({ "sandbox/planted.ts": 'import type { Agent } from "undici";' })).toEqual([
    "src/sandbox/planted.ts:1 imports undici. Only these may: platform/undici-agent.ts, settings/connection.ts.",
  ]);
});

it("sees a package that the table does not know", () => {
  expect(problemsOf({ "sandbox/planted.ts": 'import "@scope/name/deep";' })).toEqual([
    "src/sandbox/planted.ts:1 imports @scope/name/deep. It is not in the table.",
  ]);
});

it("sees a module of Node, by either of its names", () => {
  const text = 'export const modules = [process.getBuiltinModule("crypto"), require("node:child_process")];';
  expect(problemsOf({ "http/planted.ts": text })).toEqual([
    expect.stringMatching(/^src\/http\/planted\.ts:1 imports crypto\. Only these may: /),
    "src/http/planted.ts:1 imports node:child_process. It is not in the table.",
  ]);
});

const table: ImportTable = {
  layers: { low: [], middle: ["low"], high: ["middle/published.ts"], "index.ts": ["high"] },
  packages: { zod: ["low/schema.ts"] },
};
const layers = {
  "low/schema.ts": 'import "zod/v4/core";',
  "middle/published.ts": 'import "../low/schema.js";',
  "high/top.ts": 'import "../middle/published.js";',
  "index.ts": 'export * from "./high/top.js";',
};

function problemsIn(changed: Record<string, string>, changedTable: Partial<ImportTable> = {}): string[] {
  return importProblems(new Map(Object.entries({ ...layers, ...changed })), { ...table, ...changedTable });
}

it("has nothing against layers that follow their table", () => {
  expect(problemsIn({})).toEqual([]);
});

it("sees an import of a file that its folder does not publish", () => {
  expect(problemsIn({ "middle/private.ts": "", "high/other.ts": 'import "../middle/private.js";' })).toEqual([
    "src/high/other.ts:1 imports ../middle/private.js. src/high may import only: middle/published.ts.",
  ]);
});

it("sees entries that nobody uses", () => {
  expect(problemsIn({ "low/schema.ts": "", "high/top.ts": "" })).toEqual([
    "The table lets high import middle/published.ts, but no file does: remove the entry.",
    "The table lets low/schema.ts import zod, but no file does: remove the entry.",
  ]);
});

it("sees a folder that is not in the table, and one that is only there", () => {
  expect(problemsIn({ "new/file.ts": "" })).toEqual(["src/new is not in the table: say there what it may import."]);
  expect(problemsIn({}, { layers: { ...table.layers, gone: [] } })).toEqual([
    "The table lists src/gone, which is not there.",
  ]);
});

it("sees a file that is directly in src without being part of the public face", () => {
  expect(problemsIn({ "stray.ts": "" })).toEqual([
    "src/stray.ts: only index.ts may be directly in src/. Move it into the folder of its job.",
  ]);
});

it("sees a table that lets a layer import upwards", () => {
  const upward = { low: ["middle"], middle: [], high: ["middle/published.ts"], "index.ts": ["high"] };
  expect(
    problemsIn(
      { "middle/published.ts": "", "low/schema.ts": 'import "zod"; import "../middle/published.js";' },
      {
        layers: upward,
      },
    ),
  ).toEqual(["The table lets low import middle, which is not a lower layer: it is not listed before it."]);
});

it("sees a circle of files, of types too, and names it once", () => {
  const circle = {
    "low/a.ts": '\nimport type { B } from "./b.js";',
    "low/b.ts": 'import { c } from "./c.js";',
    "low/c.ts": '\n\nexport const load = () => import("./a.js");',
  };
  expect(problemsIn(circle)).toEqual([
    "These files import each other in a circle: src/low/a.ts:2 -> src/low/b.ts:1 -> src/low/c.ts:3 -> src/low/a.ts.",
  ]);
});

it("refuses what can't be checked, and what is not there", () => {
  expect(problemsIn({ "low/late.ts": "export const load = (name: string) => import(name);" })).toEqual([
    "src/low/late.ts:1 imports a module whose name is not a string literal, so it can't be checked.",
  ]);
  expect(problemsIn({ "low/late.ts": 'import "./gone.js"; import "../../package.json";' })).toEqual([
    "src/low/late.ts:1 imports ./gone.js: src/ has no low/gone.ts.",
    "src/low/late.ts:1 imports ../../package.json: src/ has no ../package.json.",
  ]);
});

it("follows a #name of package.json to the files behind it", () => {
  const texts = new Map(Object.entries({ ...layers, "low/late.ts": 'import "#middle";' }));
  expect(importProblems(texts, table, new Map([["#middle", ["middle/published.ts"]]]))).toContain(
    "src/low/late.ts:1 imports #middle. src/low may import only: its own files.",
  );
});

it("reads every way to name a module, with its line", () => {
  const text = `
import a from "a";
import "b";
import type { C } from "c";
export { d } from "d";
import e = require("e");
type F = import("f").F | typeof import("g");
const h = await import(\`h\`);
const load = createRequire(import.meta.url);
load("i"); load.resolve; createRequire(import.meta.url)("j"); module.require("k");
globalThis.process?.getBuiltinModule?.("l");
declare module "m" {}
export const n = "n";
const text = 'import "o"'; // import "p"
`;
  expect(readImports("file.ts", text).map(({ specifier, line }) => `${line} ${specifier}`)).toEqual([
    ...["2 a", "3 b", "4 c", "5 d", "6 e", "7 f", "7 g", "8 h", "10 i", "10 j", "10 k", "11 l", "12 m"],
  ]);
});

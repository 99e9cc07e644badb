import { existsSync, readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import ts from "typescript";
import { expect, it } from "vitest";
import { deadLinks, filesIn } from "./support/dead-links.js";
import { listingsIn } from "./support/listings.js";
import { isThorough } from "./support/thorough.js";

const documents = [
  "README.md",
  "AGENTS.md",
  "tools/site/home.md",
  ...readdirSync("docs").map((file) => `docs/${file}`),
].filter((file) => file.endsWith(".md"));

/** Files that `npm run test:package` compiles, with the frameworks that they import. */
const compiledElsewhere = new Set(
  ["express", "hono", "nest", "next"].flatMap((framework) => {
    const folder = join("examples/frameworks", framework);
    const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts"));
    return files.map((file) => readFileSync(join(folder, file), "utf8"));
  }),
);

/**
 * The TypeScript blocks of a document, each as a module of its own at the root of the project, but for those that are
 * a part of these files. A block's first line may name its file.
 */
function codeBlocks(document: string): Map<string, string> {
  const listings = listingsIn(readFileSync(document, "utf8"));
  const own = listings.filter(({ code }) => ![...compiledElsewhere].some((file) => file.includes(code)));
  return new Map(
    own.map(({ setup, code, isRun }, index) => {
      const name = /^\/\/ ([\w-]+\.ts)\n/.exec(code)?.[1] ?? `${document.replaceAll("/", "-")}-${index + 1}.ts`;
      // One that is run stands where it is run from: see run-block.ts.
      return [join(process.cwd(), isRun ? "test/listings" : "", name), `${setup}${code}\nexport {};`];
    }),
  );
}

function compile(modules: ReadonlyMap<string, string>): string[] {
  const config = ts.getParsedCommandLineOfConfigFile(
    "tsconfig.json",
    {},
    { ...ts.sys, onUnRecoverableConfigFileDiagnostic() {} },
  );
  const options = { ...config?.options, noEmit: true };
  const host = ts.createCompilerHost(options);
  const { getSourceFile, fileExists, readFile } = host;
  host.fileExists = (path) => modules.has(path) || fileExists(path);
  host.readFile = (path) => modules.get(path) ?? readFile(path);
  host.getSourceFile = (path, ...rest) => {
    const text = modules.get(path);
    return text === undefined ? getSourceFile(path, ...rest) : ts.createSourceFile(path, text, ts.ScriptTarget.ES2022);
  };
  const program = ts.createProgram([...modules.keys(), "docs/listings.d.ts"], options, host);
  // Of the blocks alone: `npm run typecheck` checks what they import.
  const ofBlocks = [...modules.keys()].flatMap((path) =>
    ts.getPreEmitDiagnostics(program, program.getSourceFile(path)),
  );
  return ofBlocks.map((problem) => {
    const place = problem.file === undefined ? "" : `${problem.file.fileName}: `;
    return place + ts.flattenDiagnosticMessageText(problem.messageText, "\n");
  });
}

it("has no code that is not compiled", () => {
  for (const document of documents)
    expect(readFileSync(document, "utf8"), document).not.toMatch(/^```(?:[cm]?jsx?|javascript|tsx|typescript)\b/m);
});

it.runIf(isThorough)("compiles every code block of the documents", () => {
  const blocks = documents.flatMap((document) => [...codeBlocks(document)]);
  const modules = new Map(blocks);
  expect(modules.size).toBeGreaterThan(5);
  expect(modules.size, "two blocks have the same name").toBe(blocks.length);
  // What the pages tell readers to save next to their own files.
  for (const name of ["postgres-ledger.ts", "statement.ts"]) {
    modules.set(join(process.cwd(), name), readFileSync(join("examples/ledger-sql", name), "utf8"));
  }
  expect(compile(modules)).toEqual([]);
});

it("shows parts of the back ends as they are built", () => {
  const shown = listingsIn(readFileSync("docs/frameworks.md", "utf8"));
  expect(shown).not.toEqual([]);
  for (const { code } of shown)
    expect(
      [...compiledElsewhere].some((file) => file.includes(code)),
      code,
    ).toBe(true);
});

it("shows the recipes for workflow engines as they are tested", () => {
  const page = readFileSync("docs/workflow-engines.md", "utf8");
  const recipes = readdirSync("examples/engines");
  expect(recipes).toHaveLength(3);
  const unindented = (text: string) => text.replaceAll(/^ +/gm, "");
  const [worker] = listingsIn(page);
  expect(unindented(readFileSync("examples/engines/pg-boss.ts", "utf8"))).toContain(unindented(worker?.code ?? ""));
  for (const recipe of recipes) expect(page).toContain(`../examples/engines/${recipe}`);
});

it("shows the ledger in SQL, and orders, as they are tested", () => {
  const file = (name: string) => readFileSync(join("examples/ledger-sql", name), "utf8");
  expect(readFileSync("docs/ledger-in-sql.md", "utf8")).toContain("](../examples/ledger-sql/postgres-ledger.ts)");
  const [comparison] = listingsIn(readFileSync("docs/statement.md", "utf8"));
  expect(file("statement.ts")).toContain(comparison?.code);
  const [main] = listingsIn(readFileSync("docs/orders.md", "utf8"));
  const functions = main?.code.split(/(?<=^}\n)\n/m) ?? [];
  expect(functions.length).toBeGreaterThan(1);
  for (const code of functions) expect(file("orders.ts")).toContain(code);
});

it("leads from every document to files that are there", () => {
  for (const document of [...documents, "CONTRIBUTING.md", "CHANGELOG.md", "examples/bank/README.md"]) {
    const dead = deadLinks(readFileSync(document, "utf8"), filesIn(dirname(document)), filesIn("."));
    expect(dead, document).toEqual([]);
  }
});

it.each([
  // The example of a recipe.
  ["CONTRIBUTING.md", ["src/resources/disputes.ts"]],
  ["AGENTS.md", []],
])("finds each file that %s names", (document, missing) => {
  const named = readFileSync(document, "utf8").matchAll(/`((?:src|test|tools|docs)\/[\w./-]+)`/g);
  const paths = Array.from(named, ([, path = ""]) => path);
  expect(paths.filter((path) => !existsSync(path))).toEqual(missing);
});

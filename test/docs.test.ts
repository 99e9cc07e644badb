import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import ts from "typescript";
import { expect, it } from "vitest";
import { postgresTables } from "../examples/ledger-sql/postgres-ledger.js";
import { deadLinks, filesIn } from "./support/dead-links.js";
import { isThorough } from "./support/thorough.js";

const documents = ["README.md", "tools/site/home.md", ...readdirSync("docs").map((file) => `docs/${file}`)].filter(
  (file) => file.endsWith(".md"),
);

/** Files that `npm run test:frameworks` compiles, with the frameworks that they import. */
const compiledElsewhere = new Set(
  ["express", "hono", "nest", "next"].flatMap((framework) => {
    const folder = join("examples/frameworks", framework);
    const files = readdirSync(folder, { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith(".ts"));
    return files.map((file) => readFileSync(join(folder, file), "utf8"));
  }),
);

/**
 * The TypeScript blocks of a document, each as a module of its own at the root of the project, but for those that are one of these files as it
 * is. A block's first line may name its file.
 */
function codeBlocks(document: string): Map<string, string> {
  const blocks = readFileSync(document, "utf8").matchAll(/^```ts(?: run)?\n([\s\S]*?)^```/gm);
  const own = [...blocks].filter(([, code = ""]) => !compiledElsewhere.has(code));
  return new Map(
    own.map(([, code], index) => {
      const name = /^\/\/ ([\w-]+\.ts)\n/.exec(code ?? "")?.[1] ?? `${document.replaceAll("/", "-")}-${index + 1}.ts`;
      return [join(process.cwd(), name), `${code}\nexport {};`];
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
  const program = ts.createProgram([...modules.keys()], options, host);
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
  expect(compile(modules)).toEqual([]);
});

it("shows the back ends with each framework as they are built", () => {
  for (const page of ["express", "hono", "nestjs", "next"]) {
    expect(codeBlocks(`docs/${page}.md`), page).toEqual(new Map());
    expect(readFileSync(`docs/${page}.md`, "utf8").match(/^```ts$/gm)?.length, page).toBeGreaterThan(0);
  }
});

it("shows the recipes for workflow engines as they are tested", () => {
  const page = readFileSync("docs/workflow-engines.md", "utf8");
  const recipes = readdirSync("test/engines/recipes");
  expect(recipes).toHaveLength(3);
  for (const recipe of recipes) {
    expect(page).toContain(`\`\`\`ts\n${readFileSync(join("test/engines/recipes", recipe), "utf8")}\`\`\``);
  }
});

it("shows the ledger in SQL, and orders, as they are tested", () => {
  const page = readFileSync("docs/ledger-in-sql.md", "utf8");
  const shown = {
    "postgres-ledger.ts": page,
    "sqlite-ledger.ts": page,
    "orders.ts": readFileSync("docs/orders.md", "utf8"),
    "statement.ts": readFileSync("docs/statement.md", "utf8"),
  };
  for (const [file, where] of Object.entries(shown)) {
    expect(where).toContain(`\`\`\`ts\n${readFileSync(join("examples/ledger-sql", file), "utf8")}\`\`\``);
  }
  const tables = (/^```sql\n([\s\S]*?);\n```$/m.exec(page)?.[1] ?? "").replaceAll(/^/gm, "  ");
  expect(postgresTables.trimStart()).toBe(tables.trimStart());
});

it("leads from every document to files that are there", () => {
  for (const document of [...documents, "CONTRIBUTING.md", "CHANGELOG.md", "examples/bank/README.md"]) {
    const dead = deadLinks(readFileSync(document, "utf8"), filesIn(dirname(document)), filesIn("."));
    expect(dead, document).toEqual([]);
  }
});

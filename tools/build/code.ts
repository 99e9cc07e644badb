import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { fileURLToPath, pathToFileURL } from "node:url";
import { transform } from "esbuild";
import { type GetManualChunk, type OutputChunk, type Plugin, rollup } from "rollup";
import ts from "typescript";

/** What package.json names in `imports`: files that are loaded late, or are others on the web. */
const inner = {
  login: "src/auth/openid-grant.ts",
  "platform/node": "src/platform/node.ts",
  "schemas/installed": "src/http/installed-schemas.ts",
};
const modulesOnly = {
  /** What package.json names in `bin`. */
  cli: "src/cli/cli.ts",
  "platform/web": "src/platform/web.ts",
  "platform/workerd": "src/platform/workerd.ts",
  "schemas/compiled": "src/http/compiled-schemas.ts",
  "schemas/plain": "src/http/plain-schemas.ts",
};

/** A text that both builds load, so that the package holds it once. */
const once = { "console-page": "src/sandbox/console/page-text.ts" };

/** Packages that are ES modules only. Jest and Node before 20.19 can't `require` them, so the CommonJS build holds a copy. */
const copied = ["openid-client", "oauth4webapi", "jose"];

const root = `${process.cwd()}/`;

/** Every Node has them; the `new RegExp` that esbuild writes instead stays in every bundle. */
const supported = { "regexp-unicode-property-escapes": true };

/**
 * Builds the code of the package: ES modules, and CommonJS. See docs/decisions/0054.
 *
 * @param entryPoints what package.json names in `exports`: names of files without their endings, and their sources.
 */
export async function buildCode<Names extends string>(
  entryPoints: Readonly<Record<Names | "index" | "sandbox" | "testing", string>>,
): Promise<void> {
  rmSync("dist", { recursive: true, force: true });
  const { sandbox, testing, ...asModules } = entryPoints;
  await write("es", { ...asModules, ...inner, ...modulesOnly }, entryPoints.index);
  const chunks = await write("cjs", { ...entryPoints, ...inner, ...once }, entryPoints.index);
  for (const name of Object.keys({ sandbox, testing })) passOnForImport(name, chunks);
  writeFileSync("dist/THIRD-PARTY-LICENSES.txt", licences());
}

async function write(
  format: "es" | "cjs",
  input: Readonly<Record<string, string>>,
  main: string,
): Promise<readonly OutputChunk[]> {
  const bundle = await rollup({
    input: { ...input },
    plugins: [sources(format)],
    treeshake: { moduleSideEffects: (id) => id === `${root}${modulesOnly.cli}` },
    onwarn(warning) {
      throw new Error(warning.message);
    },
  });
  const ending = format === "es" ? "js" : "cjs";
  const { output } = await bundle.write({
    dir: "dist",
    format,
    entryFileNames: `[name].${ending}`,
    chunkFileNames: ({ name, isDynamicEntry }) => `shared/${isDynamicEntry ? ofRelease(name) : name}.${ending}`,
    manualChunks: chunks(main),
    // Jest has no `import()` without a flag of Node's.
    dynamicImportInCjs: false,
    // Of the package's own files, which have no default export.
    interop: (id) => (id?.startsWith("#") ? "esModule" : "auto"),
    generatedCode: { preset: "es2015", symbols: false },
    externalLiveBindings: false,
    hoistTransitiveImports: false,
    minifyInternalExports: false,
  });
  return output.filter((chunk) => chunk.type === "chunk");
}

/**
 * Of a file that is loaded late: another release may have been installed in place of the one that the process runs, and its files must not be
 * found. CommonJS would mix the two without a word.
 */
function ofRelease(name: string): string {
  const { version } = JSON.parse(readFileSync("package.json", "utf8")) as { readonly version: string };
  return `${name}-${version.replace(/[^\w-]/g, "-")}`;
}

/**
 * Every module that the main entry loads is in one file: every import loads it, and each further file costs time. What requests tokens, and
 * what pays in two steps, are in one file each, which the first call of each loads.
 */
function chunks(main: string): GetManualChunk {
  const chunkOf = new Map<string, string>();
  return (id, { getModuleInfo }) => {
    const add = (module: string, chunk: string) => {
      const info = getModuleInfo(module);
      if (info === null || info.isExternal || chunkOf.has(module)) return;
      chunkOf.set(module, chunk);
      for (const imported of info.importedIds) add(imported, chunk);
    };
    add(root + main, "core");
    add(`${root}src/auth/token-manager.ts`, "tokens");
    add(`${root}src/flows/pay.ts`, "pay");
    return chunkOf.get(id);
  };
}

/** Finds the sources and what is copied; everything else is for Node to find. */
function sources(format: "es" | "cjs"): Plugin {
  return {
    name: "sources",
    resolveId(name, importer) {
      if (importer === undefined) return root + name;
      if (name.startsWith(".")) {
        const path = fileURLToPath(new URL(name, pathToFileURL(importer)));
        return importer.endsWith(".ts") ? path.replace(/\.js$/, ".ts") : path;
      }
      if (format === "cjs" && copied.some((copy) => name === copy || name.startsWith(`${copy}/`))) {
        return fileURLToPath(import.meta.resolve(name));
      }
      return { id: name, external: true };
    },
    async transform(text, id) {
      const loader = id.endsWith(".ts") ? "ts" : "js";
      const stripped = withoutDocumentation(text);
      // CommonJS is shaken by nobody.
      const { code } = await transform(format === "es" ? withPureConstants(stripped) : stripped, {
        loader,
        target: "node20",
        supported,
        charset: "utf8",
      });
      return { code, map: null };
    },
    /** What Rollup writes looks for a document first, which Jest may have. */
    resolveImportMeta(property) {
      return format === "cjs" && property === "url" ? 'require("node:url").pathToFileURL(__filename).href' : null;
    },
    renderChunk(code, { name }) {
      // Rollup has used it by then, and no bundler shakes CommonJS, or the command.
      const isShaken = format === "es" && name !== "run-process";
      return withTabs(isShaken ? code : code.replaceAll("/* @__PURE__ */ ", ""));
    },
  };
}

/** Of the tables of options, what nothing but the documentation is made of. */
const documented = new Set(["documentation", "documentedDefault", "logins"]);

/** Without comments, and what `documented` names: what they say is in the types, in the documents or in the repository. */
function withoutDocumentation(text: string): string {
  const ends = new Map<number, number>();
  const visit = (node: ts.Node) => {
    for (const { pos, end } of ts.getLeadingCommentRanges(text, node.pos) ?? []) {
      if (!text.startsWith("#!", pos)) ends.set(pos, end);
    }
    if (ts.isPropertyAssignment(node) && documented.has(node.name.getText())) {
      ends.set(node.getStart(), text[node.end] === "," ? node.end + 1 : node.end);
    } else ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile("source.ts", text, ts.ScriptTarget.Latest, true));
  const starts = [...ends.keys()].sort((one, other) => one - other);
  const kept = [0, ...starts.map((start) => ends.get(start))].map((from, index) => text.slice(from, starts[index]));
  return kept.join("");
}

/** Indented by tabs, which are half as long, but for the lines of texts. */
function withTabs(code: string): string {
  const texts: ts.Node[] = [];
  const visit = (node: ts.Node) => {
    if (ts.isTemplateLiteralToken(node)) texts.push(node);
    ts.forEachChild(node, visit);
  };
  visit(ts.createSourceFile("chunk.js", code, ts.ScriptTarget.Latest));
  const isInText = (at: number) => texts.some(({ pos, end }) => pos < at && at < end);
  return code.replace(/^(?: {2})+/gm, (spaces, at: number) => (isInText(at) ? spaces : "\t".repeat(spaces.length / 2)));
}

/** Bundlers keep what is made by a call, from other objects or from texts, used or not. No constant here does more than being made. */
function withPureConstants(text: string): string {
  const parts: string[] = [];
  let end = 0;
  for (const statement of ts.createSourceFile("source.ts", text, ts.ScriptTarget.Latest).statements) {
    if (!ts.isVariableStatement(statement)) continue;
    for (const { initializer } of statement.declarationList.declarations) {
      if (initializer === undefined || !isMade(initializer)) continue;
      const { pos } = initializer;
      parts.push(text.slice(end, pos), ` /* @__PURE__ */ (() => (${text.slice(pos, initializer.end)}))()`);
      end = initializer.end;
    }
  }
  return [...parts, text.slice(end)].join("");
}

function isMade(node: ts.Node): boolean {
  if (ts.isSpreadAssignment(node) || ts.isSpreadElement(node) || ts.isTemplateExpression(node)) return true;
  if (ts.isCallExpression(node) || ts.isNewExpression(node)) return true;
  return !ts.isFunctionLike(node) && !ts.isClassLike(node) && ts.forEachChild(node, isMade) === true;
}

/** What is for development, on Node, is there once: ES modules get it from the CommonJS build. */
function passOnForImport(entry: string, chunks: readonly OutputChunk[]): void {
  const names = chunks.find(({ name, isEntry }) => isEntry && name === entry)?.exports ?? [];
  writeFileSync(
    `dist/${entry}.js`,
    `export { ${names.join(", ")} } from "./${entry}.cjs";
`,
  );
}

function licences(): string {
  return copied.map((name) => `${name}\n\n${readFileSync(`node_modules/${name}/LICENSE.md`, "utf8")}`).join("\n\n");
}

import { readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import { defineConfig, type Options } from "tsup";

/** The entry points that package.json names in `exports`. */
const entryPoints = {
  index: "src/index.ts",
  sandbox: "src/sandbox/index.ts",
  testing: "src/testing/index.ts",
  flow: "src/flows/index.ts",
  reconcile: "src/reconcile/index.ts",
  "journal/sqlite": "src/journals/sqlite-journal.ts",
  "journal/postgres": "src/journals/postgres-journal.ts",
  "tokens/redis": "src/tokens/redis-token-store.ts",
  "tokens/postgres": "src/tokens/postgres-token-store.ts",
  opentelemetry: "src/opentelemetry/index.ts",
  settings: "src/settings/index.ts",
  desk: "src/desk/index.ts",
};
/** Files that package.json names in `imports`. */
const platforms = Object.fromEntries(
  ["node", "web", "workerd"].map((on) => [`platform/${on}`, `src/platform/${on}.ts`]),
);
/** Files that only ES modules need: the CLI, and programs of threads. */
const programs = { cli: "src/cli/cli.ts" };
/** ES modules only. Jest's loader can't `require` them, so the CommonJS build holds a copy. */
const copied = ["openid-client", "oauth4webapi", "jose"];

/** Consumers without `@types/node` need the compiler's `Symbol.asyncDispose`. */
const disposable = '/// <reference lib="esnext.disposable" />';

const common: Options = {
  target: "node20",
  splitting: true,
  // By Rollup: without it, tsup makes CommonJS chunks by sucrase, which miscompiles class fields.
  treeshake: { moduleSideEffects: false },
  external: [/^#/, /^cloudflare:/],
};

rmSync("dist", { recursive: true, force: true });

export default defineConfig([
  { ...common, format: "esm", entry: { ...entryPoints, ...platforms, ...programs }, onSuccess: writeTypesForImport },
  {
    ...common,
    format: "cjs",
    entry: { ...entryPoints, ...platforms },
    noExternal: copied,
    esbuildOptions: (options) => void Object.assign(options, { supported: { "dynamic-import": false } }),
    dts: { entry: entryPoints, banner: disposable, compilerOptions: { stripInternal: true } },
    onSuccess: writeLicenses,
  },
]);

/** Both builds have the same declarations, so that their types are the same types. */
async function writeTypesForImport(): Promise<void> {
  for (const name of Object.keys(entryPoints))
    writeFileSync(`dist/${name}.d.ts`, `export * from "./${basename(name)}.cjs";\n`);
}

async function writeLicenses(): Promise<void> {
  const texts = copied.map((name) => readFileSync(`node_modules/${name}/LICENSE.md`, "utf8"));
  writeFileSync("dist/THIRD-PARTY-LICENSES.txt", texts.join("\n\n"));
}

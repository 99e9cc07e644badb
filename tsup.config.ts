import { readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { basename } from "node:path";
import { defineConfig, type Options } from "tsup";

/** What package.json names in `exports`. */
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
/** What package.json names in `imports`. */
const platforms = Object.fromEntries(["node", "web", "workerd"].map((p) => [`platform/${p}`, `src/platform/${p}.ts`]));
/** ES modules only. Jest can't `require` them, so the CommonJS build holds a copy. */
const copied = ["openid-client", "oauth4webapi", "jose"];
/** For consumers without `@types/node`, whose compiler doesn't know `Symbol.asyncDispose`. */
const disposable = '/// <reference lib="esnext.disposable" />';
const common: Options = {
  target: "node20",
  splitting: true,
  // By Rollup: without it, tsup makes CommonJS chunks by sucrase, which miscompiles class fields.
  treeshake: { moduleSideEffects: false },
  external: [/^#/, /^cloudflare:/],
  onSuccess: finish,
};
rmSync("dist", { recursive: true, force: true });

export default defineConfig([
  { ...common, format: "esm", entry: { ...entryPoints, ...platforms, cli: "src/cli/cli.ts" } },
  // One file, which users copy beside a bundle.
  { format: "esm", target: "node20", entry: { "sqlite-worker": "src/journals/sqlite-worker.ts" } },
  {
    ...common,
    format: "cjs",
    entry: { ...entryPoints, ...platforms },
    noExternal: copied,
    // `import.meta.url`, beside which the worker is.
    shims: true,
    esbuildOptions: (options) => void Object.assign(options, { supported: { "dynamic-import": false } }),
    dts: { entry: entryPoints, banner: disposable, compilerOptions: { noCheck: true } },
  },
]);

async function finish(): Promise<void> {
  // Both builds have the same declarations, so that their types are the same types.
  for (const entry of Object.keys(entryPoints))
    writeFileSync(`dist/${entry}.d.ts`, `export * from "./${basename(entry)}.cjs";\n`);
  // esbuild names the packages that it copies in comments. Their licenses must be in the package.
  const built = readdirSync("dist", { recursive: true, encoding: "utf8" }).filter((file) => file.endsWith("js"));
  const code = built.map((file) => readFileSync(`dist/${file}`, "utf8")).join("\n");
  const folders = [...new Set(code.match(/(?<=^\/\/ )node_modules\/(?:@[^/]+\/)?[^/]+/gm))];
  const files = folders.map((folder) => `${folder}/${readdirSync(folder).find((file) => /^licen[cs]e/i.test(file))}`);
  const texts = files.map((file) => `${file}\n\n${readFileSync(file, "utf8")}`);
  writeFileSync("dist/THIRD-PARTY-LICENSES.txt", texts.join("\n\n"));
}

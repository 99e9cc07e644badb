import { readFileSync, writeFileSync } from "node:fs";
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
};

/** What package.json names in `imports`: files that are loaded late, or are others on the web. */
const inner = {
  login: "src/auth/openid-grant.ts",
  "platform/node": "src/platform/node.ts",
  "schemas/compiled": "src/http/compiled-schemas.ts",
};
const modulesOnly = {
  /** What package.json names in `bin`. */
  cli: "src/cli/cli.ts",
  "platform/web": "src/platform/web.ts",
  "platform/workerd": "src/platform/workerd.ts",
  "schemas/plain": "src/http/plain-schemas.ts",
};

/** A text that both builds load, so that the package holds it once. */
const once = { "console-page": "src/sandbox/console/page-text.ts" };

/** Packages that are ES modules only. Jest and Node before 20.19 can't `require` them, so the CommonJS build holds a copy. */
const copied = ["openid-client", "oauth4webapi", "jose"];

/** `Symbol.asyncDispose` is not in the es2022 of the compiler: who has no `@types/node` would not know it. */
const symbolsOfDisposal = '/// <reference lib="esnext.disposable" />';

const shared: Options = {
  target: "node20",
  platform: "node",
  outDir: "dist",
  external: [/^#/, /^cloudflare:/],
  removeNodeProtocol: false,
};

/** See docs/decisions/0016. */
export default defineConfig([
  {
    ...shared,
    entry: { ...entryPoints, ...inner, ...modulesOnly },
    format: "esm",
    splitting: true,
    onSuccess: async () => Object.keys(entryPoints).forEach(writeTypesForImport),
  },
  {
    ...shared,
    entry: { ...entryPoints, ...inner, ...once },
    format: "cjs",
    // tsup splits CommonJS by way of sucrase, which miscompiles class fields.
    splitting: false,
    noExternal: copied,
    esbuildOptions(options) {
      // esbuild then writes `require` for `import()`: Jest has no `import()` without a flag of Node's.
      options.supported = { ...options.supported, "dynamic-import": false };
      // Each entry point holds a copy of what it shares with others; the ES modules are the ones to read.
      options.minifyWhitespace = true;
    },
    onSuccess: async () => writeFileSync("dist/THIRD-PARTY-LICENSES.txt", licences()),
  },
  {
    ...shared,
    entry: entryPoints,
    format: "cjs",
    dts: { only: true, banner: symbolsOfDisposal, compilerOptions: { stripInternal: true } },
  },
]);

/** One set of declarations for both builds, so that their types are the same types. */
function writeTypesForImport(name: string): void {
  writeFileSync(`dist/${name}.d.ts`, `export * from "./${basename(name)}.cjs";\n`);
}

function licences(): string {
  return copied.map((name) => `${name}\n\n${readFileSync(`node_modules/${name}/LICENSE.md`, "utf8")}`).join("\n\n");
}

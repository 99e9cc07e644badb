import { writeFileSync } from "node:fs";
import { basename } from "node:path";
import { defineConfig } from "tsup";
import { buildCode } from "./tools/build/code.js";
import { writeDocs } from "./tools/build/docs.js";

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

/** `Symbol.asyncDispose` is not in the es2022 of the compiler: who has no `@types/node` would not know it. */
const symbolsOfDisposal = '/// <reference lib="esnext.disposable" />';

/** The code is built by Rollup, which tsup has for its types, since tsup's own way to split CommonJS miscompiles class fields. See docs/decisions/0054. */
export default defineConfig(async () => {
  await buildCode(entryPoints);
  for (const name of Object.keys(entryPoints)) writeTypesForImport(name);
  writeDocs("dist/docs");
  return {
    entry: entryPoints,
    format: "cjs",
    target: "node20",
    platform: "node",
    outDir: "dist",
    external: [/^#/, /^cloudflare:/],
    // `npm run typecheck` checks them: to do it here again took a third of the build.
    dts: { only: true, banner: symbolsOfDisposal, compilerOptions: { stripInternal: true, noCheck: true } },
  };
});

/** One set of declarations for both builds, so that their types are the same types. */
function writeTypesForImport(name: string): void {
  writeFileSync(`dist/${name}.d.ts`, `export * from "./${basename(name)}.cjs";\n`);
}

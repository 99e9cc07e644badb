import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { defineConfig } from "tsup";

const entry = {
  index: "src/index.ts",
  sandbox: "src/sandbox/index.ts",
  testing: "src/testing/index.ts",
  flow: "src/flows/index.ts",
  "journal/sqlite": "src/journals/sqlite-journal.ts",
  "journal/postgres": "src/journals/postgres-journal.ts",
};

/** Published as ES modules only. They are packed into a file of their own, which is loaded with the first token request. */
const bundled = ["openid-client", "oauth4webapi", "jose"];

function loadedOnFirstUse(code: string): string {
  return (
    code
      // `import()` of a CommonJS file starts the loader of ES modules, and test runners with a loader of their own lack it.
      .replaceAll(/\bimport\((['"][^'"]+['"])\)/g, "Promise.resolve().then(() => require($1))")
      // A third of the import's time, for what many a program never asks for.
      .replace("= require('decimal.js');", "= { get Decimal() { return require('decimal.js').Decimal; } };")
  );
}

/**
 * One build, in CommonJS: `import` and `require` give the same classes and the same code. See decisions/0009.
 */
export default defineConfig({
  entry,
  format: "cjs",
  target: "node20",
  platform: "node",
  // One copy of every class, whichever entry points a program imports.
  splitting: true,
  treeshake: true,
  dts: true,
  outDir: "dist",
  noExternal: bundled,
  async onSuccess() {
    for (const name of readdirSync("dist", { recursive: true, encoding: "utf8" })) {
      if (!name.endsWith(".cjs")) continue;
      writeFileSync(`dist/${name}`, loadedOnFirstUse(readFileSync(`dist/${name}`, "utf8")));
    }
    for (const name of Object.keys(entry)) {
      const face = `export * from "./${name.split("/").at(-1)}.cjs";\n`;
      for (const ending of ["js", "d.ts"]) writeFileSync(`dist/${name}.${ending}`, face);
    }
    const licences = bundled.map((name) => `${name}\n\n${readFileSync(`node_modules/${name}/LICENSE.md`, "utf8")}`);
    writeFileSync("dist/THIRD-PARTY-LICENSES.txt", licences.join("\n\n"));
  },
});

import { defineConfig, type Options } from "tsup";

const shared: Options = {
  entry: {
    index: "src/index.ts",
    sandbox: "src/sandbox/index.ts",
    testing: "src/testing/index.ts",
    flow: "src/flow.ts",
    "journal/sqlite": "src/journals/sqlite-journal.ts",
    "journal/postgres": "src/journals/postgres-journal.ts",
  },
  target: "node20",
  platform: "node",
  // One copy of every class, whichever entry points a program imports.
  splitting: true,
  treeshake: true,
  dts: true,
  outDir: "dist",
};

export default defineConfig([
  { ...shared, format: "esm" },
  // openid-client is published as ESM only: without bundling it, `require` would fail where Node can't require ESM.
  {
    ...shared,
    format: "cjs",
    noExternal: ["openid-client", "oauth4webapi", "jose"],
    // The bundled library's comments alone would be a third of the tarball. Names stay as they are, for stack traces.
    esbuildOptions(options) {
      options.minifyWhitespace = true;
      options.minifySyntax = true;
    },
  },
]);

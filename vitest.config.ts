import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const source = (path: string) => fileURLToPath(new URL(`./src/${path}`, import.meta.url));

/** The package's own entry points, as its tests import them. */
const entries = {
  "": "index.ts",
  "/sandbox": "sandbox/index.ts",
  "/testing": "testing/index.ts",
  "/flow": "flows/index.ts",
  "/journal/sqlite": "journals/sqlite-journal.ts",
  "/journal/postgres": "journals/postgres-journal.ts",
};

export default defineConfig({
  resolve: {
    alias: [
      { find: /^#platform$/, replacement: source("platform/node.ts") },
      ...Object.entries(entries).map(([name, path]) => ({
        find: new RegExp(`^cross-border-payments${name}$`),
        replacement: source(path),
      })),
    ],
  },
  test: {
    include: ["test/**/*.test.ts"],
    // They need the built package.
    exclude: ["test/package/**", "test/crash/**", "test/guard/**"],
    typecheck: { enabled: true, include: ["test/types/**/*.test-d.ts"] },
    testTimeout: 20_000,
    coverage: { provider: "v8", include: ["src/**"], reporter: ["text-summary", "json-summary"] },
  },
});

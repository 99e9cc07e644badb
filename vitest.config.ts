import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";

const source = (path: string) => fileURLToPath(new URL(`./src/${path}`, import.meta.url));

export default defineConfig({
  resolve: {
    alias: [
      { find: "cross-border-payments/sandbox", replacement: source("sandbox/index.ts") },
      { find: /^cross-border-payments$/, replacement: source("index.ts") },
    ],
  },
  test: {
    include: ["test/**/*.test.ts"],
    exclude: ["test/package/**"],
    typecheck: { enabled: true, include: ["test/types/**/*.test-d.ts"] },
    testTimeout: 20_000,
    coverage: { provider: "v8", include: ["src/**"], reporter: ["text-summary", "json-summary"] },
  },
});

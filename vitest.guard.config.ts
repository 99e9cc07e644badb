import { defineConfig } from "vitest/config";

/** Counts of what the built package costs; it needs `dist`. */
export default defineConfig({
  test: { include: ["test/guard/**/*.test.ts"], testTimeout: 60_000 },
});

import { defineConfig } from "vitest/config";

/** Processes of the built package that are killed, over real journals: `npm run build` comes first. */
export default defineConfig({
  test: { include: ["test/crash/**/*.test.ts"], testTimeout: 120_000, disableConsoleIntercept: true },
});

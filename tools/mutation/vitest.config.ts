import { defineConfig } from "vitest/config";
import { alias } from "../../vitest.config.js";
import { excludedTests, parts } from "./parts.js";

/** The part whose tests run: `mutate.ts` sets it. */
const name = process.env.MUTATED_PART;
const part = parts.find((candidate) => candidate.name === name);

export default defineConfig({
  resolve: { alias },
  test: {
    globalSetup: part?.hasPrograms ? "test/support/build-programs.ts" : [],
    include: part === undefined ? [] : [...part.tests],
    exclude: excludedTests,
    setupFiles: "tools/mutation/thread-mutants.ts",
    // A mutant is switched on while the tests run: no module has to be loaded again for it.
    isolate: part?.isolated === true,
    // A mutant that waits for ever is found by its test, which costs less than ending its process.
    testTimeout: 30_000,
  },
});

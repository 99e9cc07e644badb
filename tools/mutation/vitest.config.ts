import { defineConfig } from "vitest/config";
import { alias } from "../../vitest.config.js";
import { parts } from "./parts.js";

/** The part whose tests run. `mutate.ts` sets it. */
const part = parts.find(({ name }) => name === process.env.MUTATED_PART);

export default defineConfig({
  resolve: { alias },
  test: {
    include: [...(part?.tests ?? [])],
    // They take too long to run for each change. What they alone would notice counts as unnoticed.
    exclude: ["**/*.property.test.ts"],
    setupFiles: "test/support/undo.ts",
    // A mutant is switched on while the tests run, so no module must be loaded again for it.
    isolate: part?.isolated === true,
    // What a mutant prevents never comes.
    testTimeout: 15_000,
    hookTimeout: 60_000,
  },
});

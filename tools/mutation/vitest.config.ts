import { matchesGlob, relative } from "node:path";
import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { alias } from "../../vitest.config.js";
import { parts } from "./parts.js";

/** The part whose tests run: `mutate.ts` sets it. */
const name = process.env.MUTATED_PART;
const part = parts.find((candidate) => candidate.name === name);

/** In the order in which the part names its tests: most changes are noticed by the first ones, which have no service to start. */
class InTheirOrder extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const placeOf = ({ moduleId }: TestSpecification) =>
      part?.tests.findIndex((pattern) => matchesGlob(relative(".", moduleId), pattern)) ?? 0;
    return [...files].sort((one, other) => placeOf(one) - placeOf(other));
  }
}

export default defineConfig({
  resolve: { alias },
  test: {
    globalSetup: part?.hasPrograms ? "test/support/build-programs.ts" : [],
    include: part === undefined ? [] : [...part.tests],
    sequence: { sequencer: InTheirOrder },
    setupFiles: "tools/mutation/thread-mutants.ts",
    // A mutant is switched on while the tests run: no module has to be loaded again for it.
    isolate: part?.isolated === true,
    // A mutant that waits for ever is found by its test, which costs less than ending its process.
    testTimeout: 30_000,
  },
});

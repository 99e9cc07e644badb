import { defineConfig } from "vitest/config";
import { BaseSequencer, type TestSpecification } from "vitest/node";
import { alias } from "../../vitest.config.js";
import { parts } from "./parts.js";

/** The part whose tests run. `mutate.ts` sets it. */
const part = parts.find(({ name }) => name === process.env.MUTATED_PART);

/** Most mutants fail a short test, and then the long ones don't run. */
class PropertiesLast extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    const isProperty = ({ moduleId }: TestSpecification) => moduleId.includes(".property.");
    return files.toSorted((one, other) => Number(isProperty(one)) - Number(isProperty(other)));
  }
}

export default defineConfig({
  resolve: { alias },
  test: {
    include: [...(part?.tests ?? [])],
    sequence: { sequencer: PropertiesLast },
    setupFiles: "test/support/undo.ts",
    // A mutant is switched on while the tests run, so no module must be loaded again for it.
    isolate: part?.isolated === true,
    testTimeout: 120_000,
  },
});

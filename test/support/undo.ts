import { afterAll, vi } from "vitest";

/** The files of the projects `unit` and `system` share their processes: what a failed test left changed must not fail the files after it. */
afterAll(async () => {
  // What is still being loaded would be loaded into the next file's modules, with this one's mocks.
  await vi.dynamicImportSettled();
  vi.useRealTimers();
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
  vi.unstubAllEnvs();
});

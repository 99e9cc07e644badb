import { afterAll, vi } from "vitest";

/** The files of the projects `unit` and `system` share their processes: what a failed test left changed must not fail the files after it. */
afterAll(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
  vi.unstubAllEnvs();
});

import { defineConfig } from "vitest/config";

/** Tests of the packed tarball, installed into a folder of its own. */
export default defineConfig({
  test: { include: ["test/package/**/*.test.ts"], testTimeout: 120_000, hookTimeout: 240_000 },
});

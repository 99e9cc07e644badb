import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { patienceMs } from "./test/support/patience.js";

const source = (path: string) => fileURLToPath(new URL(`./src/${path}`, import.meta.url));

/** The package's entry points, which its tests import by name. */
const entries = {
  "": "index.ts",
  "/sandbox": "sandbox/index.ts",
  "/testing": "testing/index.ts",
  "/flow": "flows/index.ts",
  "/reconcile": "reconcile/index.ts",
  "/journal/sqlite": "journals/sqlite-journal.ts",
  "/journal/postgres": "journals/postgres-journal.ts",
  "/tokens/redis": "tokens/redis-token-store.ts",
  "/tokens/postgres": "tokens/postgres-token-store.ts",
  "/opentelemetry": "opentelemetry/index.ts",
  "/settings": "settings/index.ts",
  "/desk": "desk/index.ts",
};

export const alias = [
  { find: /^#platform$/, replacement: source("platform/node.ts") },
  ...Object.entries(entries).map(([name, path]) => ({
    find: new RegExp(`^cross-border-payments${name}$`),
    replacement: source(path),
  })),
];

/** Folders of `test/` for each project. The project `unit` has all others. */
const folders = {
  /** Real databases, Redis, Keycloak, Chromium, Prometheus, and workflow engines. */
  integration: "journals tokens keycloak pages look engines openapi fleet examples observability",
  /** The packed tarball: runtimes, bundlers, compilers, frameworks, and what a release makes of it. */
  package: "package matrix frameworks guard release",
  /** Processes that are killed, the model of the flow's protocol, and the simulator. */
  long: "crash model simulation",
};
const testsOf = (project: keyof typeof folders) =>
  folders[project].split(" ").map((folder) => `test/${folder}/**/*.test.ts`);

/** On a busy CI machine a test may run again. The end of the run names each test that did. */
const onCi = process.env.CI !== undefined;
/** Only a test that hangs may reach it: on a busy machine a test takes ten times as long. */
const testTimeout = 600_000;
/** More than there are cores: most tests wait for processes, sockets, and timers. */
const maxWorkers = availableParallelism() + 3;
const shared = {
  testTimeout,
  hookTimeout: testTimeout,
  expect: { poll: { timeout: patienceMs } },
  retry: onCi ? 2 : 0,
};
/** Compiles what tests start as processes. */
const programs = "test/support/build-programs.ts";

export default defineConfig({
  test: {
    reporters: onCi ? ["default", "./test/support/report-retries.ts"] : ["default"],
    projects: [
      {
        resolve: { alias },
        test: {
          ...shared,
          name: "unit",
          include: ["test/**/*.test.ts"],
          exclude: [...testsOf("integration"), ...testsOf("package"), ...testsOf("long")],
          globalSetup: programs,
          // All files share the loaded sources, which saves a third of the time.
          isolate: false,
          setupFiles: "test/support/undo.ts",
          typecheck: { enabled: true, include: ["test/types/**/*.test-d.ts"], tsconfig: "test/types/tsconfig.json" },
          maxWorkers,
        },
      },
      {
        resolve: { alias },
        test: {
          ...shared,
          name: "integration",
          include: testsOf("integration"),
          globalSetup: programs,
          disableConsoleIntercept: true,
          maxWorkers,
        },
      },
      {
        test: {
          ...shared,
          name: "package",
          include: testsOf("package"),
          globalSetup: "test/package/install.ts",
          // Compilers and bundlers use every core themselves.
          maxWorkers: 2,
        },
      },
      {
        resolve: { alias },
        test: { ...shared, name: "long", include: testsOf("long"), disableConsoleIntercept: true, maxWorkers: 2 },
      },
    ],
    coverage: {
      provider: "v8",
      include: ["src/**"],
      // The CLI's own process: its tests start programs, which aren't counted.
      exclude: ["src/cli/{cli,main,terminal}.ts"],
      reporter: ["text-summary", "json-summary"],
      thresholds: { statements: 96, branches: 92, functions: 97, lines: 96 },
    },
  },
});

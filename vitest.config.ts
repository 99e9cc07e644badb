import { availableParallelism } from "node:os";
import { fileURLToPath } from "node:url";
import { defineConfig } from "vitest/config";
import { patienceMs } from "./test/support/patience.js";
import { isThorough } from "./test/support/thorough.js";

const source = (path: string) => fileURLToPath(new URL(`./src/${path}`, import.meta.url));

/** The package's own entry points, as its tests import them. */
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

/** For `npm run test:all` alone: hours of traffic, flows at every fault, connections that lie idle, what large responses and lists cost, what bundlers make of the package, and scripts that no source uses. */
const onlyThorough = [
  "test/faults/{flow-matrix,idle-connections,retry-budget,token-renewal}.test.ts",
  "test/sandbox/remembered.test.ts",
  "test/package/bundle*.test.ts",
  "test/release/**/*.test.ts",
];
const leftOut = isThorough ? [] : onlyThorough;

/** Tests of the sources that start processes, or make thousands of trials. */
const system = [
  "test/faults/**/*.test.ts",
  "test/examples.test.ts",
  "test/executed-blocks.test.ts",
  "test/opentelemetry/set-up.test.ts",
  "test/observability/prometheus.test.ts",
  "test/examples/**/*.test.ts",
];
/** Tests that count timers, or whose world's clock everybody has: beside no test that leaves some, such as those of sockets. */
const timers = [
  "test/auth/{end-session,shared-session,store-entry,token-endpoint,token-manager}.test.ts",
  "test/http/{call,check-health,http-client-endings,http-client-methods}.test.ts",
  "test/core/deadline.test.ts",
  "test/simulation/*.test.ts",
];
/** Tests that measure the memory of their process, which they need for themselves. */
const alone = ["test/sandbox/login.test.ts", "test/wire/{body-chunks,compression}.test.ts"];
/** Tests against a real Keycloak, which `npm run test:keycloak` starts. */
const keycloak = "test/keycloak/**/*.test.ts";
/** Recipes of the guide in real workflow engines, whose servers `npm run test:engines` starts. */
const engines = "test/engines/**/*.test.ts";
/** Tests of the built package; `test:crash`, `test:fleet`, `test:frameworks`, `test:guard` and `test:matrix` need `npm run build` first. */
const built = {
  package: "test/package/**/*.test.ts",
  crash: "test/crash/**/*.test.ts",
  guard: "test/guard/**/*.test.ts",
  fleet: "test/fleet/**/*.test.ts",
  pages: "test/pages/**/*.test.ts",
  matrix: "test/matrix/**/*.test.ts",
  frameworks: "test/frameworks/**/*.test.ts",
};
/** What other programs make of `openapi.json`: `npm run test:openapi`. */
const openapi = "test/openapi/**/*.test.ts";

/** The documentation's site in Chromium, which `npm run site` builds first: `npm run test:site`. */
const look = "test/look/**/*.test.ts";

/** Compiles what these tests start as processes. */
const programs = "test/support/build-programs.ts";

const hasSqlite = process.getBuiltinModule("node:sqlite") !== undefined;

/** On a busy CI machine a test may run again. Each one that needed it is named at the end of the run. */
const onCi = process.env.CI !== undefined;
const retry = onCi ? 2 : 0;

/** Only what hangs may meet it: on a busy machine a test takes ten times as long, and some take half a minute on a quiet one. */
const testTimeout = 600_000;

/** More than there are cores: most of these tests wait for processes, sockets and timers. */
const maxWorkers = availableParallelism() + 3;

/** Of all projects whose tests may run again. */
const patient = { testTimeout, hookTimeout: testTimeout, expect: { poll: { timeout: patienceMs } }, retry };

export default defineConfig({
  test: {
    reporters: onCi ? ["default", "./test/support/report-retries.ts"] : ["default"],
    projects: [
      {
        resolve: { alias },
        test: {
          name: "unit",
          globalSetup: programs,
          // The sources are loaded once for all files: a third of the time. A file that replaces modules resets them.
          isolate: false,
          setupFiles: "test/support/undo.ts",
          include: ["test/**/*.test.ts"],
          exclude: [
            ...system,
            ...timers,
            ...alone,
            keycloak,
            engines,
            openapi,
            look,
            ...Object.values(built),
            ...leftOut,
          ],
          typecheck: { enabled: true, include: ["test/types/**/*.test-d.ts"], tsconfig: "test/types/tsconfig.json" },
          ...patient,
          maxWorkers,
        },
      },
      {
        resolve: { alias },
        test: {
          name: "unit-timers",
          isolate: false,
          setupFiles: "test/support/undo.ts",
          include: timers,
          ...patient,
          maxWorkers,
        },
      },
      {
        resolve: { alias },
        test: { name: "unit-alone", include: alone, ...patient, maxWorkers },
      },
      {
        resolve: { alias },
        test: {
          name: "system",
          globalSetup: programs,
          isolate: false,
          setupFiles: "test/support/undo.ts",
          include: system,
          exclude: leftOut,
          ...patient,
          maxWorkers,
        },
      },
      // One after another: some of them halt the server.
      {
        resolve: { alias },
        test: {
          name: "keycloak",
          include: [keycloak],
          ...patient,
          fileParallelism: false,
          maxConcurrency: 8,
        },
      },
      {
        resolve: { alias },
        test: { name: "engines", include: [engines], testTimeout, disableConsoleIntercept: true },
      },
      {
        test: {
          name: "package",
          include: [built.package],
          exclude: leftOut,
          globalSetup: "test/package/install.ts",
          // After the tests of the sources, beside which the package is built.
          sequence: { groupOrder: 1 },
          testTimeout,
          retry,
          // The compilers and bundlers that the thorough run starts use every core themselves.
          fileParallelism: !isThorough,
          maxWorkers: isThorough ? 1 : 2,
        },
      },
      {
        test: {
          name: "crash",
          include: [built.crash],
          // Most of it waits for leases to end.
          maxWorkers: 2,
          testTimeout,
          hookTimeout: testTimeout,
          disableConsoleIntercept: true,
        },
      },
      { test: { name: "fleet", include: [built.fleet], ...patient } },
      {
        test: {
          name: "matrix",
          include: [built.matrix],
          globalSetup: "test/matrix/install.ts",
          ...patient,
        },
      },
      // Over PostgreSQL: `npm run test:frameworks`.
      {
        test: {
          name: "frameworks",
          include: [built.frameworks],
          globalSetup: "test/frameworks/install.ts",
          ...patient,
        },
      },
      // In Chromium, before Keycloak: `npm run test:pages`.
      {
        test: {
          name: "pages",
          include: [built.pages],
          globalSetup: "test/matrix/install.ts",
          ...patient,
        },
      },
      { resolve: { alias }, test: { name: "openapi", include: [openapi], ...patient } },
      { test: { name: "look", include: [look], ...patient } },
      { test: { name: "guard", include: [built.guard], testTimeout, hookTimeout: testTimeout } },
    ],
    coverage: {
      provider: "v8",
      // The tests of the built package cover nothing of the sources.
      enabled: process.env.CBP_COVERAGE !== undefined && process.argv.includes("unit*"),
      include: ["src/**"],
      exclude: [
        // A process's own streams and signals: test/cli/{command-line,terminal}.test.ts start processes, which are not counted.
        "src/cli/{cli,main,terminal}.ts",
        // Node 20 has no SQLite of its own to run them with.
        ...(hasSqlite ? [] : ["src/journals/sqlite-*.ts"]),
      ],
      reporter: ["text-summary", "json-summary"],
      // Without a PostgreSQL server, the tests of its journal are skipped.
      ...(process.env.CBP_POSTGRES_URL !== undefined && {
        // What the command does in processes of their own, and over SQLite on Node 20, is not counted.
        thresholds: { statements: 96, branches: 92, functions: 97, lines: 96 },
      }),
    },
  },
});

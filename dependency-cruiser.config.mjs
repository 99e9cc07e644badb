/**
 * Who may import what in `src/`, types included: `npm run lint` checks it. Imports only go down: each layer may import itself and those
 * of the layers above it in this list that it names.
 */
const layers = {
  core: [],
  platform: ["core"],
  events: ["core", "platform"],
  wire: ["core", "platform"],
  "money.ts": ["core"],
  signing: ["core", "platform"],
  api: ["core", "events"],
  http: ["core", "events", "platform", "wire", "api", "money.ts", "signing"],
  auth: ["core", "events", "platform", "wire", "api", "http/decision.ts", "http/token-source.ts"],
  login: ["core", "wire", "auth", "events", "http/token-source.ts"],
  paging: ["core", "wire/response.ts", "api"],
  resources: ["api", "paging"],
  verification: ["core", "wire/response.ts", "signing", "resources", "api", "money.ts", "platform"],
  flows: ["core", "events", "wire/response.ts", "api", "paging/newest-first.ts", "resources", "money.ts"],
  journals: ["core", "flows"],
  tokens: ["core", "platform", "auth/token-store.ts", "journals/postgres-failure.ts", "journals/postgres-migrate.ts"],
  reconcile: ["core", "wire/response.ts", "api", "paging", "resources", "money.ts"],
  sandbox: ["core", "money.ts", "api", "resources", "signing", "verification/explain-signature.ts"],
  opentelemetry: ["core", "events", "api", "flows"],
  testing: ["core", "auth/token-store.ts", "tokens/memory-token-store.ts", "flows", "resources"],
  desk: ["core", "events", "api", "resources", "flows", "money.ts"],
  "client-options.ts": ["core", "wire", "signing", "auth", "events", "api", "http", "resources"],
  "client.ts": ["wire", "signing", "auth", "events", "api", "http", "resources", "flows", "client-options.ts"],
  "index.ts": [
    "core",
    "platform",
    "wire",
    "money.ts",
    "signing",
    "auth",
    "login",
    "tokens",
    "events",
    "api",
    "http",
    "paging",
    "resources",
    "verification",
    "flows",
    "client-options.ts",
    "client.ts",
  ],
  settings: ["core", "platform/undici-agent.ts", "wire", "client-options.ts"],
  cli: [
    "core",
    "platform/undici-agent.ts",
    "wire",
    "signing",
    "api",
    "paging",
    "resources",
    "verification",
    "flows",
    "journals",
    "desk",
    "reconcile",
    "sandbox/index.ts",
    "settings",
    "client.ts",
    "money.ts",
  ],
};

/** A package or a module of Node, and the folders or files of `src/` that may import it. */
const packages = {
  "@opentelemetry/api": ["opentelemetry"],
  "@inquirer/password": ["cli/terminal.ts"],
  commander: ["cli"],
  hono: ["desk", "sandbox/server.ts", "sandbox/identity-provider.ts", "sandbox/console"],
  "@hono/node-server": ["desk/node-listener.ts", "sandbox/server.ts", "sandbox/console"],
  "csv-stringify": ["cli/lists/output.ts"],
  ms: ["desk/page.ts", "cli/options.ts"],
  "cloudflare:workers": ["platform/workerd.ts"],
  "openid-client": ["core/libraries.ts", "auth/openid-grant.ts"],
  pg: ["journals/postgres-journal.ts"],
  undici: ["platform/undici-agent.ts"],
  zod: ["core/zod.ts", "http/read.ts"],
  "node:assert": ["testing"],
  "node:crypto": ["platform", "verification", "sandbox", "testing", "cli/lists", "cli/flows"],
  "node:fs": ["journals/sqlite-store.ts", "settings", "cli"],
  "node:diagnostics_channel": ["platform/node.ts"],
  "node:dns": ["cli/doctor"],
  "node:events": ["sandbox/server.ts", "cli"],
  "node:http": ["sandbox/server.ts", "cli/flows"],
  "node:module": ["journals/sqlite-store.ts", "cli/cli.ts"],
  "node:net": ["sandbox/server.ts", "cli/doctor", "cli/flows"],
  "node:os": ["settings", "cli/sandbox", "cli/flows"],
  "node:path": ["settings", "cli"],
  "node:sqlite": ["journals"],
  "node:worker_threads": ["journals"],
  "node:stream": ["cli"],
  "node:tls": ["platform/tls-material.ts", "settings/connection.ts", "cli/doctor"],
  "node:url": ["journals/sqlite-store.ts", "cli"],
  "node:util": ["platform/node.ts", "sandbox/identity-provider.ts", "cli"],
  "node:zlib": ["platform/node.ts"],
  "node:timers": ["journals", "testing/verify-journal.ts", "testing/verify-token-store.ts"],
};

/** The files that others import by the name of the package, and the program of the CLI. */
const entries =
  "^src/(index|cli/cli|desk/index|flows/index|journals/(postgres|sqlite)-journal|opentelemetry/index|reconcile/index|sandbox/index|settings/index|testing/index|tokens/(postgres|redis)-token-store)\\.ts$";

const order = Object.keys(layers);
/** What stands further down the list stays forbidden, even if the table names it. */
const above = (layer, paths) => paths.filter((path) => order.indexOf(path.split("/")[0]) < order.indexOf(layer));
const inSource = (paths) => paths.map((path) => `^src/${path}${path.endsWith(".ts") ? "$" : "/"}`);
const ofPackage = (name) =>
  name.startsWith("node:")
    ? [`^${name}`, `^${name.slice(5)}`]
    : [`^node_modules/${name}/`, `^node_modules/@types/${name}/`, `^${name}$`];

/** @type {import("dependency-cruiser").IConfiguration} */
export default {
  allowed: [
    ...Object.entries(layers).map(([from, to]) => ({
      from: { path: inSource([from]) },
      to: { path: inSource([from, ...above(from, to)]) },
    })),
    ...Object.entries(packages).map(([to, from]) => ({ from: { path: inSource(from) }, to: { path: ofPackage(to) } })),
    // What the contract suite imports has a rule of its own.
    { from: { path: "^test/" }, to: {} },
  ],
  allowedSeverity: "error",
  forbidden: [
    {
      name: "no-circles",
      severity: "error",
      from: { path: "^src/" },
      to: { circular: true },
    },
    {
      name: "no-file-that-nothing-imports",
      severity: "error",
      from: { path: entries },
      // The build takes one of the three platforms, and declarations are read by the compiler.
      to: { path: "^src/", pathNot: [entries, "^src/platform/(web|workerd|cloudflare-workers)"], reachable: false },
    },
    {
      name: "contract-suite-apart-from-the-sources",
      severity: "error",
      from: { path: "^test/contract/" },
      to: {
        pathNot: [entries, "^test/(contract|support)/", "^node_modules/(msw|vitest)/"],
        dependencyTypesNot: ["core"],
      },
    },
  ],
  options: {
    doNotFollow: { path: ["node_modules", "^test/support/"] },
    tsConfig: { fileName: "tsconfig.json" },
    tsPreCompilationDeps: true,
    detectProcessBuiltinModuleCalls: true,
    enhancedResolveOptions: { exportsFields: ["exports"], conditionNames: ["import", "node", "default"] },
  },
};

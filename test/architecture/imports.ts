import type { ImportTable } from "./import-problems.js";

/**
 * Who may import what in `src/`. Whatever is not listed here is forbidden, and an entry that no file uses is an error too.
 * `imports.test.ts` checks every kind of import, those of types included.
 */
export const importTable: ImportTable = {
  /**
   * A folder of `src/`, or a file directly in it, and what it may import besides itself: folders, or single files of a folder
   * that publishes only those. Lower layers come first, and imports only go to what stands higher up in this list.
   */
  layers: {
    errors: [],
    timing: [],
    platform: ["errors"],
    wire: ["errors", "timing", "platform"],
    "money.ts": ["errors"],
    signing: ["errors", "platform"],
    auth: ["errors", "timing", "platform", "wire"],
    api: ["errors", "timing"],
    http: [
      "errors",
      "timing",
      "wire",
      "api",
      "money.ts",
      "auth/token-source.ts",
      "auth/token-event.ts",
      "signing/signer.ts",
      "signing/private-key-text.ts",
    ],
    paging: ["errors", "api"],
    resources: ["api", "paging"],
    verification: ["errors", "signing", "resources", "api", "money.ts", "platform"],
    flows: ["errors", "timing", "wire/parse-json-object.ts", "api", "resources", "paging", "money.ts"],
    journals: ["errors", "flows"],
    tokens: [
      "errors",
      "timing",
      "platform",
      "auth/token-store.ts",
      "journals/postgres-failure.ts",
      "journals/postgres-names.ts",
    ],
    reconcile: ["errors", "timing", "api", "paging", "resources", "money.ts", "flows/equal-amounts.ts"],
    sandbox: ["errors", "money.ts", "api", "resources", "signing"],
    simulation: [
      "errors",
      "timing",
      "wire/parse-json-object.ts",
      "wire/transport.ts",
      "wire/wire-failure.ts",
      "signing/signer.ts",
      "api",
      "http",
      "resources",
      "flows",
    ],
    testing: ["auth/token-store.ts", "flows", "resources", "simulation"],
    "client-options.ts": ["errors", "wire", "signing", "auth", "api", "http", "resources"],
    "client.ts": ["wire", "signing", "auth", "api", "http", "resources", "flows", "client-options.ts"],
    "index.ts": [
      "errors",
      "platform",
      "wire",
      "money.ts",
      "signing",
      "auth",
      "tokens",
      "api",
      "http",
      "paging",
      "resources",
      "verification",
      "flows",
      "client-options.ts",
      "client.ts",
    ],
  },

  /** A package or a module of Node, and the folders or files of `src/` that may import it. */
  packages: {
    "big.js": ["money.ts"],
    "openid-client": ["auth/openid-grant.ts"],
    pg: ["journals/postgres-pool.ts"],
    undici: ["platform/undici-agent.ts"],
    zod: ["http/schema.ts", "http/compiled-schemas.ts", "http/plain-schemas.ts"],
    "node:assert": ["testing"],
    "node:crypto": ["platform", "sandbox", "testing"],
    "node:fs": ["journals/sqlite-engine.ts", "reconcile/temporary-file.ts"],
    "node:http": ["sandbox/server.ts"],
    "node:net": ["sandbox/server.ts"],
    "node:os": ["reconcile/temporary-file.ts"],
    "node:path": ["reconcile/temporary-file.ts"],
    "node:sqlite": ["journals/sqlite-thread-program.ts"],
    "node:worker_threads": ["journals/sqlite-thread-program.ts", "journals/sqlite-thread.ts"],
    "node:stream": ["platform/zlib-decompression.ts"],
    "node:tls": ["platform/tls-material.ts"],
    "node:util": ["platform/node.ts", "sandbox/id-tokens.ts"],
    "node:zlib": ["platform/zlib-decompression.ts"],
    "node:timers": ["testing/verify-journal.ts", "testing/verify-token-store.ts"],
  },
};

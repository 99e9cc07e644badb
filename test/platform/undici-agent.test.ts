import { Pool } from "undici";
import { expect, it, onTestFinished } from "vitest";
import { openAgent, type UndiciModules } from "../../src/platform/undici-agent.js";

const options = { connections: 3, connectTimeoutMs: 400, tls: { servername: "name" } };
const request = { origin: "http://127.0.0.1:9", path: "/", method: "GET" } as const;

/** The pools and connectors of the main entry, which keep what they were built with. */
function mainEntry() {
  const pools: { readonly origin: string; readonly options: object }[] = [];
  const connectors: object[] = [];
  class MainPool {
    constructor(origin: string, options: object) {
      pools.push({ origin, options });
    }
    dispatch(): boolean {
      return true;
    }
    close(): Promise<void> {
      return Promise.resolve();
    }
  }
  const buildConnector = (options: object) => {
    connectors.push(options);
    return () => {};
  };
  return { pools, connectors, parts: { Pool: MainPool, buildConnector } };
}

function modules(
  poolFile: UndiciModules["poolFile"],
  main = mainEntry(),
  connectorFile: UndiciModules["connectorFile"] = () => Promise.resolve({ default: main.parts.buildConnector }),
): UndiciModules {
  return { poolFile, connectorFile, undici: () => Promise.resolve(main.parts) };
}

it("opens the pools of the installed undici by their own files, without the main entry", async () => {
  let loaded: unknown;
  const agent = await openAgent(options, {
    // @ts-expect-error undici describes the types of its main entry only.
    poolFile: async () => (loaded = await import("undici/lib/dispatcher/pool.js")),
    // @ts-expect-error the same
    connectorFile: () => import("undici/lib/core/connect.js"),
    undici: () => Promise.reject(new Error("the main entry was loaded")),
  });
  onTestFinished(() => agent.close());
  expect(loaded).toMatchObject({ default: Pool });
});

it("gives its pools their limits, one request at a time and no HTTP/2", async () => {
  const main = mainEntry();
  const agent = await openAgent(
    options,
    modules(() => Promise.resolve({ default: main.parts.Pool }), main),
  );
  agent.dispatch(request, {});
  expect(main.connectors).toEqual([{ servername: "name", timeout: 400, allowH2: false }]);
  expect(main.pools.at(-1)).toMatchObject({
    origin: request.origin,
    options: { connections: 3, connect: expect.any(Function), pipelining: 1, allowH2: false },
  });
});

it("opens one pool for each origin, all with one connector", async () => {
  const main = mainEntry();
  const agent = await openAgent(
    options,
    modules(() => Promise.reject(new Error("no such file")), main),
  );
  main.pools.length = 0;
  for (const origin of ["http://a.test", "http://b.test", "http://a.test"]) agent.dispatch({ ...request, origin }, {});
  expect(main.pools.map(({ origin }) => origin)).toEqual(["http://a.test", "http://b.test"]);
  expect(main.connectors).toHaveLength(1);
});

const broken: readonly (readonly [string, () => unknown])[] = [
  [
    "is missing",
    () => Promise.reject(Object.assign(new Error("no such file"), { code: "ERR_PACKAGE_PATH_NOT_EXPORTED" })),
  ],
  [
    "throws as it is loaded",
    () => {
      throw new Error("loading failed");
    },
  ],
  ["gives nothing", () => undefined],
  ["exports nothing", () => ({})],
  ["exports an object", () => ({ default: { Pool: class {} } })],
  ["exports a function that is not a class", () => ({ default: () => ({}) })],
  [
    "has a constructor that throws",
    () => ({
      default: class {
        constructor() {
          throw new TypeError("another argument was expected");
        }
      },
    }),
  ],
  [
    "makes an object without dispatch",
    () => ({
      default: class {
        close() {}
      },
    }),
  ],
  [
    "makes an object without close",
    () => ({
      default: class {
        dispatch() {}
      },
    }),
  ],
];

it.each(broken)("opens the pools of the main entry where the pool's file %s", async (_, poolFile) => {
  const main = mainEntry();
  await openAgent(
    options,
    modules(async () => poolFile(), main),
  );
  expect(main.pools).toHaveLength(1);
});

const brokenConnectors: readonly (readonly [string, () => unknown])[] = [
  ["is missing", () => Promise.reject(new Error("no such file"))],
  ["gives nothing", () => undefined],
  ["exports nothing", () => ({})],
  ["exports a function that makes no connector", () => ({ default: () => undefined })],
];

it.each(brokenConnectors)("opens the pools of the main entry where the connector's file %s", async (_, file) => {
  const main = mainEntry();
  const poolFile = () => Promise.resolve({ default: main.parts.Pool });
  await openAgent(
    options,
    modules(poolFile, main, async () => file()),
  );
  expect(main.connectors).toHaveLength(1);
});

it("fails where the main entry fails too", async () => {
  const opening = openAgent(options, {
    poolFile: () => Promise.reject(new Error("no such file")),
    connectorFile: () => Promise.reject(new Error("no such file")),
    undici: () => Promise.reject(new Error("undici is not installed")),
  });
  await expect(opening).rejects.toThrow("undici is not installed");
});

it("says what to do where a bundle holds files that it does not know, and why", async () => {
  const poolFile = () => Promise.resolve({ default: class {} });
  const connectorFile = () => Promise.resolve({ default: () => () => {} });
  const bundled = { poolFile, connectorFile, undici: poolFile as UndiciModules["undici"] };
  await expect(openAgent(options, bundled)).rejects.toMatchObject({
    message: expect.stringContaining("leave undici out of the bundle"),
    cause: new TypeError("what undici/lib exports makes no pool of connections"),
  });
});

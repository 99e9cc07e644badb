import type { buildConnector, Pool } from "undici";
import { FreshAgent, type OpenedAgent, type OpenPool } from "./fresh-agent.js";
import type { TlsMaterial } from "./tls-material.js";

export type { Dispatcher } from "undici";
export type { FreshAgent, OpenedAgent } from "./fresh-agent.js";

export interface AgentOptions {
  /** Most sockets to one origin. */
  readonly connections: number;
  readonly connectTimeoutMs: number;
  readonly tls?: TlsMaterial | undefined;
}

interface UndiciParts {
  readonly Pool: new (origin: string, options: Pool.Options) => OpenedAgent;
  readonly buildConnector: (options: buildConnector.BuildOptions) => buildConnector.connector;
}

export interface UndiciModules {
  poolFile(): Promise<unknown>;
  /** The file of the connector, which the pool's file loads too. */
  connectorFile(): Promise<unknown>;
  /** All of undici; in a bundle the pool's file again, which has neither by name. */
  undici(): Promise<Partial<UndiciParts>>;
}

const undiciModules: UndiciModules = {
  // @ts-expect-error undici describes the types of its main entry only.
  poolFile: () => import("undici/lib/dispatcher/pool.js"),
  // @ts-expect-error the same
  connectorFile: () => import("undici/lib/core/connect.js"),
  undici: () => import("#undici"),
};

/**
 * Opens an agent over undici's pools, by their own files: that loads a third of what the main entry loads. undici promises nothing
 * about those files, so whatever is wrong with them, the main entry is used instead, except in a bundle: it would take in all of
 * undici for an error that its maker sees at once.
 */
export async function openAgent(options: AgentOptions, modules: UndiciModules = undiciModules): Promise<FreshAgent> {
  try {
    return openFrom(await partsOfFiles(modules), options);
  } catch (cause) {
    const { Pool, buildConnector } = await modules.undici();
    if (Pool === undefined || buildConnector === undefined) throw new Error(unknownFiles, { cause });
    return openFrom({ Pool, buildConnector }, options);
  }
}

const unknownFiles =
  "undici's Pool can't be opened from this bundle: bundle the version of undici that cross-border-payments depends on, or leave undici out of the bundle";

async function partsOfFiles(modules: UndiciModules): Promise<UndiciParts> {
  const files = await Promise.all([modules.poolFile(), modules.connectorFile()]);
  const [Pool, buildConnector] = (files as { readonly default: never }[]).map((file) => file.default);
  return { Pool, buildConnector } as unknown as UndiciParts;
}

function openFrom(
  { Pool, buildConnector }: UndiciParts,
  { connections, connectTimeoutMs, tls }: AgentOptions,
): FreshAgent {
  // HTTP/2 repeats a refused stream on its own, even if it is a payment.
  const allowH2 = false;
  const openPool: OpenPool = (origin, connect) =>
    new Pool(origin, {
      connect,
      allowH2,
      pipelining: 1,
      connections,
      // They measure idleness only; the call's own deadline is the one that counts.
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  const connect = buildConnector({
    ...(tls as buildConnector.BuildOptions | undefined),
    allowH2,
    timeout: connectTimeoutMs,
  });
  // Found out now, and not with the first request. It opens no connection.
  if (typeof connect !== "function" || !isAgent(openPool("http://undici.invalid", connect))) {
    throw new TypeError("what undici/lib exports makes no pool of connections");
  }
  return new FreshAgent(openPool, connect);
}

function isAgent(value: object): value is OpenedAgent {
  return typeof Reflect.get(value, "dispatch") === "function" && typeof Reflect.get(value, "close") === "function";
}

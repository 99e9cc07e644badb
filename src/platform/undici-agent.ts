import type { Agent, buildConnector } from "undici";
import type { TlsMaterial } from "./tls-material.js";

export type { Dispatcher } from "undici";

export interface AgentOptions {
  /** Most sockets to one origin. */
  readonly connections: number;
  readonly connectTimeoutMs: number;
  readonly tls?: TlsMaterial | undefined;
}

/** What the transport needs of an agent. */
export type OpenedAgent = Pick<Agent, "dispatch" | "close">;

/** Where undici's `Agent` is loaded from. */
export interface AgentModules {
  /** The agent's own file. */
  agentFile(): Promise<unknown>;
  /** All of undici. */
  undici(): Promise<{ readonly Agent: new (options: Agent.Options) => OpenedAgent }>;
}

type ConnectOptions = buildConnector.BuildOptions;

const undiciModules: AgentModules = {
  // @ts-expect-error undici describes the types of its main entry only.
  agentFile: () => import("undici/lib/dispatcher/agent.js"),
  undici: () => import("undici"),
};

/**
 * Opens an agent of undici's, by its own file: that loads a third of what the main entry loads. undici promises nothing about
 * that file, so whatever is wrong with it, the main entry is used instead.
 */
export async function openAgent(
  { connections, connectTimeoutMs, tls }: AgentOptions,
  modules: AgentModules = undiciModules,
): Promise<OpenedAgent> {
  const options: Agent.Options = {
    // HTTP/2 repeats a refused stream on its own, even if it is a payment.
    allowH2: false,
    pipelining: 1,
    connections,
    connect: { ...(tls as ConnectOptions | undefined), timeout: connectTimeoutMs },
    // They measure idleness only; the call's own deadline is the one that counts.
    headersTimeout: 0,
    bodyTimeout: 0,
  };
  return (await openFromFile(modules, options)) ?? new (await modules.undici()).Agent(options);
}

async function openFromFile(modules: AgentModules, options: Agent.Options): Promise<OpenedAgent | undefined> {
  try {
    const { default: AgentOfFile } = (await modules.agentFile()) as {
      readonly default: new (options: object) => object;
    };
    const agent = new AgentOfFile(options);
    return isAgent(agent) ? agent : undefined;
  } catch {
    return undefined;
  }
}

function isAgent(value: object): value is OpenedAgent {
  return typeof Reflect.get(value, "dispatch") === "function" && typeof Reflect.get(value, "close") === "function";
}

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

type AgentClass = new (options: Agent.Options) => OpenedAgent;

/** Where undici's `Agent` is loaded from. */
export interface AgentModules {
  /** The agent's own file. */
  agentFile(): Promise<unknown>;
  /** All of undici; in a bundle the agent's own file again, which has no `Agent` by name. */
  undici(): Promise<{ readonly Agent?: AgentClass }>;
}

type ConnectOptions = buildConnector.BuildOptions;

const undiciModules: AgentModules = {
  // @ts-expect-error undici describes the types of its main entry only.
  agentFile: () => import("undici/lib/dispatcher/agent.js"),
  undici: () => import("#undici"),
};

/**
 * Opens an agent of undici's, by its own file: that loads a third of what the main entry loads. undici promises nothing about
 * that file, so whatever is wrong with it, the main entry is used instead, except in a bundle: it would take in all of undici for
 * an error that its maker sees at once.
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
  try {
    return await openFromFile(modules, options);
  } catch (cause) {
    const { Agent } = await modules.undici();
    if (Agent === undefined) throw new Error(unknownFile, { cause });
    return new Agent(options);
  }
}

const unknownFile =
  "undici's Agent can't be opened from this bundle: bundle the version of undici that cross-border-payments depends on, or leave undici out of the bundle";

async function openFromFile(modules: AgentModules, options: Agent.Options): Promise<OpenedAgent> {
  const { default: AgentOfFile } = (await modules.agentFile()) as { readonly default: new (options: object) => object };
  const agent = new AgentOfFile(options);
  if (!isAgent(agent)) throw new TypeError("what undici/lib/dispatcher/agent.js exports makes no agent");
  return agent;
}

function isAgent(value: object): value is OpenedAgent {
  return typeof Reflect.get(value, "dispatch") === "function" && typeof Reflect.get(value, "close") === "function";
}

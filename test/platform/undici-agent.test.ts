import { Agent } from "undici";
import { expect, it, onTestFinished } from "vitest";
import { type AgentModules, openAgent } from "../../src/platform/undici-agent.js";

const options = { connections: 3, connectTimeoutMs: 400 };

/** The agent of the main entry, which keeps what it was built with. */
class MainAgent {
  constructor(readonly options: Agent.Options) {}
  dispatch(): boolean {
    return true;
  }
  close(): Promise<void> {
    return Promise.resolve();
  }
}

function modules(agentFile: AgentModules["agentFile"]): AgentModules {
  return { agentFile, undici: () => Promise.resolve({ Agent: MainAgent }) };
}

it("opens the agent of the installed undici by its own file, without the main entry", async () => {
  const agent = await openAgent(options, {
    // @ts-expect-error undici describes the types of its main entry only.
    agentFile: () => import("undici/lib/dispatcher/agent.js"),
    undici: () => Promise.reject(new Error("the main entry was loaded")),
  });
  onTestFinished(() => agent.close());
  expect(agent).toBeInstanceOf(Agent);
});

it("gives the agent its limits, one request at a time and no HTTP/2", async () => {
  const agent = await openAgent(
    options,
    modules(() => Promise.resolve({ default: MainAgent })),
  );
  expect(agent).toMatchObject({
    options: { connections: 3, connect: { timeout: 400 }, pipelining: 1, allowH2: false },
  });
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
  ["exports an object", () => ({ default: { Agent: MainAgent } })],
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

it.each(broken)("opens the agent of the main entry where the agent's file %s", async (_, agentFile) => {
  const agent = await openAgent(
    options,
    modules(async () => agentFile()),
  );
  expect(agent).toBeInstanceOf(MainAgent);
  expect(agent).toMatchObject({ options: { connections: 3, connect: { timeout: 400 } } });
});

it("fails where the main entry fails too", async () => {
  const opening = openAgent(options, {
    agentFile: () => Promise.reject(new Error("no such file")),
    undici: () => Promise.reject(new Error("undici is not installed")),
  });
  await expect(opening).rejects.toThrow("undici is not installed");
});

it("says what to do where a bundle holds an agent's file that it does not know, and why", async () => {
  const agentFile = () => Promise.resolve({ default: class {} });
  await expect(openAgent(options, { agentFile, undici: agentFile as AgentModules["undici"] })).rejects.toMatchObject({
    message: expect.stringContaining("leave undici out of the bundle"),
    cause: new TypeError("what undici/lib/dispatcher/agent.js exports makes no agent"),
  });
});

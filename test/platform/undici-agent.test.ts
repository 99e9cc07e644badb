import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import type { Socket } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import type { TLSSocket } from "node:tls";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { openAgent, type UndiciAgent } from "../../src/platform/undici-agent.js";
import { exchange } from "../../src/wire/undici.js";
import { certificates } from "../faults/certificates.js";
import { eventually } from "../support/eventually.js";
import { originInTest } from "../support/origin-of.js";
import { get, post, turns, within } from "../wire/exchange-fixture.js";

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number);
const supportsUndici8 = major > 22 || (major === 22 && minor >= 19);

type Load = NonNullable<Parameters<typeof openAgent>[1]>;

const versions: readonly (readonly [string, Load])[] = [
  ["undici 7", () => import("undici")],
  ...(supportsUndici8 ? [["undici 8", () => import("undici8") as unknown as ReturnType<Load>] as const] : []),
];
const schemes = ["http", "https"] as const;
const every = versions.flatMap(([version, load]) => schemes.map((scheme) => ({ version, scheme, load })));

/** A server that holds back what it is asked for at `/held`, and counts its connections. */
async function startServer(scheme: (typeof schemes)[number]) {
  const seen = { connections: 0, resumed: 0 };
  const held: ServerResponse[] = [];
  const sockets = new Set<Socket>();
  const respond = (request: IncomingMessage, response: ServerResponse) => {
    request.resume().on("end", () => (request.url === "/held" ? held.push(response) : response.end("done")));
  };
  const onSocket = (socket: Socket) => {
    seen.connections += 1;
    if ((socket as Partial<TLSSocket>).isSessionReused?.() === true) seen.resumed += 1;
    sockets.add(socket.on("close", () => sockets.delete(socket)));
  };
  const server =
    scheme === "http"
      ? createHttpServer(respond).on("connection", onSocket)
      : createHttpsServer(certificates().good, respond).on("secureConnection", onSocket);
  // Told to the client, too, which keeps connections for 4 s otherwise.
  server.keepAliveTimeout = 600_000;
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
  });
  return { origin: await originInTest(server, scheme), seen, held };
}

async function open(load: Load, connections = 64, tls = {}): Promise<UndiciAgent> {
  const agent = await openAgent(
    { connections, connectTimeoutMs: 10_000, tls: { ca: [certificates().authority], ...tls } },
    load,
  );
  onTestFinished(async () => void (await agent.close().catch(() => {})));
  return agent;
}

/** Settles with the body, when the connection is idle. */
async function send(agent: UndiciAgent, method: "GET" | "POST", url: string): Promise<string> {
  const { origin, pathname: path } = new URL(url);
  const request = { ...(method === "GET" ? get : post)(origin), path };
  const { text } = await exchange(agent, request, within(60_000));
  await turns();
  return text;
}

describe.each(every)("$version over $scheme", ({ scheme, load }) => {
  it.each([
    ["POST", 2],
    ["GET", 1],
  ] as const)("sends %s requests with 700 ms between them over %i connections", async (method, connections) => {
    const { origin, seen } = await startServer(scheme);
    const agent = await open(load);
    for (const pauseMs of [700, 0]) {
      expect(await send(agent, method, origin)).toBe("done");
      await sleep(pauseMs);
    }
    expect(seen.connections).toBe(connections);
  });

  it("sends a POST over a new connection if the process was stopped, whatever its timers say", async () => {
    const { origin, seen } = await startServer(scheme);
    const agent = await open(load);
    vi.useFakeTimers({ toFake: ["Date"] });
    onTestFinished(() => void vi.useRealTimers());
    const connections: number[] = [];
    for (const byMs of [0, 0, 500, -3_600_000]) {
      vi.setSystemTime(Date.now() + byMs);
      await send(agent, "POST", origin);
      connections.push(seen.connections);
    }
    // On a busy machine, undici's timer may close one more.
    expect(connections[2]).toBeGreaterThan(connections[1] ?? 0);
    expect(connections[3]).toBeGreaterThan(connections[2] ?? 0);
  });

  it("opens one connection for all that follow, if the server closed another while a request waited", async () => {
    const { origin, held, seen } = await startServer(scheme);
    const agent = await open(load, 1);
    const first = send(agent, "GET", `${origin}/held`);
    await eventually(() => expect(held).toHaveLength(1));
    const waiting = send(agent, "GET", origin);
    held[0]?.setHeader("connection", "close").end("first");
    expect([await first, await waiting]).toEqual(["first", "done"]);
    for (let round = 0; round < 5; round++) await send(agent, "GET", origin);
    expect(seen.connections).toBe(2);
  });

  it("sends reads over new connections once it was told to, and cuts nothing that is in flight", async () => {
    const { origin, held, seen } = await startServer(scheme);
    const agent = await open(load);
    const inFlight = send(agent, "GET", `${origin}/held`);
    await eventually(() => expect(held).toHaveLength(1));
    const { reads } = agent;
    agent.replace(reads);
    expect(await send(agent, "GET", origin)).toBe("done");
    agent.replace(reads);
    expect(await send(agent, "GET", origin)).toBe("done");
    held[0]?.end("in the end");
    expect(await inFlight).toBe("in the end");
    expect(seen.connections).toBe(2);
  });
});

describe.each(versions)("%s over https", (_, load) => {
  it.each(["TLSv1.2", "TLSv1.3"] as const)(
    "resumes the TLS session with %s, after a garbage collection too",
    async (version) => {
      const { origin, seen } = await startServer("https");
      const agent = await open(load, 64, { maxVersion: version, minVersion: version });
      for (let count = 0; count < 3; count++) {
        if (count === 2) await collectGarbage();
        await send(agent, "POST", origin);
        await sleep(700);
      }
      expect(seen).toMatchObject({ connections: 3, resumed: 2 });
    },
  );
});

async function collectGarbage(): Promise<void> {
  setFlagsFromString("--expose-gc");
  for (let round = 0; round < 3; round++) {
    await turns();
    runInNewContext("gc")();
  }
}

import { createServer as createHttpServer, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer as createHttpsServer } from "node:https";
import type { Socket } from "node:net";
import type { TLSSocket } from "node:tls";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { buildConnector, Pool } from "undici";
import { beforeEach, describe, expect, it, onTestFinished, vi } from "vitest";
import { FreshAgent, type OpenedAgent } from "../../src/platform/fresh-agent.js";
import { openAgent, type UndiciModules } from "../../src/platform/undici-agent.js";
import { certificates } from "../faults/certificates.js";
import { eventually } from "../support/eventually.js";
import { originInTest } from "../support/origin-of.js";

const noMainEntry = () => Promise.reject(new Error("the main entry was loaded"));
const versions: Readonly<Record<string, UndiciModules>> = {
  "undici 7": {
    // @ts-expect-error undici describes the types of its main entry only.
    poolFile: () => import("undici/lib/dispatcher/pool.js"),
    // @ts-expect-error the same
    connectorFile: () => import("undici/lib/core/connect.js"),
    undici: noMainEntry,
  },
  "undici 8": {
    // @ts-expect-error the same
    poolFile: () => import("undici8/lib/dispatcher/pool.js"),
    // @ts-expect-error the same
    connectorFile: () => import("undici8/lib/core/connect.js"),
    undici: noMainEntry,
  },
};
const schemes = ["http", "https"] as const;
const every = Object.entries(versions).flatMap(([version, modules]) =>
  schemes.map((scheme) => ({ version, scheme, modules })),
);

/** A server that holds back what it is asked for at `/held`, and counts its connections. */
async function startServer(scheme: (typeof schemes)[number]) {
  const seen = { connections: 0, resumed: 0, requests: 0 };
  const held: ServerResponse[] = [];
  const sockets = new Set<Socket>();
  const respond = (request: IncomingMessage, response: ServerResponse) => {
    seen.requests += 1;
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
  // Told to the client, too, which closes connections after 4 s by itself: on a busy machine, 64 handshakes take longer.
  server.keepAliveTimeout = 600_000;
  onTestFinished(() => {
    for (const socket of sockets) socket.destroy();
  });
  return { origin: await originInTest(server, scheme), seen, held, sockets };
}

async function open(modules: UndiciModules, connections = 64): Promise<FreshAgent> {
  const tls = { ca: [certificates().authority] };
  const agent = await openAgent({ connections, connectTimeoutMs: 10_000, tls }, modules);
  onTestFinished(() => agent.close().catch(() => {}));
  return agent;
}

/**
 * Settles with the body, in a turn of the event loop in which the connection is idle.
 *
 * @param isTooLate asked right before the request is written.
 */
async function send(
  agent: OpenedAgent,
  method: "GET" | "POST" | "PUT",
  origin: string,
  path = "/",
  isTooLate = (_method: string) => false,
): Promise<string> {
  const text = await new Promise<string>((resolve, reject) => {
    let text = "";
    const body = method === "GET" ? null : "{}";
    agent.dispatch(
      { origin, path, method, body },
      {
        onRequestStart() {
          if (isTooLate(method)) throw new Error("too late");
        },
        onResponseStart() {},
        onResponseData(_, chunk) {
          text += String(chunk);
        },
        onResponseEnd: () => resolve(text),
        onResponseError: (_, error) => reject(error),
      },
    );
  });
  await turns();
  return text;
}

async function turns(): Promise<void> {
  for (let turn = 0; turn < 5; turn++) await new Promise(setImmediate);
}

async function collectGarbage(): Promise<void> {
  setFlagsFromString("--expose-gc");
  for (let round = 0; round < 3; round++) {
    await turns();
    runInNewContext("gc")();
  }
}

beforeEach(() => {
  vi.useFakeTimers({ toFake: ["performance", "Date"] });
  return () => vi.useRealTimers();
});

describe.each(every)("$version over $scheme", ({ scheme, modules }) => {
  it.each(["POST", "PUT"] as const)(
    "sends a %s over a new connection once its own was idle for 500 ms",
    async (method) => {
      const { origin, seen, sockets } = await startServer(scheme);
      const agent = await open(modules);
      await send(agent, "GET", origin);
      vi.advanceTimersByTime(500);
      expect(await send(agent, method, origin)).toBe("done");
      expect(seen.connections).toBe(2);
      await eventually(() => expect(sockets.size).toBe(1));
    },
  );

  it("sends a POST over a connection that was idle for less", async () => {
    const { origin, seen } = await startServer(scheme);
    const agent = await open(modules);
    for (let count = 0; count < 5; count++) {
      await send(agent, "POST", origin);
      vi.advanceTimersByTime(499);
    }
    expect(seen.connections).toBe(1);
  });

  it("writes no POST to a connection that has been idle for 500 ms when the loop comes to write it", async () => {
    const { origin, seen, sockets } = await startServer(scheme);
    const agent = await open(modules);
    const sendLate = (lateMs: number) => {
      const sent = send(agent, "POST", origin, "/", (method) => agent.isTooLate(method));
      vi.advanceTimersByTime(lateMs);
      return sent;
    };
    await send(agent, "GET", origin);
    vi.advanceTimersByTime(400);
    expect(await sendLate(99)).toBe("done");
    vi.advanceTimersByTime(400);
    await expect(sendLate(100)).rejects.toThrow("too late");
    expect([seen.connections, seen.requests]).toEqual([1, 2]);
    expect(await sendLate(0)).toBe("done");
    expect([seen.connections, seen.requests]).toEqual([2, 3]);
    await eventually(() => expect(sockets.size).toBe(1));
  });

  it("closes none that something was written to, however long it has been in flight", async () => {
    const { origin, held } = await startServer(scheme);
    const agent = await open(modules);
    await send(agent, "GET", origin);
    const first = send(agent, "POST", origin, "/held");
    await eventually(() => expect(held).toHaveLength(1));
    vi.advanceTimersByTime(10_000);
    expect(await send(agent, "POST", origin, "/", (method) => agent.isTooLate(method))).toBe("done");
    held[0]?.end("late");
    expect(await first).toBe("late");
  });

  it("sends a GET over a connection however long it was idle, and a POST after it", async () => {
    const { origin, seen } = await startServer(scheme);
    const agent = await open(modules);
    await send(agent, "POST", origin);
    vi.advanceTimersByTime(3000);
    await send(agent, "GET", origin);
    await send(agent, "POST", origin);
    expect(seen.connections).toBe(1);
  });

  it("cuts nothing that is in flight, on connections that are new and on those that were idle before", async () => {
    const { origin, seen, held } = await startServer(scheme);
    const agent = await open(modules);
    await Promise.all([send(agent, "POST", origin), send(agent, "GET", origin)]);
    const paths = ["POST", "GET", "POST", "GET"] as const;
    const sent = paths.map((method) => send(agent, method, origin, "/held"));
    await eventually(() => expect(held).toHaveLength(4));
    expect(seen.connections).toBe(4);
    vi.advanceTimersByTime(10_000);
    expect(await send(agent, "POST", origin)).toBe("done");
    for (const response of held) response.end("in the end");
    expect(new Set(await Promise.all(sent))).toEqual(new Set(["in the end"]));
    expect(seen.connections).toBe(5);
  });

  it("destroys idle connections to every origin, and those alone", async () => {
    const [one, other] = [await startServer(scheme), await startServer(scheme)];
    const agent = await open(modules);
    await send(agent, "POST", one.origin);
    vi.advanceTimersByTime(300);
    await send(agent, "POST", other.origin);
    vi.advanceTimersByTime(300);
    await send(agent, "POST", other.origin);
    await eventually(() => expect(one.sockets.size).toBe(0));
    expect(other.seen.connections).toBe(1);
  });

  it.each([1, 10, 64])("opens no connection more for requests back to back, %i at once", async (atOnce) => {
    const { origin, seen } = await startServer(scheme);
    const agent = await open(modules, atOnce);
    const opened: number[] = [];
    const sendAll = async () => {
      const before = seen.connections;
      await Promise.all(Array.from({ length: atOnce }, () => send(agent, "POST", origin)));
      opened.push(seen.connections - before);
    };
    for (const pauseMs of [0, 0, 600, 0, 0, 0]) {
      vi.advanceTimersByTime(pauseMs);
      await sendAll();
    }
    expect(opened).toEqual([atOnce, 0, atOnce, 0, 0, 0]);
  });

  it("counts the time in which the machine was suspended, and survives a clock that was set back", async () => {
    const { origin, seen } = await startServer(scheme);
    const agent = await open(modules);
    for (const byMs of [0, 3_600_000, -7_200_000]) {
      vi.setSystemTime(Date.now() + byMs);
      expect(await send(agent, "POST", origin)).toBe("done");
    }
    expect(seen.connections).toBe(3);
    await send(agent, "POST", origin);
    expect(seen.connections).toBe(3);
  });

  it("keeps the connections of an undici that never calls unref, as undici would", async () => {
    const { origin, seen } = await startServer(scheme);
    const [{ default: PoolOfFile }, { default: build }] = (await Promise.all([
      modules.poolFile(),
      modules.connectorFile(),
    ])) as [{ readonly default: typeof Pool }, { readonly default: typeof buildConnector }];
    const agent = new FreshAgent(
      (origin, connect) =>
        new PoolOfFile(origin, {
          connect: (options, callback) =>
            connect(options, (...result) => {
              if (result[1]) result[1].unref = () => result[1] as Socket;
              callback(...result);
            }),
        }),
      build({ allowH2: false, ca: certificates().authority }),
    );
    onTestFinished(() => agent.close());
    await send(agent, "POST", origin);
    vi.advanceTimersByTime(10_000);
    expect(await send(agent, "POST", origin)).toBe("done");
    expect(seen.connections).toBe(1);
  });

  it("reports a connection that can't be made", async () => {
    const { origin } = await startServer(scheme);
    const agent = await open(modules);
    const closed = new URL(origin);
    closed.port = "9";
    await expect(send(agent, "POST", closed.origin)).rejects.toMatchObject({ code: "ECONNREFUSED" });
    expect(await send(agent, "POST", origin)).toBe("done");
  });

  it("refuses every origin once it is closed", async () => {
    const [used, unused] = [await startServer(scheme), await startServer(scheme)];
    const agent = await open(modules);
    await send(agent, "POST", used.origin);
    await agent.close();
    for (const { origin } of [used, unused]) {
      await expect(send(agent, "POST", origin)).rejects.toMatchObject({
        code: expect.stringMatching(/^UND_ERR_(?:CLOSED|DESTROYED)$/),
      });
    }
    expect(unused.seen.connections).toBe(0);
  });
});

describe.each(Object.entries(versions))("%s over https", (_, modules) => {
  it.each(["TLSv1.2", "TLSv1.3"] as const)(
    "resumes the TLS session with %s, after a garbage collection too",
    async (version) => {
      const { origin, seen } = await startServer("https");
      const tls = { ca: [certificates().authority], maxVersion: version, minVersion: version };
      const agent = await openAgent({ connections: 64, connectTimeoutMs: 10_000, tls }, modules);
      onTestFinished(() => agent.close());
      for (let count = 0; count < 3; count++) {
        if (count === 2) await collectGarbage();
        await send(agent, "POST", origin);
        vi.advanceTimersByTime(2000);
      }
      expect(seen).toMatchObject({ connections: 3, resumed: 2 });
    },
  );
});

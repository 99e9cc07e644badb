import { createSecureServer, constants as http2 } from "node:http2";
import type { Socket } from "node:net";
import { text } from "node:stream/consumers";
import { Agent, type Dispatcher, interceptors } from "undici";
import { describe, expect, it, onTestFinished } from "vitest";
import type { WireFailure, WireRequest, WireResponse } from "../../src/wire/transport.js";
import { type DispatcherLike, undiciTransport } from "../../src/wire/undici.js";
import { certificates } from "../faults/certificates.js";
import { originInTest } from "../support/origin-of.js";
import { get, post, within } from "./exchange-fixture.js";
import { startWireServer, wireResponse } from "./wire-server.js";

/** The response, or the failure as the properties that count. */
async function send(dispatcher: DispatcherLike, wire: WireRequest): Promise<WireResponse | Partial<WireFailure>> {
  const transport = undiciTransport({ connections: 8, connectTimeoutMs: 10_000, dispatcher });
  return transport.send(wire, within(20_000)).catch(({ sent, reason }: WireFailure) => ({ sent, reason }));
}

const sentAgain = { sent: true, reason: "REPEATED_BY_DISPATCHER" };

function agentWith(...composed: Dispatcher.DispatcherComposeInterceptor[]): Dispatcher {
  const agent = new Agent();
  onTestFinished(() => agent.destroy());
  return agent.compose(...composed);
}

/** Waits longer than any of these dispatchers does before it sends again. */
const settle = () => new Promise((resolve) => setTimeout(resolve, 100));

describe("interceptors.retry", () => {
  const faults: Readonly<Record<string, (socket: Socket) => void>> = {
    "a 503": (socket) => socket.write(wireResponse(503, "{}")),
    "a reset": (socket) => socket.resetAndDestroy(),
    "an end without a response": (socket) => socket.end(),
    "half a head": (socket) => socket.end("HTTP/1.1 2"),
    "half a response": (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 100\r\netag: "1"\r\n\r\n{"id":"1"'),
  };

  it.each(Object.entries(faults))("sends a POST once after %s", async (_, onRequest) => {
    const server = await startWireServer({ onRequest });
    await send(agentWith(interceptors.retry({ minTimeout: 1, maxTimeout: 5 })), post(server.origin));
    await settle();
    expect(server.requests).toHaveLength(1);
  });

  it("is stopped if it was told to repeat a POST", async () => {
    const server = await startWireServer({ onRequest: (socket) => socket.write(wireResponse(503, "{}")) });
    const retry = interceptors.retry({ methods: ["POST"], minTimeout: 1, maxTimeout: 5, maxRetries: 3 });
    expect(await send(agentWith(retry), post(server.origin))).toEqual(sentAgain);
    await settle();
    expect(server.requests).toHaveLength(1);
  });
});

it.each([
  ["POST", 307],
  ["GET", 302],
] as const)("interceptors.redirect carries no %s to another origin after a %i", async (method, status) => {
  const elsewhere = await startWireServer({ onRequest: (socket) => socket.write(wireResponse(200, "{}")) });
  const server = await startWireServer({
    onRequest: (socket) => socket.write(wireResponse(status, "", `location: ${elsewhere.origin}/taken\r\n`)),
  });
  const outcome = await send(agentWith(interceptors.redirect({ maxRedirections: 5 })), {
    ...(method === "GET" ? get : post)(server.origin),
    method,
  });
  await settle();
  expect(elsewhere.received()).toBe("");
  expect(server.requests).toHaveLength(1);
  expect([sentAgain, { status }]).toContainEqual("status" in outcome ? { status: outcome.status } : outcome);
});

describe("an agent of undici 8 that speaks HTTP/2", () => {
  async function openAgent8(): Promise<Dispatcher> {
    // @ts-expect-error its main entry, which has the types, does not load on Node 20.
    const { default: Agent8 } = (await import("undici8/lib/dispatcher/agent.js")) as { default: typeof Agent };
    const agent = new Agent8({ connect: { ca: certificates().authority } });
    onTestFinished(() => agent.destroy());
    return agent;
  }

  it.each([
    [0, { status: 200, headers: {}, text: "{}" }],
    [1, sentAgain],
  ])("sends no POST again after %i times REFUSED_STREAM, and says so", async (refusals, expected) => {
    const bodies: string[] = [];
    const server = createSecureServer(certificates().good);
    const sessions = new Set<{ destroy(): void }>();
    server.on("session", (session) => sessions.add(session));
    server.on("stream", async (stream) => {
      stream.on("error", () => {});
      bodies.push(await text(stream));
      if (bodies.length <= refusals) return stream.close(http2.NGHTTP2_REFUSED_STREAM);
      stream.respond({ ":status": 200 });
      stream.end("{}");
    });
    onTestFinished(() => sessions.forEach((session) => void session.destroy()));
    const origin = await originInTest(server, "https");
    expect(await send(await openAgent8(), post(origin))).toMatchObject(expected);
    await settle();
    expect(bodies).toHaveLength(1);
  });
});

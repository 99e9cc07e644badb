import { createSecureServer, constants as http2 } from "node:http2";
import type { Socket } from "node:net";
import { Agent, type Dispatcher, interceptors } from "undici";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { Deadline } from "../../src/core/deadline.js";
import type { WireRequest, WireResponse } from "../../src/wire/transport.js";
import { type DispatcherLike, undiciTransport } from "../../src/wire/undici-transport.js";
import type { WireFailure } from "../../src/wire/wire-failure.js";
import { certificates } from "../faults/certificates.js";
import { originInTest } from "../support/origin-of.js";
import { openClosedPort } from "./closed-port.js";
import { startWireServer, type WireServer, wireResponse } from "./wire-server.js";

const secrets = ["c2lnbmF0dXJl", "payment-body", "the-token"];

function request(origin: string, method: WireRequest["method"] = "POST"): WireRequest {
  return {
    method,
    origin,
    path: "/payments",
    headers: {
      "content-type": "application/json",
      "x-service-signature-base64": "c2lnbmF0dXJl",
      authorization: "Bearer the-token",
    },
    body: method === "GET" ? undefined : Buffer.from('{"note":"payment-body"}'),
    maxResponseBytes: 10_000,
  };
}

/** The response, or the failure as the properties that count. */
async function send(dispatcher: DispatcherLike, wire: WireRequest): Promise<WireResponse | Partial<WireFailure>> {
  const deadline = new Deadline({ timeoutMs: 20_000 });
  onTestFinished(() => deadline.finish());
  const transport = undiciTransport({ connections: 8, connectTimeoutMs: 10_000, dispatcher });
  return transport.send(wire, deadline).catch(({ sent, reason }: WireFailure) => ({ sent, reason }));
}

const sentAgain = { sent: true, reason: "REPEATED_BY_DISPATCHER" };

function agentWith(...composed: Dispatcher.DispatcherComposeInterceptor[]): Dispatcher {
  const agent = new Agent();
  onTestFinished(() => agent.destroy());
  return agent.compose(...composed);
}

const retryAll = () =>
  interceptors.retry({ methods: ["POST", "PUT", "GET"], minTimeout: 1, maxTimeout: 5, maxRetries: 3 });

/** Waits longer than any of these dispatchers does before it sends again. */
const settle = () => new Promise((resolve) => setTimeout(resolve, 100));

function expectNothingIn(server: WireServer): void {
  for (const secret of secrets) expect(server.received()).not.toContain(secret);
  expect(server.received()).toBe("");
}

describe("a dispatcher with interceptors.retry", () => {
  const faults: Readonly<Record<string, (socket: Socket) => void>> = {
    "a 503": (socket) => socket.write(wireResponse(503, "{}")),
    "a reset": (socket) => socket.resetAndDestroy(),
    "an end without a response": (socket) => socket.end(),
    "half a head": (socket) => socket.end("HTTP/1.1 2"),
    "half a response": (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 100\r\netag: "1"\r\n\r\n{"id":"1"'),
    "a reset within the response": (socket) =>
      socket.write('HTTP/1.1 201 OK\r\ncontent-length: 100\r\n\r\n{"id":"1"', () =>
        setTimeout(() => socket.resetAndDestroy(), 10),
      ),
    "half of a 206": (socket) =>
      socket.end('HTTP/1.1 206 OK\r\ncontent-range: bytes 0-99/100\r\ncontent-length: 100\r\n\r\n{"id":"1"'),
  };

  it.each(Object.entries(faults))("sends a POST once, whatever it does after %s", async (_, onRequest) => {
    const server = await startWireServer({ onRequest });
    const outcome = await send(agentWith(retryAll()), request(server.origin));
    await settle();
    expect(server.requests).toHaveLength(1);
    expect(outcome).toSatisfy(
      (found: Partial<WireResponse & WireFailure>) =>
        found.sent === true || found.broken !== undefined || found.status === 503,
    );
  });

  it("is reported where it begins to send again", async () => {
    const server = await startWireServer({ onRequest: (socket) => socket.write(wireResponse(503, "{}")) });
    expect(await send(agentWith(retryAll()), request(server.origin, "GET"))).toEqual(sentAgain);
    await settle();
    expect(server.requests).toHaveLength(1);
  });

  it("may try again what was never sent", async () => {
    const server = await startWireServer({
      onConnection: (socket) => void (server.connections() === 1 && socket.destroy()),
      tls: certificates().good,
      onRequest: (socket) => socket.write(wireResponse(200, "{}")),
    });
    let tries = 0;
    const refusedOnce: Dispatcher.DispatcherComposeInterceptor = (dispatch) => (options, handler) => {
      tries += 1;
      if (tries > 1) return dispatch(options, handler);
      handler.onResponseError?.(undefined as never, Object.assign(new Error("refused"), { code: "ECONNREFUSED" }));
      return true;
    };
    const plain = await startWireServer({ onRequest: (socket) => socket.write(wireResponse(200, "{}")) });
    expect(await send(agentWith(refusedOnce, retryAll()), request(plain.origin))).toMatchObject({ status: 200 });
    expect([tries, plain.requests.length]).toEqual([2, 1]);
  });
});

describe("a dispatcher with interceptors.redirect", () => {
  const statuses = [300, 301, 302, 303, 307, 308];

  it.each(statuses)("carries no POST to another origin after a %i, and nothing of it", async (status) => {
    const elsewhere = await startWireServer({ onRequest: (socket) => socket.write(wireResponse(200, "{}")) });
    const server = await startWireServer({
      onRequest: (socket) => socket.write(wireResponse(status, "", `location: ${elsewhere.origin}/taken\r\n`)),
    });
    const outcome = await send(agentWith(interceptors.redirect({ maxRedirections: 5 })), request(server.origin));
    await settle();
    expectNothingIn(elsewhere);
    expect(server.requests).toHaveLength(1);
    expect([sentAgain, { status }]).toContainEqual("status" in outcome ? { status: outcome.status } : outcome);
  });

  it.each(statuses)("follows no %i of a POST within the origin", async (status) => {
    const server = await startWireServer({
      onRequest: (socket, _, number) =>
        socket.write(number === 1 ? wireResponse(status, "", "location: /again\r\n") : wireResponse(200, "{}")),
    });
    await send(agentWith(interceptors.redirect({ maxRedirections: 5 })), request(server.origin));
    await settle();
    expect(server.requests).toHaveLength(1);
  });

  it.each(["GET", "PUT"] as const)("carries no %s to another origin", async (method) => {
    const elsewhere = await startWireServer({ onRequest: (socket) => socket.write(wireResponse(200, "{}")) });
    const server = await startWireServer({
      onRequest: (socket) => socket.write(wireResponse(307, "", `location: ${elsewhere.origin}/taken\r\n`)),
    });
    await send(agentWith(interceptors.redirect({ maxRedirections: 5 }), retryAll()), request(server.origin, method));
    await settle();
    expectNothingIn(elsewhere);
    expect(server.requests).toHaveLength(1);
  });
});

describe("a dispatcher with interceptors.dns", () => {
  const lookup = (port: number) =>
    interceptors.dns({
      lookup: (_origin, _options, callback) =>
        callback(null, [
          { address: "127.0.0.1", family: 4, port, ttl: 60_000 } as never,
          { address: "127.0.0.1", family: 6, port, ttl: 60_000 } as never,
        ]),
    });

  it("sends to the address that it found", async () => {
    const server = await startWireServer({ onRequest: (socket) => socket.write(wireResponse(200, "{}")) });
    expect(await send(agentWith(lookup(server.port)), request("http://service.test"))).toMatchObject({ status: 200 });
    expect(server.requests[0]).toContain("host: service.test");
  });

  it("sends no second time to another address", async () => {
    const again = await startWireServer({ onRequest: (socket) => socket.write(wireResponse(200, "{}")) });
    const server = await startWireServer({ onRequest: (socket) => socket.destroy() });
    // A timeout of the operating system on a connection in use has the code of one that was never made.
    const timedOut: Dispatcher.DispatcherComposeInterceptor = (dispatch) => (options, handler) => {
      const onResponseError = handler.onResponseError?.bind(handler);
      handler.onResponseError = (controller, error) =>
        onResponseError?.(controller, Object.assign(error, { code: "ETIMEDOUT" }));
      return dispatch(options, handler);
    };
    const dns = interceptors.dns({
      lookup: (_origin, _options, callback) =>
        callback(null, [
          { address: "127.0.0.1", family: 4, port: server.port, ttl: 60_000 } as never,
          { address: "::ffff:127.0.0.1", family: 6, port: again.port, ttl: 60_000 } as never,
        ]),
    });
    expect(await send(agentWith(timedOut, dns), request("http://service.test"))).toEqual(sentAgain);
    await settle();
    expect([server.requests.length, again.requests.length]).toEqual([1, 0]);
    expectNothingIn(again);
  });
});

describe("an agent of undici 8 that speaks HTTP/2", () => {
  async function openAgent8(): Promise<Dispatcher> {
    // @ts-expect-error its main entry, which has the types, does not load on Node 20.
    const { default: Agent8 } = (await import("undici8/lib/dispatcher/agent.js")) as { default: typeof Agent };
    const agent = new Agent8({ connect: { ca: certificates().authority } });
    onTestFinished(() => agent.destroy());
    return agent;
  }

  async function startHttp2Server(refusals: number) {
    const bodies: string[] = [];
    const heads: string[] = [];
    const server = createSecureServer(certificates().good);
    const sessions = new Set<{ destroy(): void }>();
    server.on("session", (session) => sessions.add(session));
    server.on("stream", (stream, headers) => {
      heads.push(String(headers[":method"]));
      stream.on("error", () => {});
      let body = "";
      stream.setEncoding("utf8").on("data", (text: string) => {
        body += text;
      });
      stream.on("end", () => {
        bodies.push(body);
        if (bodies.length <= refusals) stream.close(http2.NGHTTP2_REFUSED_STREAM);
        else {
          stream.respond({ ":status": 200 });
          stream.end("{}");
        }
      });
    });
    onTestFinished(() => {
      for (const session of sessions) session.destroy();
    });
    return { origin: await originInTest(server, "https"), heads, bodies };
  }

  it("can be used", async () => {
    const server = await startHttp2Server(0);
    expect(await send(await openAgent8(), request(server.origin))).toMatchObject({ status: 200, text: "{}" });
    expect(server.heads).toEqual(["POST"]);
  });

  it("sends no POST again after REFUSED_STREAM, and says so", async () => {
    const server = await startHttp2Server(1);
    expect(await send(await openAgent8(), request(server.origin))).toEqual(sentAgain);
    await settle();
    expect(server.heads).toEqual(["POST"]);
    expect(server.bodies).toHaveLength(1);
  });
});

describe("any dispatcher that starts one exchange a second time", () => {
  interface Started {
    readonly onRequestStart: (controller: object) => void;
    readonly onResponseStart: (controller: object, status: number, headers: object) => void;
    readonly onResponseData: (controller: object, chunk: Buffer) => void;
    readonly onResponseEnd: (controller: object) => void;
  }
  const dispatching = (play: (handler: Started, controller: { abort: () => void }) => void) => {
    const abort = vi.fn();
    const dispatcher = {
      dispatch(_: never, handler: never): boolean {
        play(handler, { abort });
        return true;
      },
    };
    return { dispatcher, abort };
  };

  it("is stopped after a response had begun, of which the part that came is kept", async () => {
    let thrown: unknown;
    const { dispatcher } = dispatching((handler, controller) => {
      handler.onRequestStart(controller);
      handler.onResponseStart(controller, 200, {});
      handler.onResponseData(controller, Buffer.from('{"id":'));
      try {
        handler.onRequestStart(controller);
      } catch (error) {
        thrown = error;
      }
    });
    const outcome = await send(dispatcher, request("https://service.test"));
    expect(outcome).toMatchObject({ status: 200, text: '{"id":', broken: "cut-short" });
    expect(thrown).toBeInstanceOf(Error);
  });

  it("gives no second response in place of the first", async () => {
    const { dispatcher, abort } = dispatching((handler, controller) => {
      handler.onRequestStart(controller);
      handler.onResponseStart(controller, 500, {});
      handler.onResponseData(controller, Buffer.from("first"));
      handler.onResponseStart(controller, 200, {});
      handler.onResponseData(controller, Buffer.from("second"));
      handler.onResponseEnd(controller);
    });
    const outcome = await send(dispatcher, request("https://service.test"));
    expect(outcome).toMatchObject({ status: 500, text: "first", broken: "cut-short" });
    expect(abort).toHaveBeenCalledOnce();
  });
});

describe("a dispatcher that hides the start of a request", () => {
  const hiding = (
    agent: Dispatcher,
    onRequestStart: (handler: Dispatcher.DispatchHandler) => void,
  ): DispatcherLike => ({
    dispatch(options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler) {
      const wrapped: Dispatcher.DispatchHandler = {
        onRequestStart: () => onRequestStart(handler),
        onResponseStart: (...given) => handler.onResponseStart?.(...given),
        onResponseData: (...given) => handler.onResponseData?.(...given),
        onResponseEnd: (...given) => handler.onResponseEnd?.(...given),
        onResponseError: (...given) => handler.onResponseError?.(...given),
      };
      return agent.dispatch(options, wrapped);
    },
  });
  const hidden = () => {};
  const withoutController = (handler: Dispatcher.DispatchHandler) =>
    handler.onRequestStart?.(undefined as unknown as Dispatcher.DispatchController, undefined);

  it.each([
    ["hides it", hidden],
    ["gives no controller", withoutController],
  ])("is not believed from its first request on, where it %s", async (_, onRequestStart) => {
    const server = await startWireServer({ onRequest: (socket) => socket.resetAndDestroy() });
    const failure = await send(hiding(agentWith(), onRequestStart), request(server.origin));
    expect(failure).toMatchObject({ sent: true });
    expect(server.requests).toHaveLength(1);
  });

  it("is not believed after a response that came without a start", async () => {
    const server = await startWireServer({
      onRequest: (socket, _, number) =>
        number === 1 ? socket.write(wireResponse(200, "{}")) : socket.resetAndDestroy(),
    });
    const transport = undiciTransport({
      connections: 8,
      connectTimeoutMs: 10_000,
      dispatcher: hiding(agentWith(), hidden),
    });
    const deadline = new Deadline({ timeoutMs: 20_000 });
    onTestFinished(() => deadline.finish());
    expect(await transport.send(request(server.origin), deadline)).toMatchObject({ status: 200 });
    await expect(transport.send(request(server.origin), deadline)).rejects.toMatchObject({ sent: true });
  });

  it("is not believed of writes because it shows the start of reads", async () => {
    const server = await startWireServer({
      onRequest: (socket, _, number) =>
        number === 1 ? socket.write(wireResponse(200, "{}")) : socket.resetAndDestroy(),
    });
    const [shown, hidesStart] = [agentWith(), hiding(agentWith(), hidden)];
    const dispatcher = {
      dispatch: (options: Dispatcher.DispatchOptions, handler: Dispatcher.DispatchHandler) =>
        (options.method === "GET" ? shown : hidesStart).dispatch(options as never, handler as never),
    };
    const transport = undiciTransport({ connections: 8, connectTimeoutMs: 10_000, dispatcher });
    const deadline = new Deadline({ timeoutMs: 20_000 });
    onTestFinished(() => deadline.finish());
    expect(await transport.send(request(server.origin, "GET"), deadline)).toMatchObject({ status: 200 });
    await expect(transport.send(request(server.origin), deadline)).rejects.toMatchObject({ sent: true });
    expect(server.requests).toHaveLength(2);
  });

  it("has sent nothing where it could not connect", async () => {
    const closed = await openClosedPort();
    onTestFinished(closed.close);
    const failure = await send(hiding(agentWith(), hidden), request(`http://127.0.0.1:${closed.port}`));
    expect(failure).toEqual({ sent: false, reason: "ECONNREFUSED" });
  });
});

import { randomBytes } from "node:crypto";
import zlib from "node:zlib";
import { Agent, interceptors, MockAgent } from "undici";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { later, now } from "../../src/core/clock.js";
import type { Transport } from "../../src/wire/transport.js";
import { isDispatcher, type UndiciTransportOptions, undiciTransport } from "../../src/wire/undici.js";
import { eventually, until } from "../support/eventually.js";
import { failureOf, get, post, turns, within } from "./exchange-fixture.js";
import { startWireServer, wireResponse } from "./wire-server.js";

function transport(options: Partial<UndiciTransportOptions> = {}, firstByteMs?: number): Transport {
  const handle = undiciTransport({ connections: 8, connectTimeoutMs: 5000, ...options }, firstByteMs);
  onTestFinished(() => void handle.close().catch(() => {}));
  return handle;
}

const responding = (body: string | Buffer, headers = "") =>
  startWireServer({ onRequest: (socket) => socket.write(wireResponse(200, body, headers)) });

describe("an exchange", () => {
  it("puts the request on the wire byte for byte and adds nothing but host, connection and content-length", async () => {
    const server = await responding('{"id":"1"}');
    expect(await transport().send(post(server.origin), within())).toEqual({
      status: 200,
      headers: { "content-type": "application/json", "content-length": "10" },
      text: '{"id":"1"}',
    });
    expect(server.received().split("\r\n")).toEqual([
      "POST /gw/payments?a=%27 HTTP/1.1",
      `host: 127.0.0.1:${server.port}`,
      "connection: keep-alive",
      "content-type: application/json",
      "x-service-signature-base64: c2ln",
      "content-length: 17",
      "",
      '{"amount":"1.00"}',
    ]);
  });

  it("joins headers that come more than once, and takes any name", async () => {
    const headers = "X-A: 1\r\nx-a: 2\r\nSet-Cookie: a=1\r\nset-cookie: b=2\r\n__proto__: p\r\nconstructor: c\r\n";
    const server = await responding("1", headers);
    const response = await transport().send(get(server.origin), within());
    expect(response.headers).toMatchObject({ "x-a": "1, 2", "set-cookie": "a=1, b=2", constructor: "c" });
    expect(Reflect.get({}, "p")).toBeUndefined();
  });

  it("uses a socket again, and gives no request the second response of another", async () => {
    const server = await startWireServer({
      onRequest: (socket, _, number) => {
        const response = wireResponse(200, `${number}`);
        socket.write(number === 3 ? Buffer.concat([response, wireResponse(200, "stray")]) : response);
      },
    });
    const { send } = transport({ connections: 1 });
    const texts = [];
    for (let index = 0; index < 4; index++) texts.push((await send(get(server.origin), within())).text);
    expect(texts).toEqual(["1", "2", "3", "4"]);
    expect(server.connections()).toBe(2);
  });

  it("stays unsent when it is aborted in the queue, and leaves the socket to the next request", async () => {
    let release = () => {};
    const server = await startWireServer({
      onRequest: (socket, _, number) => {
        if (number > 1) socket.write(wireResponse(200, `${number}`));
        else release = () => socket.write(wireResponse(200, "1"));
      },
    });
    const { send } = transport({ connections: 1 });
    const first = send(post(server.origin, "{}"), within());
    const abort = new AbortController();
    const queued = failureOf(send(post(server.origin, '{"queued":1}'), within(5000, abort.signal)));
    await until(() => server.requests.length > 0);
    abort.abort();
    expect(await queued).toMatchObject({ name: "Ended", kind: "abort", sent: false });
    const third = send(post(server.origin, "{}"), within());
    release();
    expect([(await first).text, (await third).text]).toEqual(["1", "2"]);
    expect(server.received()).not.toContain("queued");
    expect(server.connections()).toBe(1);
  });

  it("is complete with as many bytes as the cap allows, and drops the connection above it", async () => {
    const exact = await responding("1".repeat(1000));
    const response = await transport().send(get(exact.origin), within());
    expect([response.text.length, response.broken]).toEqual([1000, undefined]);
    const over = await responding("1".repeat(1001));
    expect(await transport().send(get(over.origin), within())).toMatchObject({ text: "", broken: "too-large" });
    await over.dropped();
  });

  it("may finish while the transport is closed, which nothing outlasts", async () => {
    let release = () => {};
    const server = await startWireServer({
      onRequest: (socket) => {
        release = () => socket.write(wireResponse(200, "1"));
      },
    });
    const handle = transport();
    const exchange = handle.send(get(server.origin), within());
    await until(() => server.requests.length > 0);
    const closed = handle.close();
    release();
    await closed;
    expect((await exchange).text).toBe("1");
    await server.dropped();
    expect(await failureOf(handle.send(get(server.origin), within()))).toMatchObject({ sent: false });
    await expect(transport().close()).resolves.toBeUndefined();
  });
});

describe("a connection that has fallen silent", () => {
  /** Its connections fall silent when it is told to, as those that a NAT has forgotten. */
  async function startSilentServer() {
    const silent = new Set<unknown>();
    const open: unknown[] = [];
    const server = await startWireServer({
      onConnection: (socket) => open.push(socket),
      onRequest: (socket) => silent.has(socket) || socket.write(wireResponse(200, silent.size === 0 ? "old" : "new")),
    });
    return { ...server, silence: () => open.forEach((socket) => void silent.add(socket)) };
  }

  /** Longer than `firstByteMs`. */
  const pause = () => new Promise((resolve) => setTimeout(resolve, 300));

  it("has its read sent on a new one, with all that follow", async () => {
    const server = await startSilentServer();
    const { send } = transport({}, 200);
    const read = { ...get(server.origin), repeatable: true };
    await Promise.all([send(read, within()), send(read, within())]);
    await turns();
    server.silence();
    await pause();
    expect(await send(read, within())).toMatchObject({ text: "new" });
    await turns();
    expect(await send(read, within())).toMatchObject({ text: "new" });
    expect(server.connections()).toBe(3);
  });

  it("is waited for as long as a slow service has turned out to need", async () => {
    let delayMs = 0;
    const server = await startWireServer({
      onRequest: (socket) => setTimeout(() => socket.write(wireResponse(200, "{}")), delayMs),
    });
    const { send } = transport({}, 200);
    for (let index = 0; index < 3; index++) {
      await send({ ...get(server.origin), repeatable: true }, within());
      await pause();
      // undici's timer may be late by a second.
      delayMs = 1500;
    }
    expect(server.requests).toHaveLength(4);
  });

  it.each([
    ["a read that must not be repeated", get],
    ["a write", post],
  ])("is waited for until the deadline by %s", async (_, requestTo) => {
    const server = await startSilentServer();
    const { send } = transport({}, 200);
    await send(requestTo(server.origin), within());
    await turns();
    server.silence();
    const failure = await failureOf(send(requestTo(server.origin), within(800)));
    expect(failure).toMatchObject({ name: "Ended", sent: true });
    expect(server.requests).toHaveLength(2);
  });
});

describe("an encoded response", () => {
  const text = JSON.stringify(Array.from({ length: 2000 }, (_, index) => ({ id: `é${index}`, status: "received" })));
  const gzip = (bytes: Buffer | string) => zlib.gzipSync(bytes);
  const encodings: readonly (readonly [string, (bytes: Buffer | string) => Buffer])[] = [
    ["GZip", gzip],
    ["br", (bytes) => zlib.brotliCompressSync(bytes, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 3 } })],
  ];

  async function receive(encoding: string, body: Buffer, maxResponseBytes = 2 ** 20, options = {}) {
    const server = await responding(body, `content-encoding: ${encoding}\r\n`);
    return transport(options).send({ ...get(server.origin), maxResponseBytes }, within(15_000));
  }

  it.each(encodings)("is read in %s, and may be empty", async (encoding, encode) => {
    const response = await receive(encoding, encode(text));
    expect([response.text === text, response.broken]).toEqual([true, undefined]);
    for (const body of [encode(""), Buffer.alloc(0)]) {
      const empty = await receive(encoding, body);
      expect([empty.text, empty.broken]).toEqual(["", undefined]);
    }
  });

  it("is read in several members", async () => {
    expect(await receive("gzip", Buffer.concat([gzip("[1,"), gzip("2]")]))).toMatchObject({ text: "[1,2]" });
  });

  it("is not decoded twice if the caller's dispatcher has decoded it", async () => {
    const agent = new Agent();
    onTestFinished(() => agent.destroy());
    const dispatcher = agent.compose(interceptors.decompress());
    expect((await receive("gzip", gzip(text), undefined, { dispatcher })).text === text).toBe(true);
  });

  it.each(encodings)("is measured by what %s comes to", async (encoding, encode) => {
    const body = randomBytes(900).toString("base64");
    const exact = await receive(encoding, encode(body), body.length);
    expect([exact.text === body, exact.broken]).toEqual([true, undefined]);
    expect(await receive(encoding, encode(`${body}!`), body.length)).toMatchObject({ text: "", broken: "too-large" });
    expect(await receive(encoding, encode(Buffer.alloc(40 * 2 ** 20)))).toMatchObject({ broken: "too-large" });
  });

  it("can't be read in a coding that was not asked for", async () => {
    expect(transport().acceptEncoding).toBe("gzip, br");
    expect(await receive("zstd", gzip("[]"))).toMatchObject({ status: 200, text: "", broken: "encoded" });
  });
});

describe("a dispatcher of the caller's", () => {
  it("is what has a method of that name", () => {
    const given = [new Agent(), Object.assign(() => {}, { dispatch() {} }), { dispatch: {} }, {}, null, undefined];
    expect(given.map(isDispatcher)).toEqual([true, true, false, false, false, false]);
  });

  it("may be a MockAgent, and stays open", async () => {
    const agent = new MockAgent();
    onTestFinished(() => agent.close());
    agent.disableNetConnect();
    agent.get("https://mock.test").intercept({ path: "/gw/payments" }).reply(200, { id: "1" }).times(2);
    const handle = transport({ dispatcher: agent });
    expect(await handle.send(get("https://mock.test"), within())).toMatchObject({ status: 200, text: '{"id":"1"}' });
    await handle.close();
    const dispatch = vi.spyOn(agent, "dispatch");
    const second = handle.send(get("https://mock.test"), within());
    // At once: nothing has to be loaded any more.
    expect(dispatch).toHaveBeenCalledOnce();
    expect((await second).status).toBe(200);
  });
});

describe("the last time to send", () => {
  const inTime = () => later(now(), 60_000);

  it("ends a request that was not sent, and leaves its socket", async () => {
    const server = await responding("{}");
    const { send } = transport({ connections: 1 });
    await send(post(server.origin, "{}"), within());
    const failure = await failureOf(send(post(server.origin), within(5000, undefined, now())));
    expect(failure).toMatchObject({ name: "Ended", kind: "timeout", sent: false });
    await send(post(server.origin, "{}"), within(5000, undefined, inTime()));
    expect(server.requests).toHaveLength(2);
    expect(server.received()).not.toContain("amount");
    expect(server.connections()).toBe(1);
  });

  it("can come while the request is queued behind another", async () => {
    const server = await startWireServer({
      onRequest: (socket) => {
        vi.spyOn(Date, "now").mockReturnValue(Date.now() + 120_000);
        socket.write(wireResponse(200, "{}"));
      },
    });
    onTestFinished(() => void vi.restoreAllMocks());
    const { send } = transport({ connections: 1 });
    const first = send(post(server.origin, "{}"), within());
    const queued = failureOf(send(post(server.origin), within(5000, undefined, inTime())));
    expect((await first).status).toBe(200);
    expect(await queued).toMatchObject({ name: "Ended", kind: "timeout", sent: false });
    expect(server.received()).not.toContain("amount");
  });

  it("is the end of a deadline, too, even if a blocked event loop kept its timer from firing", async () => {
    const server = await responding("{}");
    const agent = new Agent();
    onTestFinished(() => agent.destroy());
    const deadline = within(50);
    const ended = vi.fn();
    deadline.onEnd(ended);
    // Blocks when the request is about to be written, as somebody else's callback can.
    const blocking = agent.compose((dispatch) => (options, handler) => {
      const onRequestStart = handler.onRequestStart?.bind(handler);
      handler.onRequestStart = (controller, context) => {
        while (deadline.remainingMs() > 0);
        expect(ended).not.toHaveBeenCalled();
        onRequestStart?.(controller, context);
      };
      return dispatch(options, handler);
    });
    const dispatcher = Object.assign(blocking, { showsStart: true });
    const failure = await failureOf(transport({ dispatcher }).send(post(server.origin), deadline));
    expect(failure).toMatchObject({ name: "Ended", kind: "timeout", sent: false });
    await agent.close();
    await eventually(() => expect(server.connections()).toBe(1));
    expect(server.received()).toBe("");
  });
});

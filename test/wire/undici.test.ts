import { execFileSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import { Agent, MockAgent } from "undici";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { later, now, type Timestamp } from "../../src/core/clock.js";
import type { Ended } from "../../src/core/deadline.js";
import { type Transport, WireFailure, type WireRequest } from "../../src/wire/transport.js";
import { isDispatcher, type UndiciTransportOptions, undiciTransport } from "../../src/wire/undici.js";

// Loaded before the first request, whose deadline would count it.
import "../../src/wire/undici.js";
import { openClosedPort } from "./closed-port.js";
import { failureOf, within } from "./exchange-fixture.js";
import { startWireServer, wireResponse } from "./wire-server.js";

function transport(options: Partial<UndiciTransportOptions> = {}): Transport {
  const handle = undiciTransport({ connections: 8, connectTimeoutMs: 5000, ...options });
  onTestFinished(() => void handle.close().catch(() => {}));
  return handle;
}

/** Gives a used connection 200 ms. */
function silentTransport(): Transport {
  const handle = undiciTransport({ connections: 8, connectTimeoutMs: 5000 }, 200);
  onTestFinished(() => void handle.close().catch(() => {}));
  return handle;
}

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

function post(origin: string, body = '{"amount":"1.00"}', maxResponseBytes = 1000): WireRequest {
  return {
    method: "POST",
    origin,
    path: "/gw/payments?a=%27",
    headers: { "content-type": "application/json", "x-service-signature-base64": "c2ln" },
    body: Buffer.from(body),
    maxResponseBytes,
  };
}

function get(origin: string, path = "/gw/payments", maxResponseBytes = 1000): WireRequest {
  return { method: "GET", origin, path, headers: { accept: "application/json" }, body: undefined, maxResponseBytes };
}

async function wireFailureOf(exchange: Promise<unknown>): Promise<WireFailure> {
  const failure = await failureOf(exchange);
  if (failure instanceof WireFailure) return failure;
  throw new Error(`expected a WireFailure; got ${String(failure)}`);
}

describe("an exchange that succeeds", () => {
  it("puts the request on the wire byte for byte and adds nothing but host, connection and content-length", async () => {
    const server = await startWireServer({ onRequest: (socket) => socket.write(wireResponse(200, '{"id":"1"}')) });
    const response = await transport().send(post(server.origin), within());
    expect(response).toEqual({
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

  it("is a read on a connection that was dropped in silence, sent again on a new one with all that follow", async () => {
    const server = await startSilentServer();
    const wire = silentTransport();
    const read = { ...get(server.origin), repeatable: true };
    await Promise.all([wire.send(read, within()), wire.send(read, within())]);
    await sleep(20);
    server.silence();
    expect(await wire.send(read, within())).toMatchObject({ text: "new" });
    await sleep(20);
    expect(await wire.send(read, within(150))).toMatchObject({ text: "new" });
    expect(server.connections()).toBe(3);
  });

  it("waits as long for a service that is slow as it has turned out to need", async () => {
    let delayMs = 0;
    const server = await startWireServer({
      onRequest: (socket) => setTimeout(() => socket.write(wireResponse(200, "{}")), delayMs),
    });
    const wire = silentTransport();
    const read = { ...get(server.origin), repeatable: true };
    for (let index = 0; index < 3; index++) {
      await wire.send(read, within());
      await sleep(20);
      // undici's timer may be late by a second.
      delayMs = 1500;
    }
    expect(server.requests).toHaveLength(4);
  });

  it("uses a socket again", async () => {
    const server = await startWireServer({
      onRequest: (socket, _, number) => socket.write(wireResponse(200, `${number}`)),
    });
    const { send } = transport({ connections: 1 });
    const texts = [];
    for (let index = 0; index < 3; index++) texts.push((await send(get(server.origin), within())).text);
    expect(texts).toEqual(["1", "2", "3"]);
    expect(server.connections()).toBe(1);
  });

  it("joins headers that come more than once, and takes any name", async () => {
    const headers = "X-A: 1\r\nx-a: 2\r\nSet-Cookie: a=1\r\nset-cookie: b=2\r\n__proto__: p\r\nconstructor: c\r\n";
    const server = await startWireServer({ onRequest: (socket) => socket.write(wireResponse(200, "1", headers)) });
    const response = await transport().send(get(server.origin), within());
    expect(response.headers).toMatchObject({ "x-a": "1, 2", "set-cookie": "a=1, b=2", constructor: "c" });
    expect(Reflect.get({}, "p")).toBeUndefined();
  });

  it("removes a byte order mark", async () => {
    const server = await startWireServer({ onRequest: (socket) => socket.write(wireResponse(200, "\ufeff[]")) });
    expect((await transport().send(get(server.origin), within())).text).toBe("[]");
  });

  it("joins characters that are split between two packets", async () => {
    const bytes = Buffer.from('"€😀"');
    const server = await startWireServer({
      onRequest: async (socket) => {
        socket.write(`HTTP/1.1 200 OK\r\ncontent-length: ${bytes.length}\r\n\r\n`);
        for (const byte of bytes) {
          socket.write(Buffer.of(byte));
          await new Promise((resolve) => setTimeout(resolve, 1));
        }
      },
    });
    expect((await transport().send(get(server.origin), within())).text).toBe('"€😀"');
  });

  it("waits through interim responses", async () => {
    const server = await startWireServer({
      onRequest: (socket) => {
        for (let index = 0; index < 500; index++) socket.write("HTTP/1.1 102 Processing\r\nx-a: interim\r\n\r\n");
        socket.write(wireResponse(200, "1"));
      },
    });
    const response = await transport().send(post(server.origin), within());
    expect([response.status, response.text, response.headers["x-a"]]).toEqual([200, "1", undefined]);
  });

  it("does not follow a redirect", async () => {
    const elsewhere = await startWireServer({ onRequest: (socket) => socket.write(wireResponse(200, "1")) });
    const server = await startWireServer({
      onRequest: (socket) => socket.write(wireResponse(307, "", `location: ${elsewhere.origin}/payments\r\n`)),
    });
    expect((await transport().send(post(server.origin), within())).status).toBe(307);
    expect(elsewhere.connections()).toBe(0);
  });
});

describe("an exchange that was never sent", () => {
  it("says so when the connection is refused", async () => {
    const { port, close } = await openClosedPort();
    onTestFinished(close);
    const failure = await failureOf(transport().send(post(`http://127.0.0.1:${port}`), within()));
    expect(failure).toMatchObject({ name: "WireFailure", sent: false, permanent: false, reason: "ECONNREFUSED" });
  });

  it("says so when the TLS handshake is reset", async () => {
    const server = await startWireServer({
      onConnection: (socket) => socket.once("data", () => socket.resetAndDestroy()),
    });
    for (const request of [post, get]) {
      const failure = await failureOf(transport().send(request(`https://127.0.0.1:${server.port}`), within()));
      expect(failure).toMatchObject({ name: "WireFailure", sent: false, permanent: false, reason: "ECONNRESET" });
    }
  });

  it("says so when the TLS handshake does not come to an end", async () => {
    const server = await startWireServer({});
    const { send } = transport({ connectTimeoutMs: 50 });
    const failure = await failureOf(send(post(`https://127.0.0.1:${server.port}`), within()));
    expect(failure).toMatchObject({
      name: "WireFailure",
      sent: false,
      permanent: false,
      reason: "UND_ERR_CONNECT_TIMEOUT",
    });
  });

  it("settles at the deadline while it is connecting", async () => {
    const server = await startWireServer({});
    const failure = await failureOf(transport().send(post(`https://127.0.0.1:${server.port}`), within(30)));
    expect(failure).toMatchObject({ name: "Ended", kind: "timeout", sent: false });
  });

  it("does not retry what a certificate forbids", async () => {
    const server = await startWireServer({
      tls: selfSigned(),
      onRequest: (socket) => socket.write(wireResponse(200, "1")),
    });
    const failure = await failureOf(transport().send(post(server.origin), within()));
    expect(failure).toMatchObject({
      name: "WireFailure",
      sent: false,
      permanent: true,
      reason: "DEPTH_ZERO_SELF_SIGNED_CERT",
    });
    expect(server.received()).toBe("");
  });

  it("does not retry what does not speak TLS", async () => {
    const server = await startWireServer({
      onConnection: (socket) => socket.once("data", () => socket.end("HTTP/1.1 400 Bad Request\r\n\r\n")),
    });
    const failure = await wireFailureOf(transport().send(post(`https://127.0.0.1:${server.port}`), within()));
    expect(failure).toMatchObject({ name: "WireFailure", sent: false, permanent: true });
    expect(failure.reason).toMatch(/^(EPROTO|ERR_SSL_)/);
    expect(server.received()).not.toContain("POST");
  });

  it("opens nothing for a call that has ended", async () => {
    const server = await startWireServer({});
    const failure = await failureOf(transport().send(post(server.origin), within(5000, AbortSignal.abort())));
    expect(failure).toMatchObject({ name: "Ended", kind: "abort", sent: false });
    expect(server.connections()).toBe(0);
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
    while (server.requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    abort.abort();
    expect(await queued).toMatchObject({ name: "Ended", kind: "abort", sent: false });
    const third = send(post(server.origin, "{}"), within());
    release();
    expect([(await first).text, (await third).text]).toEqual(["1", "2"]);
    expect(server.received()).not.toContain("queued");
    expect(server.requests).toHaveLength(2);
    expect(server.connections()).toBe(1);
  });
});

describe("an exchange that may have been sent", () => {
  it.each([
    ["a read that must not be repeated", (origin: string) => get(origin)],
    ["a write", (origin: string) => post(origin, "{}")],
  ])("waits for a connection that has fallen silent until its deadline, if it is %s", async (_, requestTo) => {
    const server = await startSilentServer();
    const wire = silentTransport();
    await wire.send(requestTo(server.origin), within());
    await sleep(20);
    server.silence();
    expect(await failureOf(wire.send(requestTo(server.origin), within(800)))).toMatchObject({
      name: "Ended",
      sent: true,
    });
    expect(server.requests).toHaveLength(2);
  });

  it.each([
    ["reset", (socket: { resetAndDestroy(): void }) => socket.resetAndDestroy()],
    ["closed", (socket: { destroy(): void }) => socket.destroy()],
  ])("is reported as unsent only where nothing arrived when the connection is %s at once", async (_, cut) => {
    for (let index = 0; index < 20; index++) {
      const server = await startWireServer({ onConnection: cut });
      const failure = await failureOf(transport().send(post(server.origin), within()));
      expect(failure).toMatchObject({ name: "WireFailure", permanent: false });
      expect(failure.sent || server.received() === "").toBe(true);
    }
  });

  it.each([
    ["reset", (socket: { resetAndDestroy(): void }) => socket.resetAndDestroy(), "ECONNRESET"],
    ["closed", (socket: { end(): void }) => socket.end(), "UND_ERR_SOCKET"],
  ])("says so when the connection is %s after the whole request", async (_, cut, reason) => {
    const server = await startWireServer({ onRequest: cut });
    const failure = await failureOf(transport().send(post(server.origin), within()));
    expect(failure).toMatchObject({ name: "WireFailure", sent: true, permanent: false, reason });
    expect(server.requests).toHaveLength(1);
  });

  it.each([
    ["says nothing", () => {}],
    ["drips", drip],
    ["sends interim responses without end", flood],
  ])("settles at the deadline when the service %s, and drops the connection", async (_, onRequest) => {
    const server = await startWireServer({ onRequest });
    const { send } = transport();
    let failure: WireFailure | Ended | undefined;
    // A busy machine needs longer until it has sent anything.
    for (let timeoutMs = 60; failure?.sent !== true; timeoutMs *= 4) {
      failure = await failureOf(send(post(server.origin), within(timeoutMs)));
    }
    expect(failure).toMatchObject({ name: "Ended", kind: "timeout", sent: true });
    await server.dropped();
    expect(server.requests).toHaveLength(1);
  });

  it("settles at the caller's abort, and drops the connection", async () => {
    const abort = new AbortController();
    const server = await startWireServer({ onRequest: () => abort.abort() });
    const failure = await failureOf(transport().send(post(server.origin), within(5000, abort.signal)));
    expect(failure).toMatchObject({ name: "Ended", kind: "abort", sent: true });
    await server.dropped();
  });

  it.each([
    ["an upgrade", "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n"],
    ["garbage", "SSH-2.0-OpenSSH_9.6\r\n"],
    ["half a status line", "HTTP/1.1 2"],
    ["two content lengths", "HTTP/1.1 200 OK\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n1"],
    ["headers without end", `HTTP/1.1 200 OK\r\nx-a: ${"a".repeat(40_000)}\r\n\r\n`],
  ])("says so when the service responds with %s", async (_, text) => {
    const server = await startWireServer({ onRequest: (socket) => socket.end(text) });
    const failure = await wireFailureOf(transport().send(post(server.origin), within()));
    expect(failure).toMatchObject({ name: "WireFailure", sent: true, permanent: false });
    expect(failure.reason).toMatch(/^\w+$/);
    await server.dropped();
  });
});

describe("a response whose body can't be used", () => {
  it.each([
    ["content-length", 'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"id":'],
    ["chunks", 'HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n6\r\n{"id":\r\n5\r\n'],
  ])("is cut short where it ends before its %s say so", async (_, text) => {
    const server = await startWireServer({ onRequest: (socket) => socket.end(text) });
    const response = await transport().send(post(server.origin), within());
    expect(response).toMatchObject({ status: 200, text: '{"id":', broken: "cut-short" });
  });

  it("is cut short where the connection is reset", async () => {
    const server = await startWireServer({
      onRequest: (socket) => {
        socket.write("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n[", () =>
          setTimeout(() => socket.resetAndDestroy(), 20),
        );
      },
    });
    expect(await transport().send(post(server.origin), within())).toMatchObject({ text: "[", broken: "cut-short" });
  });

  it("is too large above the cap, and the connection is dropped", async () => {
    const server = await startWireServer({
      onRequest: (socket) => socket.write(`HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n${"1".repeat(2000)}`),
    });
    const response = await transport().send(get(server.origin), within());
    expect(response).toMatchObject({ status: 200, broken: "too-large" });
    expect(response.text.length).toBeLessThanOrEqual(1000);
    await server.dropped();
  });

  it("is complete with as many bytes as the cap allows", async () => {
    const server = await startWireServer({ onRequest: (socket) => socket.write(wireResponse(200, "1".repeat(1000))) });
    const response = await transport().send(get(server.origin), within());
    expect([response.text.length, response.broken]).toEqual([1000, undefined]);
  });

  it("is kept as far as it can be read when it is not UTF-8", async () => {
    const server = await startWireServer({
      onRequest: (socket) => socket.write(wireResponse(200, Buffer.from('{"name":"M\xfcller"}', "latin1"))),
    });
    const response = await transport().send(get(server.origin), within());
    expect(response).toMatchObject({ text: '{"name":"M\ufffdller"}', broken: "not-utf8" });
  });

  it.each(["timeout", "abort"] as const)("is kept as far as it came at the %s", async (kind) => {
    const abort = new AbortController();
    const server = await startWireServer({
      onRequest: (socket) => {
        socket.write("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n[1,");
        if (kind === "abort") setTimeout(() => abort.abort(), 40);
      },
    });
    const end = within(kind === "timeout" ? 1000 : 10_000, abort.signal);
    expect(await transport().send(post(server.origin), end)).toMatchObject({ status: 200, text: "[1,", broken: kind });
    await server.dropped();
  });
});

it("gives no request the second response to another", async () => {
  const server = await startWireServer({
    onRequest: (socket, _, number) => {
      if (number > 1) socket.write(wireResponse(200, "right"));
      else socket.write(Buffer.concat([wireResponse(200, "first"), wireResponse(200, "stray")]));
    },
  });
  const { send } = transport({ connections: 1 });
  expect((await send(get(server.origin), within())).text).toBe("first");
  expect((await send(get(server.origin), within())).text).toBe("right");
});

it("gives no request the response that came to an idle socket", async () => {
  const server = await startWireServer({
    onRequest: (socket, _, number) => {
      socket.write(wireResponse(200, `${number}`));
      if (number === 1) setTimeout(() => socket.write(wireResponse(200, "stray")), 20);
    },
  });
  const { send } = transport({ connections: 1 });
  expect((await send(get(server.origin), within())).text).toBe("1");
  await new Promise((resolve) => setTimeout(resolve, 60));
  expect((await send(get(server.origin), within())).text).toBe("2");
});

describe("close", () => {
  it("lets requests in flight finish, and closes the sockets", async () => {
    const server = await startWireServer({
      onRequest: (socket) => void setTimeout(() => socket.write(wireResponse(200, "1")), 30),
    });
    const handle = transport();
    const exchange = handle.send(get(server.origin), within());
    while (server.requests.length === 0) await new Promise((resolve) => setTimeout(resolve, 1));
    await handle.close();
    expect((await exchange).text).toBe("1");
    await server.dropped();
    expect(await failureOf(handle.send(get(server.origin), within()))).toMatchObject({ sent: false });
  });

  it("has the headers of a response, and none that a program has added to Object.prototype", async () => {
    const server = await startWireServer({ onRequest: (socket) => socket.write(wireResponse(200, "{}")) });
    Object.assign(Object.prototype, { extend: () => {} });
    onTestFinished(() => void Reflect.deleteProperty(Object.prototype, "extend"));
    const { headers, text, broken } = await transport().send(get(server.origin), within());
    expect([Object.hasOwn(headers, "extend"), text, broken]).toEqual([false, "{}", undefined]);
  });

  it("has nothing to do before the first request", async () => {
    await expect(transport().close()).resolves.toBeUndefined();
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

function drip(socket: { write(text: string): void; once(event: "close", listener: () => void): unknown }): void {
  socket.write("HTTP/1.1 200 OK\r\nx-a: ");
  const timer = setInterval(() => socket.write("a"), 5);
  socket.once("close", () => clearInterval(timer));
}

function flood(socket: { write(text: string): void; once(event: "close", listener: () => void): unknown }): void {
  const timer = setInterval(() => socket.write("HTTP/1.1 102 Processing\r\n\r\n"), 5);
  socket.once("close", () => clearInterval(timer));
}

function selfSigned(): { readonly key: string; readonly cert: string } {
  const folder = mkdtempSync(join(tmpdir(), "certificate-"));
  try {
    const [key, cert] = [join(folder, "key.pem"), join(folder, "cert.pem")];
    const subject = ["-subj", "/CN=127.0.0.1", "-addext", "subjectAltName=IP:127.0.0.1", "-days", "2"];
    const made = ["req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes"];
    execFileSync("openssl", [...made, "-keyout", key, "-out", cert, ...subject], { stdio: "ignore" });
    return { key: readFileSync(key, "utf8"), cert: readFileSync(cert, "utf8") };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

describe("the last time to send", () => {
  const inTime = () => later(now(), 60_000);

  it.each<[string, () => Timestamp]>([
    ["wall", () => ({ ...inTime(), wallMs: Date.now() })],
    ["monotonic", () => ({ ...inTime(), monotonicMs: performance.now() })],
  ])(
    "is over when the %s clock says so: nothing is sent, and the socket is left to the next request",
    async (_, over) => {
      const server = await startWireServer({ onRequest: (socket) => socket.write(wireResponse(200, "{}")) });
      const { send } = transport({ connections: 1 });
      await send(post(server.origin, "{}"), within());
      const failure = await failureOf(send(post(server.origin), within(5000, undefined, over())));
      expect(failure).toMatchObject({ name: "Ended", kind: "timeout", sent: false });
      await send(post(server.origin, "{}"), within(5000, undefined, inTime()));
      expect(server.requests.map((request) => request.slice(0, 4))).toEqual(["POST", "POST"]);
      expect(server.received()).not.toContain("amount");
      expect(server.connections()).toBe(1);
    },
  );

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
    expect(server.requests).toHaveLength(1);
    expect(server.received()).not.toContain("amount");
  });
});

it("sends nothing when the deadline passes while the event loop is blocked, although its timer could not fire", async () => {
  const server = await startWireServer({ onRequest: (socket) => socket.write(wireResponse(200, "{}")) });
  const agent = new Agent();
  onTestFinished(() => agent.destroy());
  const deadline = within(50);
  const ended = vi.fn();
  deadline.onEnd(ended);
  // Blocks where the request is about to be written, as somebody else's callback can.
  const dispatcher = agent.compose((dispatch) => (options, handler) => {
    const onRequestStart = handler.onRequestStart?.bind(handler);
    handler.onRequestStart = (controller, context) => {
      while (deadline.remainingMs() > 0);
      expect(ended).not.toHaveBeenCalled();
      onRequestStart?.(controller, context);
    };
    return dispatch(options, handler);
  });
  const failure = await failureOf(
    transport({ dispatcher: Object.assign(dispatcher, { showsStart: true }) }).send(post(server.origin), deadline),
  );
  expect(failure).toMatchObject({ name: "Ended", kind: "timeout", sent: false });
  await agent.close();
  expect(server.connections()).toBe(1);
  expect(server.received()).toBe("");
});

import { gzipSync } from "node:zlib";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { later, now, type Timestamp } from "../../src/core/clock.js";
import { type FetchLike, fetchTransport } from "../../src/wire/fetch.js";
import type { WireRequest, WireResponse } from "../../src/wire/transport.js";
import { stretched } from "../support/patience.js";
import { openClosedPort } from "./closed-port.js";
import { failureOf, within } from "./exchange-fixture.js";
import { startWireServer, wireResponse } from "./wire-server.js";

function post(origin: string): WireRequest {
  return {
    method: "POST",
    origin,
    path: "/gw/payments?a=%27",
    headers: { "content-type": "application/json", connection: "close" },
    body: Buffer.from('{"amount":"1.00"}'),
    maxResponseBytes: 1000,
  };
}

const send = (request: WireRequest, deadline = within(), fetch: FetchLike = globalThis.fetch): Promise<WireResponse> =>
  fetchTransport(fetch).send(request, deadline);

describe("over the fetch of this runtime", () => {
  it("sends the path and the body as they are", async () => {
    const server = await startWireServer({
      onRequest: (socket) => socket.end(wireResponse(200, '\ufeff{"id":"1"}', "x-a: 1\r\nX-A: 2\r\n")),
    });
    const response = await send(post(server.origin));
    expect(response).toMatchObject({ status: 200, text: '{"id":"1"}', headers: { "x-a": "1, 2" } });
    expect(response.broken).toBeUndefined();
    expect(server.requests[0]).toMatch(/^POST \/gw\/payments\?a=%27 HTTP\/1\.1\r\n/);
    expect(server.requests[0]?.endsWith('\r\n\r\n{"amount":"1.00"}')).toBe(true);
  });

  it("does not follow a redirect", async () => {
    const elsewhere = await startWireServer({ onRequest: (socket) => socket.end(wireResponse(200, "1")) });
    const server = await startWireServer({
      onRequest: (socket) => socket.end(wireResponse(307, "", `location: ${elsewhere.origin}/\r\n`)),
    });
    expect((await send(post(server.origin))).status).toBe(307);
    expect(elsewhere.connections()).toBe(0);
  });

  it.each([
    ["reset after the whole request", (socket: { resetAndDestroy(): void }) => socket.resetAndDestroy(), "ECONNRESET"],
    ["closed after the whole request", (socket: { end(): void }) => socket.end(), "UND_ERR_SOCKET"],
  ])("says that it may have been sent when the connection is %s", async (_, onRequest, reason) => {
    const server = await startWireServer({ onRequest });
    expect(await failureOf(send(post(server.origin)))).toMatchObject({ name: "WireFailure", sent: true, reason });
  });

  it("can't tell that a refused connection sent nothing", async () => {
    const { port, close } = await openClosedPort();
    onTestFinished(close);
    const failure = await failureOf(send(post(`http://127.0.0.1:${port}`)));
    expect(failure).toMatchObject({ name: "WireFailure", sent: true, permanent: false, reason: "ECONNREFUSED" });
  });

  it("settles at the deadline and drops the connection", async () => {
    const server = await startWireServer({});
    expect(await failureOf(send(post(server.origin), within(stretched(100))))).toMatchObject({
      name: "Ended",
      kind: "timeout",
      sent: true,
    });
    await server.dropped();
  });

  it("settles at the caller's abort and drops the connection", async () => {
    const abort = new AbortController();
    const server = await startWireServer({ onRequest: () => abort.abort() });
    const failure = await failureOf(send(post(server.origin), within(5000, abort.signal)));
    expect(failure).toMatchObject({ name: "Ended", kind: "abort", sent: true });
    await server.dropped();
  });

  it("keeps what came of a response that is cut short", async () => {
    const server = await startWireServer({
      onRequest: (socket) => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"id":'),
    });
    expect(await send(post(server.origin))).toMatchObject({ status: 200, text: '{"id":', broken: "cut-short" });
  });

  it("keeps what came of a response until the deadline", async () => {
    const server = await startWireServer({
      onRequest: (socket) => socket.write("HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n[1,"),
    });
    // A busy machine needs longer for what comes before it.
    let response: WireResponse | undefined;
    for (let timeoutMs = 80; response === undefined; timeoutMs *= 4) {
      response = await send(post(server.origin), within(timeoutMs)).catch(() => undefined);
    }
    expect(response).toMatchObject({ status: 200, text: "[1,", broken: "timeout" });
    await server.dropped();
  });

  it("cuts a response above the cap and drops the connection", async () => {
    const server = await startWireServer({
      onRequest: (socket) => socket.write(`HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n${"1".repeat(2000)}`),
    });
    expect(await send(post(server.origin))).toMatchObject({ status: 200, broken: "too-large" });
    await server.dropped();
  });

  it("decodes nothing twice, and measures the cap after decompression, which a fetch does by itself", async () => {
    const server = await startWireServer({
      onRequest: (socket, _, number) =>
        socket.end(wireResponse(200, gzipSync(number === 1 ? "[]" : " ".repeat(5000)), "content-encoding: gzip\r\n")),
    });
    const first = await send(post(server.origin));
    // The header that names the coding is still there.
    expect(first).toMatchObject({ text: "[]", headers: { "content-encoding": "gzip" } });
    expect(first.broken).toBeUndefined();
    expect(await send(post(server.origin))).toMatchObject({ broken: "too-large" });
  });

  it("keeps a response that is not UTF-8 as far as it can be read", async () => {
    const server = await startWireServer({
      onRequest: (socket) => socket.end(wireResponse(200, Buffer.of(0x22, 0xfc, 0x22))),
    });
    expect(await send(post(server.origin))).toMatchObject({ text: '"\ufffd"', broken: "not-utf8" });
  });
});

describe("over a fetch that behaves in its own way", () => {
  const request = post("https://service.test");
  const no = (error: unknown = new Error("a secret")) => {
    throw error;
  };

  it("is not called for a call that has ended", async () => {
    let calls = 0;
    const fetch: FetchLike = async () => new Response(`${++calls}`);
    const failure = await failureOf(send(request, within(5000, AbortSignal.abort()), fetch));
    expect(failure).toMatchObject({ name: "Ended", kind: "abort", sent: false });
    expect(calls).toBe(0);
  });

  it("settles although the fetch ignores its signal", async () => {
    const failure = await failureOf(send(request, within(stretched(50)), () => new Promise(() => {})));
    expect(failure).toMatchObject({ name: "Ended", kind: "timeout", sent: true });
  });

  it("settles although a body ignores the signal, and keeps what came", async () => {
    const body = new ReadableStream<Uint8Array>({ start: (controller) => controller.enqueue(Buffer.from("[1,")) });
    // On a busy machine a shorter time may be over before anything is sent.
    const response = await send(request, within(stretched(200)), async () => new Response(body));
    expect(response).toMatchObject({ status: 200, text: "[1,", broken: "timeout" });
  });

  it.each([
    ["says that it followed a redirect", { redirected: true, url: "https://service.test/elsewhere" }],
    ["responds from another origin", { redirected: false, url: "https://elsewhere.test/gw/payments" }],
    ["responds from another port", { redirected: false, url: "https://service.test:8443/gw/payments" }],
  ])("is not believed if it %s", async (_, followed) => {
    const response = Object.defineProperties(new Response("{}"), {
      redirected: { value: followed.redirected },
      url: { value: followed.url },
    });
    const failure = await failureOf(send(request, within(), async () => response));
    expect(failure).toMatchObject({ name: "WireFailure", sent: true, reason: "REDIRECTED_BY_FETCH" });
  });

  it("has to return a web Response", async () => {
    const response = { status: 200, headers: new Headers(), body: { pipe() {} } };
    for (const returned of [response, undefined]) {
      const sending = send(request, within(), (async () => returned) as unknown as FetchLike);
      await expect(sending).rejects.toMatchObject({ name: "ConfigError", effect: "possible" });
    }
  });

  it("is believed where it responds from the origin that was asked", async () => {
    const response = Object.defineProperties(new Response("{}", { headers: { "x-a": "1" } }), {
      url: { value: "https://service.test/gw/payments?a=%27" },
    });
    const fetch = vi.fn(async () => response);
    expect(await send({ ...request, method: "GET", body: undefined }, within(), fetch)).toStrictEqual({
      ...{ status: 200, text: "{}" },
      headers: { "content-type": "text/plain;charset=UTF-8", "x-a": "1" },
    });
    // Some take a body that is undefined for one.
    expect(fetch).toHaveBeenCalledWith(expect.any(String), expect.not.objectContaining({ body: undefined }));
  });

  it("has responded in time where the last of it came before the deadline's timer could fire", async () => {
    const deadline = within(stretched(50));
    const body = new ReadableStream<Uint8Array>({
      pull(controller) {
        while (deadline.remainingMs() > 0);
        controller.enqueue(Buffer.from("1".repeat(1000)));
        controller.close();
      },
    });
    const response = await send(request, deadline, async () => new Response(body));
    expect([response.text.length, response.broken]).toEqual([1000, undefined]);
  });

  it("takes a redirect that is hidden for a redirect", async () => {
    const hidden: unknown = { type: "opaqueredirect", status: 0, headers: new Headers(), body: null };
    const response = await send(request, within(), async () => hidden as Response);
    expect(response).toStrictEqual({ status: 302, headers: {}, text: "" });
  });

  it.each<[string, FetchLike, string]>([
    ["throws at once", () => no(Object.assign(new Error("a secret"), { code: "MINE" })), "MINE"],
    ["rejects with no error", () => Promise.reject("a secret"), "UNKNOWN"],
  ])("counts as sent where the fetch %s", async (_, fetch, reason) => {
    const failure = await failureOf(send(request, within(), fetch));
    expect(failure).toMatchObject({ name: "WireFailure", sent: true, reason, message: reason });
  });

  it("leaves no listener at the deadline", async () => {
    const deadline = within();
    let listeners = 0;
    const onEnd = deadline.onEnd.bind(deadline);
    vi.spyOn(deadline, "onEnd").mockImplementation((listener) => {
      const remove = onEnd(listener);
      listeners += 1;
      return () => {
        listeners -= 1;
        remove();
      };
    });
    await send(request, deadline, async () => new Response("1"));
    await failureOf(send(request, deadline, () => Promise.reject(new Error())));
    expect([vi.mocked(deadline.onEnd).mock.calls.length > 0, listeners]).toEqual([true, 0]);
  });
});

describe("nothing is sent", () => {
  const inTime = () => later(now(), 60_000);

  it.each<[string, () => Timestamp]>([
    ["wall", () => ({ ...inTime(), wallMs: Date.now() })],
    ["monotonic", () => ({ ...inTime(), monotonicMs: performance.now() })],
  ])("once the last time to send is over by the %s clock", async (_, over) => {
    const server = await startWireServer({ onRequest: (socket) => socket.end(wireResponse(200, "{}")) });
    const failure = await failureOf(send(post(server.origin), within(5000, undefined, over())));
    expect(failure).toMatchObject({ name: "Ended", kind: "timeout", sent: false });
    await send({ ...post(server.origin), body: Buffer.from("{}") }, within(5000, undefined, inTime()));
    expect(server.requests).toHaveLength(1);
    expect(server.received()).not.toContain("amount");
  });

  it("when the deadline passed while the event loop was blocked, although its timer could not fire", async () => {
    const server = await startWireServer({ onRequest: (socket) => socket.end(wireResponse(200, "{}")) });
    const deadline = within(30);
    const ended = vi.fn();
    deadline.onEnd(ended);
    while (deadline.remainingMs() > 0);
    expect(ended).not.toHaveBeenCalled();
    expect(await failureOf(send(post(server.origin), deadline))).toMatchObject({ kind: "timeout", sent: false });
    await send(post(server.origin));
    expect(server.requests).toHaveLength(1);
  });
});

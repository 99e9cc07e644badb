import { gzipSync } from "node:zlib";
import { describe, expect, it, onTestFinished, vi } from "vitest";
import { CallControl } from "../../src/timing/deadline.js";
import { type FetchLike, fetchTransport } from "../../src/wire/fetch-transport.js";
import type { WireRequest, WireResponse } from "../../src/wire/transport.js";
import { WireFailure } from "../../src/wire/wire-failure.js";
import { startWireServer, wireResponse } from "./wire-server.js";

function ending(timeoutMs = 5000, signal?: AbortSignal): CallControl {
  const control = new CallControl({ timeoutMs, maxRetries: 0, signal });
  onTestFinished(() => control.finish());
  return control;
}

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

const send = (request: WireRequest, end = ending(), fetch: FetchLike = globalThis.fetch): Promise<WireResponse> =>
  fetchTransport(fetch).send(request, end);

async function failureOf(exchange: Promise<unknown>): Promise<WireFailure> {
  const failure: unknown = await exchange.then(
    () => undefined,
    (error: unknown) => error,
  );
  if (!(failure instanceof WireFailure)) throw new Error(`expected a WireFailure; found ${String(failure)}`);
  return failure;
}

const until = async (happened: () => boolean) => {
  while (!happened()) await new Promise((resolve) => setTimeout(resolve, 1));
};

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
    expect(await failureOf(send(post(server.origin)))).toMatchObject({ kind: "connection", sent: true, reason });
  });

  it("can't tell that a refused connection sent nothing", async () => {
    const failure = await failureOf(send(post("http://127.0.0.1:1")));
    expect(failure).toMatchObject({ kind: "connection", sent: true, permanent: false });
  });

  it("settles at the deadline and drops the connection", async () => {
    const server = await startWireServer({});
    expect(await failureOf(send(post(server.origin), ending(50)))).toMatchObject({ kind: "timeout", sent: true });
    await server.dropped();
  });

  it("settles at the caller's abort and drops the connection", async () => {
    const abort = new AbortController();
    const server = await startWireServer({ onRequest: () => abort.abort() });
    const failure = await failureOf(send(post(server.origin), ending(5000, abort.signal)));
    expect(failure).toMatchObject({ kind: "abort", sent: true });
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
    expect(await send(post(server.origin), ending(80))).toMatchObject({ status: 200, text: "[1,", broken: "timeout" });
    await server.dropped();
  });

  it("cuts a response above the cap and drops the connection", async () => {
    const server = await startWireServer({
      onRequest: (socket) => socket.write(`HTTP/1.1 200 OK\r\ncontent-length: 1000000\r\n\r\n${"1".repeat(2000)}`),
    });
    expect(await send(post(server.origin))).toMatchObject({ status: 200, broken: "too-large" });
    await server.dropped();
  });

  it("measures the cap after decompression, which a fetch does by itself", async () => {
    const server = await startWireServer({
      onRequest: (socket, _, number) =>
        socket.end(wireResponse(200, gzipSync(number === 1 ? "[]" : " ".repeat(5000)), "content-encoding: gzip\r\n")),
    });
    expect(await send(post(server.origin))).toMatchObject({ text: "[]" });
    expect(await send(post(server.origin))).toMatchObject({ broken: "too-large" });
  });

  it("keeps a response that is no UTF-8 as far as it can be read", async () => {
    const server = await startWireServer({
      onRequest: (socket) => socket.end(wireResponse(200, Buffer.of(0x22, 0xfc, 0x22))),
    });
    expect(await send(post(server.origin))).toMatchObject({ text: '"\ufffd"', broken: "not-utf8" });
  });
});

describe("over a fetch with ways of its own", () => {
  const request = post("https://service.test");

  it("is not called for a call that has ended", async () => {
    let calls = 0;
    const fetch: FetchLike = async () => new Response(`${++calls}`);
    const failure = await failureOf(send(request, ending(5000, AbortSignal.abort()), fetch));
    expect(failure).toMatchObject({ kind: "abort", sent: false });
    expect(calls).toBe(0);
  });

  it("settles although the fetch does not heed its signal, and lets go of the response that comes too late", async () => {
    let cancelled = false;
    const late = new ReadableStream<Uint8Array>({
      cancel: () => {
        cancelled = true;
      },
    });
    const fetch: FetchLike = () => new Promise((resolve) => setTimeout(() => resolve(new Response(late)), 60));
    const failure = await failureOf(send(request, ending(20), fetch));
    expect(failure).toMatchObject({ kind: "timeout", sent: true });
    await until(() => cancelled);
  });

  it("settles although a body does not heed the signal, keeps what came, and lets go of it", async () => {
    let cancelled = false;
    const body = new ReadableStream<Uint8Array>({
      start: (controller) => controller.enqueue(Buffer.from("[1,")),
      cancel: () => {
        cancelled = true;
      },
    });
    const response = await send(request, ending(30), async () => new Response(body));
    expect(response).toMatchObject({ status: 200, text: "[1,", broken: "timeout" });
    await until(() => cancelled);
  });

  it("takes a redirect that is hidden for a redirect", async () => {
    const hidden: unknown = { type: "opaqueredirect", status: 0, headers: new Headers(), body: null };
    const response = await send(request, ending(), async () => hidden as Response);
    expect(response.status).toBe(302);
  });

  it.each<[string, FetchLike, string]>([
    [
      "throws at once",
      () => {
        throw Object.assign(new Error("a secret"), { code: "MINE" });
      },
      "MINE",
    ],
    ["rejects with no error", () => Promise.reject("a secret"), "UNKNOWN"],
    ["gives nothing", async () => undefined as unknown as Response, "TypeError"],
  ])("counts as sent where the fetch %s", async (_, fetch, reason) => {
    const failure = await failureOf(send(request, ending(), fetch));
    expect(failure).toMatchObject({ kind: "connection", sent: true, reason, message: reason });
  });

  it("leaves no listener at the call's end", async () => {
    let listeners = 0;
    const end = {
      ended: undefined,
      onEnd: () => {
        listeners += 1;
        return () => {
          listeners -= 1;
        };
      },
    };
    await fetchTransport(async () => new Response("1")).send(request, end);
    await failureOf(fetchTransport(() => Promise.reject(new Error())).send(request, end));
    expect(listeners).toBe(0);
  });
});

it("calls no fetch when the last gate is closed", async () => {
  const fetch = vi.fn();
  const request = {
    method: "POST",
    origin: "https://a.test",
    path: "/payments",
    headers: {},
    body: Buffer.from("{}"),
    maxResponseBytes: 100,
    beforeSend: () => {
      throw new Error("too late");
    },
  } as const;
  const control = new CallControl({ timeoutMs: 1000, maxRetries: 0 });
  await expect(fetchTransport(fetch).send(request, control)).rejects.toMatchObject({
    sent: false,
    reason: "GATE_CLOSED",
  });
  expect(fetch).not.toHaveBeenCalled();
  control.finish();
});

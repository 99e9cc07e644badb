import { gzipSync } from "node:zlib";
import { describe, expect, it, vi } from "vitest";
import { now } from "../../src/core/clock.js";
import { type FetchLike, fetchTransport } from "../../src/wire/fetch.js";
import type { WireRequest, WireResponse } from "../../src/wire/transport.js";
import { stretched } from "../support/patience.js";
import { failureOf, get, post as postTo, within } from "./exchange-fixture.js";
import { startWireServer, wireResponse } from "./wire-server.js";

const post = (origin: string): WireRequest => ({ ...postTo(origin), headers: { connection: "close" } });
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

  it("says that it may have been sent when the connection is reset", async () => {
    const server = await startWireServer({ onRequest: (socket) => socket.resetAndDestroy() });
    const failure = await failureOf(send(post(server.origin)));
    expect(failure).toMatchObject({ name: "WireFailure", sent: true, permanent: false, reason: "ECONNRESET" });
  });

  it.each(["timeout", "abort"] as const)("settles at the %s and drops the connection", async (kind) => {
    const abort = new AbortController();
    const server = await startWireServer({ onRequest: () => kind === "abort" && abort.abort() });
    const end = within(kind === "abort" ? 60_000 : stretched(100), abort.signal);
    expect(await failureOf(send(post(server.origin), end))).toMatchObject({ name: "Ended", kind, sent: true });
    await server.dropped();
  });

  it.each([
    ["cut short", 'HTTP/1.1 200 OK\r\ncontent-length: 100\r\n\r\n{"id":', { text: '{"id":', broken: "cut-short" }],
    ["above the cap", wireResponse(200, "1".repeat(1001)), { broken: "too-large" }],
    // Browsers and Node decode it, and leave the header that names the coding.
    ["above the cap once it is decoded", gzipped(" ".repeat(5000)), { broken: "too-large" }],
    ["encoded", gzipped("[]"), { text: "[]", headers: { "content-encoding": "gzip" } }],
    ["not UTF-8", wireResponse(200, Buffer.of(0x22, 0xfc, 0x22)), { text: '"\ufffd"', broken: "not-utf8" }],
  ])("reads as much as it can of a response that is %s", async (_, bytes, expected) => {
    const server = await startWireServer({ onRequest: (socket) => socket.end(bytes) });
    expect(await send(post(server.origin))).toMatchObject({ status: 200, ...expected });
  });
});

function gzipped(text: string): Buffer {
  return wireResponse(200, gzipSync(text), "content-encoding: gzip\r\n");
}

describe("over a fetch that behaves in its own way", () => {
  const request = post("https://service.test");

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

  it("counts as sent if the fetch followed a redirect", async () => {
    const response = Object.defineProperties(new Response("{}"), { redirected: { value: true } });
    const failure = await failureOf(send(request, within(), async () => response));
    expect(failure).toMatchObject({ name: "WireFailure", sent: true, reason: "REDIRECTED_BY_FETCH" });
  });

  it("gets no body that is undefined, which some take for one", async () => {
    const fetch = vi.fn<FetchLike>(async () => new Response("{}"));
    await send(get("https://service.test"), within(), fetch);
    expect(fetch).toHaveBeenCalledWith(expect.any(String), expect.not.objectContaining({ body: undefined }));
  });

  it("takes a redirect that is hidden for a redirect", async () => {
    const hidden: unknown = { type: "opaqueredirect", status: 0, headers: new Headers(), body: null };
    const response = await send(request, within(), async () => hidden as Response);
    expect(response).toStrictEqual({ status: 302, headers: {}, text: "" });
  });
});

it.each([
  ["for a call that has ended", () => within(5000, AbortSignal.abort())],
  ["once the last time to send is over", () => within(5000, undefined, now())],
  [
    "if the deadline passed while the event loop was blocked, although its timer could not fire",
    () => {
      const deadline = within(30);
      while (deadline.remainingMs() > 0);
      return deadline;
    },
  ],
])("sends nothing %s", async (_, end) => {
  const fetch = vi.fn<FetchLike>();
  const failure = await failureOf(send(post("https://service.test"), end(), fetch));
  expect(failure).toMatchObject({ name: "Ended", sent: false });
  expect(fetch).not.toHaveBeenCalled();
});

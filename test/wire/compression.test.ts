import { randomBytes } from "node:crypto";
import zlib from "node:zlib";
import { Agent, interceptors } from "undici";
import { describe, expect, it, onTestFinished } from "vitest";
import { Deadline } from "../../src/core/deadline.js";
import type { WireRequest, WireResponse } from "../../src/wire/transport.js";
import { type UndiciTransportOptions, undiciTransport } from "../../src/wire/undici.js";
import { startWireServer, wireResponse } from "./wire-server.js";

type Encode = (bytes: Buffer) => Buffer;

const brotli: Encode = (bytes) =>
  zlib.brotliCompressSync(bytes, { params: { [zlib.constants.BROTLI_PARAM_QUALITY]: 3 } });
const gzip: Encode = (bytes) => zlib.gzipSync(bytes);

const encodings: readonly (readonly [string, Encode])[] = [
  ["gzip", gzip],
  ["GZip", gzip],
  ["br", brotli],
];

interface Exchange {
  readonly body: Buffer;
  readonly encoding: string;
  readonly maxResponseBytes?: number;
  readonly chunkBytes?: number;
  readonly status?: number;
  readonly timeoutMs?: number;
  readonly options?: Partial<UndiciTransportOptions>;
  /** What the head says of the length of the body. */
  readonly contentLength?: number;
}

async function exchange(given: Exchange): Promise<WireResponse> {
  const { body, encoding, chunkBytes = body.length || 1, status = 200 } = given;
  const length = given.contentLength ?? body.length;
  const server = await startWireServer({
    onRequest: async (socket) => {
      socket.write(`HTTP/1.1 ${status} Said\r\ncontent-encoding: ${encoding}\r\ncontent-length: ${length}\r\n\r\n`);
      for (let start = 0; start < body.length && !socket.destroyed; start += chunkBytes) {
        const isRoom = socket.write(body.subarray(start, start + chunkBytes));
        if (!isRoom) await new Promise((resolve) => socket.once("drain", resolve).once("close", resolve));
      }
      if (length !== body.length && given.timeoutMs === undefined) socket.end();
    },
  });
  const transport = undiciTransport({ connections: 1, connectTimeoutMs: 10_000, ...given.options });
  const deadline = new Deadline({ timeoutMs: given.timeoutMs ?? 15_000 });
  onTestFinished(async () => {
    deadline.finish();
    await transport.close();
  });
  const request: WireRequest = {
    method: "GET",
    origin: server.origin,
    path: "/payments",
    headers: {},
    body: undefined,
    maxResponseBytes: given.maxResponseBytes ?? 2 ** 20,
  };
  return transport.send(request, deadline);
}

const text = JSON.stringify(Array.from({ length: 2000 }, (_, index) => ({ id: `é${index}`, status: "received" })));

describe("an encoded response", () => {
  it.each(encodings)("is read in %s", async (encoding, encode) => {
    const response = await exchange({ encoding, body: encode(Buffer.from(text)) });
    expect(response.text === text).toBe(true);
    expect(response.broken).toBeUndefined();
  });

  it.each(encodings)("is read in %s, byte for byte as it comes", async (encoding, encode) => {
    const response = await exchange({ encoding, body: encode(Buffer.from('\ufeff{"name":"Ünal"}')), chunkBytes: 1 });
    expect(response).toMatchObject({ status: 200, text: '{"name":"Ünal"}' });
    expect(response.broken).toBeUndefined();
  });

  it.each(encodings)("may be empty in %s", async (encoding, encode) => {
    const body = encode(Buffer.alloc(0));
    expect(await exchange({ encoding, body })).toStrictEqual({
      ...{ status: 200, text: "" },
      headers: { "content-encoding": encoding, "content-length": `${body.length}` },
    });
    const bare = await exchange({ encoding, body: Buffer.alloc(0) });
    expect(bare).toMatchObject({ status: 200, text: "" });
    expect(bare.broken).toBeUndefined();
  });

  it("is read whatever its status", async () => {
    const body = gzip(Buffer.from('{"error":"x"}'));
    expect(await exchange({ encoding: "gzip", body, status: 422 })).toMatchObject({
      status: 422,
      text: '{"error":"x"}',
    });
  });

  it("is read in several members", async () => {
    const body = Buffer.concat([gzip(Buffer.from("[1,")), gzip(Buffer.from("2]"))]);
    expect(await exchange({ encoding: "gzip", body })).toMatchObject({ text: "[1,2]" });
  });

  it("leaves its connection to the next request", async () => {
    const server = await startWireServer({
      onRequest: (socket, _, number) =>
        socket.write(wireResponse(200, gzip(Buffer.from(`[${number}]`)), "content-encoding: gzip\r\n")),
    });
    const transport = undiciTransport({ connections: 1, connectTimeoutMs: 10_000 });
    const deadline = new Deadline({ timeoutMs: 15_000 });
    onTestFinished(() => deadline.finish());
    const request = { method: "GET", origin: server.origin, path: "/", headers: {}, body: undefined } as const;
    const texts = [];
    for (let turn = 0; turn < 3; turn++) {
      texts.push((await transport.send({ ...request, maxResponseBytes: 1000 }, deadline)).text);
    }
    await transport.close();
    expect(texts).toEqual(["[1]", "[2]", "[3]"]);
    expect(server.connections()).toBe(1);
  });

  it("is not decoded twice where the caller's dispatcher has decoded it", async () => {
    const agent = new Agent();
    onTestFinished(() => agent.destroy());
    const dispatcher = agent.compose(interceptors.decompress());
    const response = await exchange({ encoding: "gzip", body: gzip(Buffer.from(text)), options: { dispatcher } });
    expect(response.text === text).toBe(true);
  });
});

describe("the cap on a response", () => {
  it.each(encodings)("counts what %s comes to", async (encoding, encode) => {
    const body = randomBytes(900).toString("base64");
    const exact = await exchange({ encoding, body: encode(Buffer.from(body)), maxResponseBytes: body.length });
    expect([exact.text === body, exact.broken]).toEqual([true, undefined]);
    const over = await exchange({ encoding, body: encode(Buffer.from(`${body}!`)), maxResponseBytes: body.length });
    expect(over).toMatchObject({ status: 200, broken: "too-large" });
  });

  it.each(encodings)("stops a bomb in %s, without blocking the event loop", async (encoding, encode) => {
    const bomb = encode(Buffer.alloc(40 * 2 ** 20));
    const before = process.memoryUsage().arrayBuffers;
    const start = process.cpuUsage();
    const response = await exchange({ encoding, body: bomb });
    expect(response.broken).toBe("too-large");
    expect(response.text.length).toBeLessThanOrEqual(2 ** 20);
    expect(process.memoryUsage().arrayBuffers - before).toBeLessThan(20 * 2 ** 20);
    const { user, system } = process.cpuUsage(start);
    expect(user + system).toBeLessThan(1_000_000);
  });
});

describe("an encoded response that can't be read", () => {
  it.each(encodings)("is cut short in %s where its end is missing", async (encoding, encode) => {
    const body = encode(Buffer.from(text));
    const response = await exchange({ encoding, body: body.subarray(0, body.length - 9) });
    expect(response).toMatchObject({ text: "", broken: "cut-short" });
  });

  it.each(encodings)("is no text of %s at all", async (encoding) => {
    const response = await exchange({ encoding, body: Buffer.from("<html>plain after all</html>") });
    expect(response).toMatchObject({ status: 200, text: "" });
    expect(["encoded", "cut-short"]).toContain(response.broken);
  });

  it("is damaged on the way", async () => {
    const body = gzip(Buffer.from(text));
    body.fill(0x5a, 200, 260);
    expect((await exchange({ encoding: "gzip", body })).broken).toBe("encoded");
    const sum = gzip(Buffer.from(text));
    sum[sum.length - 6] = (sum[sum.length - 6] ?? 0) ^ 0xff;
    expect((await exchange({ encoding: "gzip", body: sum })).broken).toBe("encoded");
  });

  it.each(["zstd", "deflate", "gzip, gzip", "constructor"])(
    "has a coding that was not asked for: %s",
    async (encoding) => {
      const response = await exchange({ encoding, body: gzip(Buffer.from("[]")) });
      expect(response).toMatchObject({ status: 200, text: "", broken: "encoded" });
    },
  );
});

it("asks for gzip and br", () => {
  expect(undiciTransport({ connections: 1, connectTimeoutMs: 1000 }).acceptEncoding).toBe("gzip, br");
});

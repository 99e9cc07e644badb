import { inspect } from "node:util";
import { describe, expect, it, onTestFinished } from "vitest";
import { later, now, type Timestamp } from "../../src/core/clock.js";
import { InvalidArgumentError, SigningError } from "../../src/core/errors.js";
import type { HttpClientOptions } from "../../src/http/http-client.js";
import { liquidityProviders } from "../../src/resources/liquidity-providers.js";
import { payments } from "../../src/resources/payments.js";
import { undiciTransport } from "../../src/wire/undici.js";
import { startWireServer, type WireScript, wireResponse } from "../wire/wire-server.js";
import {
  calls,
  errorOf,
  json,
  ownError,
  payment,
  paymentRecord,
  recordOf,
  scriptedClient,
} from "./scripted-transport.js";

it("does not count a renewed token among the retries", async () => {
  const { client, transport } = scriptedClient([
    { status: 401 },
    { status: 503 },
    json(recordOf(liquidityProviders.list.record)),
  ]);
  await calls.read(client, { maxRetries: 1 });
  expect(transport.sent).toHaveLength(3);
});

it.each([
  ["signal", { signal: null }],
  ["signal", { signal: { aborted: false } }],
  ["signal", { signal: { aborted: false, addEventListener() {} } }],
  ["signal", { signal: { addEventListener() {}, removeEventListener() {} } }],
])("refuses a wrong %s", async (name, options) => {
  const { client, transport } = scriptedClient([json({})]);
  const error = await errorOf(calls.read(client, options as never));
  expect(error).toBeInstanceOf(InvalidArgumentError);
  expect(error.message).toContain(name);
  expect(transport.sent).toEqual([]);
});

describe("a request that was signed earlier", () => {
  it("is sent with the same bytes and signature, without being signed again", async () => {
    const { client, transport, signer } = scriptedClient([json(paymentRecord())]);
    const signed = await client.sign(payments.create, [], { body: payment });
    expect(transport.sent).toEqual([]);
    expect(signed.path).toBe("/gw/payments");
    expect(signed.signature).toBe(`signature of /gw/payments ${signed.body}`);
    await client.send(payments.create, signed, later(now(), 60_000));
    expect(transport.sent[0]).toMatchObject({ path: signed.path, body: signed.body });
    expect(transport.sent[0]?.headers["x-service-signature-base64"]).toBe(signed.signature);
    expect(signer.sign).toHaveBeenCalledOnce();
  });

  it("is signed by nobody once the caller has ended that, and its accounts are in no error", async () => {
    const { client, signer } = scriptedClient([]);
    const sign = (signal?: AbortSignal) => errorOf(client.sign(payments.create, [], { body: payment }, { signal }));
    expect(await sign(AbortSignal.abort())).toMatchObject({ name: "AbortedError", effect: "none" });
    expect(signer.sign).not.toHaveBeenCalled();
    const cause = new Error(`no signature for ${payment.senderAccount}`);
    signer.sign.mockRejectedValue(new SigningError("the signer failed", { cause }));
    const error = await sign();
    expect(error).toMatchObject({ name: "SigningError", effect: "none", attempts: 0 });
    expect(inspect(error)).not.toContain(payment.senderAccount);
  });

  it("reaches the service before its time is over", async () => {
    const { client, server } = await clientOfServer();
    await client.send(payments.create, await client.sign(payments.create, [], { body: payment }), later(now(), 60_000));
    expect(server.requests).toHaveLength(1);
  });

  it.each<[string, (inTime: Timestamp) => Timestamp]>([
    ["wall", (inTime) => ({ ...inTime, wallMs: Date.now() })],
    ["monotonic", (inTime) => ({ ...inTime, monotonicMs: performance.now() })],
  ])("never reaches the service once its time is over by the %s clock", async (_, overBy) => {
    const { client, server } = await clientOfServer();
    const signed = await client.sign(payments.create, [], { body: payment });
    const error = await errorOf(client.send(payments.create, signed, overBy(later(now(), 60_000))));
    expect(error).toMatchObject({ name: "TimeoutError", effect: "none" });
    expect(server.received()).toBe("");
  });

  it("is not sent again by itself, not even after the service's own 429", async () => {
    const { client, server } = await clientOfServer({}, (socket) => {
      socket.write(wireResponse(429, ownError(429).text ?? ""));
    });
    const signed = await client.sign(payments.create, [], { body: payment });
    const error = await errorOf(client.send(payments.create, signed, later(now(), 60_000)));
    expect(error).toMatchObject({ name: "RateLimitError", effect: "none", attempts: 1 });
    expect(server.requests).toHaveLength(1);
  });
});

/** A client over real sockets. What its server receives is what was sent. */
async function clientOfServer(
  overrides: Partial<HttpClientOptions> = {},
  onRequest: WireScript["onRequest"] = (socket) => socket.write(wireResponse(200, JSON.stringify(paymentRecord()))),
) {
  const server = await startWireServer({ onRequest });
  const transport = undiciTransport({ connections: 1, connectTimeoutMs: 5000 });
  onTestFinished(() => transport.close());
  const { client } = scriptedClient([], { origin: server.origin, transport, ...overrides });
  return { client, server };
}

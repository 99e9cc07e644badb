import { inspect } from "node:util";
import { afterEach, beforeEach, describe, expect, it, vi } from "vitest";
import { later, now } from "../../src/core/clock.js";
import { BadRequestError, ConfigError, OutcomeUnknownError, SigningError } from "../../src/core/errors.js";
import { createReporter } from "../../src/events/reporter.js";
import type { HttpClient, HttpClientOptions } from "../../src/http/http-client.js";
import { Schemas } from "../../src/http/schema.js";
import { exchangeRates } from "../../src/resources/exchange-rates.js";
import { liquidityProviders } from "../../src/resources/liquidity-providers.js";
import { paymentGateways } from "../../src/resources/payment-gateways.js";
import { paymentIntents } from "../../src/resources/payment-intents.js";
import { payments } from "../../src/resources/payments.js";
import {
  broken,
  calls,
  errorOf,
  json,
  ownError,
  payment,
  paymentRecord,
  recordOf,
  scriptedClient,
  unsent,
} from "./scripted-transport.js";

const withId = { "x-request-id": "r-7" };
const intentRecord = recordOf(paymentIntents.get.record);
const noSignature = () => Promise.reject(new SigningError("the signer failed"));
const failingSigner: Partial<HttpClientOptions> = {
  signer: { sign: noSignature, describe: async (path) => ({ path, bodySha256: "", publicKeySha256: "" }) },
};

function sendEarlier(client: HttpClient) {
  const earlier = { path: "/gw/payments", body: JSON.stringify(payment), signature: "made-earlier" };
  return client.send(payments.create, earlier, later(now(), 60_000));
}

describe("the response of a call", () => {
  it("has no request id where the last attempt brought none, whatever an earlier one had", async () => {
    const { client } = scriptedClient([{ status: 503, headers: withId }, json(intentRecord)]);
    const { response } = await calls.read(client).withResponse();
    expect(response).toStrictEqual({ status: 200, headers: {} });
  });
});

describe("the headers of a request", () => {
  it("are no more than it needs", async () => {
    const { client, transport } = scriptedClient([json([])]);
    await client.call(exchangeRates.list, ["lp"]);
    expect(transport.sent[0]?.headers).toStrictEqual({
      accept: "application/json",
      authorization: "Bearer token-1",
      "cache-control": "no-cache",
    });
  });
});

describe("the times in the events of a call", () => {
  beforeEach(async () => {
    await new Schemas().load();
    vi.useFakeTimers({ now: Date.UTC(2026, 0, 1) });
    await vi.advanceTimersByTimeAsync(60_000);
  });

  afterEach(() => {
    vi.useRealTimers();
  });

  it.each([
    ["succeeds", json(intentRecord), "success"],
    ["fails", ownError(400), "failure"],
  ] as const)("tell how long the attempt took, and how long the whole call, where it %s", async (_, step, end) => {
    const events = { response: vi.fn(), success: vi.fn(), failure: vi.fn() };
    const wait = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));
    const { transport } = scriptedClient([step]);
    const { client } = scriptedClient([], {
      tokens: { current: () => wait(300).then(() => "token-1"), renew: async () => "token-2" },
      transport: { send: (...given) => wait(40).then(() => transport.send(...given)), close: async () => {} },
      reporter: createReporter([events]),
    });
    const running = Promise.allSettled([calls.read(client)]);
    await vi.advanceTimersByTimeAsync(340);
    await running;
    expect(events.response.mock.calls).toMatchObject([[{ durationMs: 40 }]]);
    expect(events[end].mock.calls).toMatchObject([[{ durationMs: 340 }]]);
  });
});

describe("the events of a call", () => {
  const named = { operation: "paymentIntents.get", method: "GET", path: "/payment-intents/{paymentIntentId}" };

  it.each([
    ["with the request id of the response", withId, { requestId: "r-7" }],
    ["without a request id where there was none", {}, {}],
  ] as const)("are told %s", async (_, headers, told) => {
    const { client, events } = scriptedClient([json(intentRecord, 200, headers)]);
    await calls.read(client);
    const durationMs = expect.any(Number);
    expect(events.response.mock.calls).toStrictEqual([[{ ...named, status: 200, attempt: 1, durationMs, ...told }]]);
    expect(events.success.mock.calls).toStrictEqual([[{ ...named, status: 200, attempts: 1, durationMs, ...told }]]);
  });

  it("have no status where the call failed without one", async () => {
    const { client, events } = scriptedClient([unsent]);
    await errorOf(calls.read(client));
    const failed = { code: "connection_failed", effect: "none", attempts: 3, durationMs: expect.any(Number) };
    expect(events.failure.mock.calls).toStrictEqual([[{ ...named, ...failed }]]);
  });
});

describe("a request that is signed for later", () => {
  it("has an empty signature where the operation is not signed", async () => {
    const { client, signer } = scriptedClient([]);
    const body = { firstName: "Ada" };
    expect(await client.sign(liquidityProviders.create, [], { body })).toEqual({
      path: "/gw/liquidity-providers",
      body: JSON.stringify(body),
      signature: "",
    });
    expect(signer.sign).not.toHaveBeenCalled();
  });

  it("is none where no signature was made", async () => {
    const { client, events } = scriptedClient([], failingSigner);
    const error = await errorOf(client.sign(payments.create, [], { body: payment }));
    expect(error).toMatchObject({ code: "signing_failed", effect: "none", operation: "payments.create", attempts: 0 });
    expect(events.failure).toHaveBeenCalledOnce();
  });

  it.each<[string, Partial<HttpClientOptions>]>([
    ["was made", {}],
    ["was not made", failingSigner],
  ])("leaves no timer behind when its signature %s", async (_, overrides) => {
    vi.useFakeTimers();
    try {
      const { client } = scriptedClient([], overrides);
      await Promise.allSettled([client.sign(payments.create, [], { body: payment })]);
      expect(vi.getTimerCount()).toBe(0);
    } finally {
      vi.useRealTimers();
    }
  });
});

describe("a request that was signed earlier", () => {
  it("is sent again where it certainly did not leave", async () => {
    const { client, transport } = scriptedClient([unsent, json(paymentRecord())]);
    expect(await sendEarlier(client)).toMatchObject({ id: "payment-1" });
    expect(transport.sent).toHaveLength(2);
    expect(transport.sent[1]).toEqual(transport.sent[0]);
  });

  it("says what was signed when it is refused", async () => {
    const { client } = scriptedClient([ownError(400)]);
    const signed = { path: "/gw/payments", bodySha256: "body", publicKeySha256: "key" };
    expect(await errorOf(sendEarlier(client))).toHaveProperty("signed", signed);
  });

  it("is refused as any other by a client that has no key itself", async () => {
    const { client, transport } = scriptedClient([ownError(400)], { signer: undefined });
    const error = await errorOf(sendEarlier(client));
    expect(error).toBeInstanceOf(BadRequestError);
    expect(error).not.toHaveProperty("signed");
    expect(transport.sent[0]?.headers["x-service-signature-base64"]).toBe("made-earlier");
  });
});

describe("the error of a call", () => {
  it("describes the bytes that were signed", async () => {
    const { client, transport, signer } = scriptedClient([ownError(400)]);
    await errorOf(calls.signed(client));
    const [path, body] = (signer.describe.mock.calls[0] ?? []) as unknown[];
    expect(path).toBe("/gw/payments");
    expect(Buffer.from(body as Uint8Array).toString()).toBe(transport.sent[0]?.body);
  });

  it("prints no query that was signed and holds a credential", async () => {
    const signedOperations = new Set(["paymentGateways.list"]);
    const { client } = scriptedClient([ownError(400)], { signedOperations, signQuery: true });
    const query = { accountVerificationBearerToken: "canary-of-theirs" };
    const error = await errorOf(client.call(paymentGateways.list, [], { query }));
    expect(Reflect.get(Object(error), "signed")).toHaveProperty("path", expect.stringContaining("canary-of-theirs"));
    expect(inspect(error) + JSON.stringify(error)).not.toContain("canary");
  });

  it("has a request without a signature where none was sent", async () => {
    const { client, transport } = scriptedClient([broken]);
    const error = await errorOf(calls.create(client));
    if (!(error instanceof OutcomeUnknownError)) throw error;
    expect(error.request).toStrictEqual({ path: "/gw/liquidity-providers", body: transport.sent[0]?.body });
  });

  it("names the operation that no key can sign", async () => {
    const { client } = scriptedClient([], { signer: undefined });
    for (const signed of [calls.signed(client), client.sign(payments.create, [], { body: payment })]) {
      const error = await errorOf(signed);
      expect(error).toBeInstanceOf(ConfigError);
      expect(error.operation).toBe("payments.create");
    }
  });

  it.each([
    ["shows a request id with a word that is no secret of the request", "alpha:beta:rent", {}, "alpha:beta:rent"],
    [
      "shows no request id that repeats a credential of the caller's",
      "id-k-12345",
      { "x-api-key": "k-12345" },
      undefined,
    ],
    ["shows a request id that repeats another header", "id-k-12345", { "x-trace": "k-12345" }, "id-k-12345"],
  ])("%s", async (_, sent, headers, shown) => {
    const { client } = scriptedClient([ownError(400, { "x-request-id": sent })]);
    expect((await errorOf(calls.signed(client, { headers }))).requestId).toBe(shown);
  });
});

describe("the source of tokens", () => {
  it("is told of a refusal by a 401 only", async () => {
    const { client, tokens } = scriptedClient([{ status: 503 }]);
    await errorOf(calls.read(client, { maxRetries: 0 }));
    expect(tokens.refused).not.toHaveBeenCalled();
  });

  it("need not want to be told", async () => {
    const tokens = { current: () => "token-1", renew: async () => "token-2" };
    const { client } = scriptedClient([ownError(401)], { tokens });
    expect(await errorOf(calls.read(client, { maxRetries: 0 }))).toMatchObject({ code: "http_401", attempts: 1 });
  });
});
